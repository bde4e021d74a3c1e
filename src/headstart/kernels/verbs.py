"""The verbs that compiled parts share: what an oracle, an evaluator, a source of contexts and a world can do.

A part's state is a NamedTuple of arrays. Its file says what each verb does to that state:

    @implements(play, UCBState)
    def _play(state, context, available): ...

A kernel that calls `play(state, ...)` is compiled with the implementation that the state's class chose, so
any oracle, any evaluator and any world become one loop. Called from Python, a verb runs interpreted.
Awkward cases are settled here once: "no answer" is NaN inside kernels and None outside (a log's outcomes
are finite, so NaN cannot be one); `available` is always a boolean mask with at least one True; a
context-free part is handed an empty context. An implementation fills arrays it is given and allocates none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

_IMPLEMENTATIONS: dict[tuple[Callable[..., Any], type], Callable[..., Any]] = {}
# Without numba's runtime nothing is reference-counted, which in a loop of nanoseconds is most of the time
# (209 ns became 7); the price is that an implementation cannot allocate. Only `probabilities` may.
_JIT = {"error_model": "numpy", "_nrt": False}
_JIT_ALLOCATING = {"error_model": "numpy"}


def implements(verb: Callable[..., Any], *states: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what `verb` does to these state classes; the parameters' names are the verb's."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for state in states:
            _IMPLEMENTATIONS[verb, state] = function
        return function

    return register


def is_implemented(verb: Callable[..., Any], state: type) -> bool:
    """Whether this state class says what `verb` does to it."""
    return (verb, state) in _IMPLEMENTATIONS


def _chosen(verb: Callable[..., Any], state: Any) -> Callable[..., Any] | None:
    return _IMPLEMENTATIONS.get((verb, getattr(state, "instance_class", None)))  # type: ignore[arg-type]


def play(state: Any, context: Any, available: Any) -> int:
    """The action chosen for this context among those available."""
    return _IMPLEMENTATIONS[play, type(state)](state, context, available)


@overload(play, jit_options=_JIT)
def _play(state: Any, context: Any, available: Any) -> Any:
    return _chosen(play, state)


def update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    """Learn that `action` under `context` had `outcome`."""
    _IMPLEMENTATIONS[update, type(state)](state, context, action, outcome)


@overload(update, jit_options=_JIT)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> Any:
    return _chosen(update, state)


def absorb(state: Any, context: Any, action: Any, outcome: Any, variance: Any) -> None:
    """Learn a virtual outcome that is an average of outcomes with this variance.

    An oracle that estimates variances implements it; to any other a virtual outcome is an outcome.
    """
    chosen = _IMPLEMENTATIONS.get((absorb, type(state)))
    if chosen is None:
        update(state, context, action, outcome)
    else:
        chosen(state, context, action, outcome, variance)


def _absorb_as_outcome(state: Any, context: Any, action: Any, outcome: Any, variance: Any) -> None:
    update(state, context, action, outcome)


@overload(absorb, jit_options=_JIT)
def _absorb(state: Any, context: Any, action: Any, outcome: Any, variance: Any) -> Any:
    return _chosen(absorb, state) or _absorb_as_outcome


def withdraw(state: Any, action: Any) -> None:
    """Forget what the log said of `action`; what users did stays."""
    _IMPLEMENTATIONS[withdraw, type(state)](state, action)


@overload(withdraw, jit_options=_JIT)
def _withdraw(state: Any, action: Any) -> Any:
    return _chosen(withdraw, state)


def take_action(state: Any, other: Any, action: Any) -> None:
    """Replace all that `state` knows of `action` by what `other`, a state of the same class, knows of it."""
    _IMPLEMENTATIONS[take_action, type(state)](state, other, action)


@overload(take_action, jit_options=_JIT)
def _take_action(state: Any, other: Any, action: Any) -> Any:
    return _chosen(take_action, state)


def probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    """Write into `out` the exact chance of each action in `play`."""
    _IMPLEMENTATIONS[probabilities, type(state)](state, context, available, out)


@overload(probabilities, jit_options=_JIT_ALLOCATING)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> Any:
    return _chosen(probabilities, state)


def get_outcome(state: Any, context: Any, action: Any) -> float:
    """What would have happened, from the log; NaN if it has no answer."""
    return _IMPLEMENTATIONS[get_outcome, type(state)](state, context, action)


@overload(get_outcome, jit_options=_JIT)
def _get_outcome(state: Any, context: Any, action: Any) -> Any:
    return _chosen(get_outcome, state)


def get_variance(state: Any, context: Any, action: Any) -> float:
    """How much outcomes vary around the answer of `get_outcome`; 0 for an evaluator that answers with outcomes."""
    chosen = _IMPLEMENTATIONS.get((get_variance, type(state)))
    return 0.0 if chosen is None else chosen(state, context, action)


def _no_variance(state: Any, context: Any, action: Any) -> float:
    return 0.0


@overload(get_variance, jit_options=_JIT)
def _get_variance(state: Any, context: Any, action: Any) -> Any:
    return _chosen(get_variance, state) or _no_variance


def is_exhausted(state: Any) -> bool:
    """True once the evaluator will never answer again, whatever is asked."""
    return _IMPLEMENTATIONS[is_exhausted, type(state)](state)


@overload(is_exhausted, jit_options=_JIT)
def _is_exhausted(state: Any) -> Any:
    return _chosen(is_exhausted, state)


def fill_propensities(state: Any, context: Any, out: Any) -> None:
    """Write into `out` the chance that the logging policy gave to each action under `context`."""
    _IMPLEMENTATIONS[fill_propensities, type(state)](state, context, out)


@overload(fill_propensities, jit_options=_JIT)
def _fill_propensities(state: Any, context: Any, out: Any) -> Any:
    return _chosen(fill_propensities, state)


def draw_context(state: Any, out: Any) -> None:
    """Write into `out` the context of a user such as will come (Algorithm 1, context_generator)."""
    _IMPLEMENTATIONS[draw_context, type(state)](state, out)


@overload(draw_context, jit_options=_JIT)
def _draw_context(state: Any, out: Any) -> Any:
    return _chosen(draw_context, state)


def record_context(state: Any, context: Any) -> None:
    """Tell a source of contexts that this user came."""
    _IMPLEMENTATIONS[record_context, type(state)](state, context)


@overload(record_context, jit_options=_JIT)
def _record_context(state: Any, context: Any) -> Any:
    return _chosen(record_context, state)


def draw_user(state: Any, out: Any) -> None:
    """Let the world's next user come and write the context that can be seen of them into `out`."""
    _IMPLEMENTATIONS[draw_user, type(state)](state, out)


@overload(draw_user, jit_options=_JIT)
def _draw_user(state: Any, out: Any) -> Any:
    return _chosen(draw_user, state)


def draw_outcome(state: Any, action: Any) -> float:
    """What the world's present user does when shown `action`."""
    return _IMPLEMENTATIONS[draw_outcome, type(state)](state, action)


@overload(draw_outcome, jit_options=_JIT)
def _draw_outcome(state: Any, action: Any) -> Any:
    return _chosen(draw_outcome, state)


def expected_outcomes(state: Any, out: Any) -> None:
    """Write into `out` the mean outcome of each action that regret is measured against."""
    _IMPLEMENTATIONS[expected_outcomes, type(state)](state, out)


@overload(expected_outcomes, jit_options=_JIT)
def _expected_outcomes(state: Any, out: Any) -> Any:
    return _chosen(expected_outcomes, state)
