"""How a verb finds what it does to a state: by the state's class, when a kernel is compiled or a verb is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from numba import types
from numba.extending import overload

from headstart.kernels.naming import is_found_by_name

State = tuple[object, ...]  # of a part: a NamedTuple of arrays, numbers and such NamedTuples
Function = Callable[..., object]
F = TypeVar("F", bound=Function)

# No kernel is handed to C as a callback: numba would make a second function of each for that.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}

_UNKNOWN_HERE = (
    ": it stands in the program that began this worker, and a worker runs only what it imports. Put it into a file "
    "of its own and import that"
)

_IMPLEMENTATIONS: dict[Function, dict[type, Function]] = {}
_DEFAULTS: dict[Function, Function] = {}
_OPTIONS: dict[Function, dict[bool, dict[str, object]]] = {}  # of a verb, by whether an implementation allocates
_MAY_ALLOCATE: set[Function] = set()
_ALLOCATES_NOT: set[tuple[Function, type]] = set()  # of those that may


def verb(*, has_default: bool = False, allocates: bool = False) -> Callable[[F], F]:
    """Make a verb of a signature with its docstring; with `has_default` its body is what it does to any state.

    Without numba's runtime nothing is reference-counted, which in a loop of nanoseconds is most of the time (209 ns
    became 7); the price is that an implementation cannot allocate, unless the verb `allocates`. What allocates
    nothing is inlined: to hand over a state of thirty arrays costs more than a small model's arithmetic (a round of a
    warm-started UCB took 240 ns, and takes 85).
    """

    def decorate(signature: F) -> F:
        @wraps(signature)
        def dispatch(state: State, *arguments: object) -> object:
            return implementation(dispatch, type(state))(state, *arguments)

        _IMPLEMENTATIONS[dispatch] = {}
        if has_default:
            _DEFAULTS[dispatch] = signature
        if allocates:
            _MAY_ALLOCATE.add(dispatch)
        _OPTIONS[dispatch] = {way: {**OPTIONS, "_nrt": way, "forceinline": not way} for way in {allocates, False}}
        for way, options in _OPTIONS[dispatch].items():
            # Not strict: numba compares annotations as text, and an implementation names its own state's class.
            overload(dispatch, jit_options=options, strict=False)(_chooser(dispatch, way))
        return cast(F, dispatch)

    return decorate


def _chooser(verb: Function, allocates: bool) -> Callable[..., Function | None]:
    """What numba asks for the implementation by the types of a call; None: it is one of the other way."""

    def choose(state: object, *arguments: object) -> Function | None:
        assert isinstance(state, types.NamedTuple | types.NamedUniTuple), "a verb's first argument is a state"
        owner = state.instance_class
        return implementation(verb, owner) if may_allocate(verb, owner) is allocates else None

    return choose


def implements(verb: Function, *states: type, allocates: bool = True) -> Callable[[F], F]:
    """Register what `verb` does to these state classes.

    `allocates=False` says of a verb that may allocate that this implementation does not: it is compiled as the other
    verbs are, and what it shares with them is then compiled once.
    """

    def register(function: F) -> F:
        for state in states:
            _IMPLEMENTATIONS[verb][state] = function
            if not allocates:
                _ALLOCATES_NOT.add((verb, state))
        return function

    return register


def is_implemented(verb: Function, state: type) -> bool:
    """Whether this state class says what `verb` does to it."""
    return state in _IMPLEMENTATIONS[verb]


def is_verb(function: object) -> bool:
    """Whether a function is a verb, so that states say what it does."""
    return function in _IMPLEMENTATIONS


def may_allocate(verb: Function, state: type) -> bool:
    """Whether what `verb` does to this state class may make arrays."""
    return verb in _MAY_ALLOCATE and (verb, state) not in _ALLOCATES_NOT


def options_of(verb: Function, *states: type) -> str:
    """How numba compiles what `verb` does to each of these state classes."""
    return str([_OPTIONS[verb][may_allocate(verb, state)] for state in states])


def has_implementation(verb: Function, state: type) -> bool:
    """Whether `verb` can be applied to a state of this class, by what its class says or by the verb's default."""
    return is_implemented(verb, state) or verb in _DEFAULTS


def implementation(verb: Function, state: type) -> Function:
    """What `verb` does to a state of this class."""
    chosen = _IMPLEMENTATIONS[verb].get(state) or _DEFAULTS.get(verb)
    if chosen is None:
        why = "" if is_found_by_name(state) else _UNKNOWN_HERE
        raise NotImplementedError(f"{state.__name__} does not say what {verb.__name__} does to it{why}")
    return chosen
