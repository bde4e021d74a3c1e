"""Whether what was read is sound: compiled code checks no index, so a state is first used where indices are checked.

A kernel is a Python function too. Interpreted, each verb goes once through every action over a copy of the state:
an array that is too short, or an index beyond its end, is an error there, and would be somebody else's memory later.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headstart import kernels
from headstart.errors import PolicyFileError
from headstart.kernels.dispatch import has_implementation
from headstart.kernels.states import copy_state, is_state
from headstart.parts.abilities import Abilities, OracleAbilities, is_oracle, missing_method
from headstart.parts.contracts import State

_MOST_LOOPS = 4_000_000  # array elements beyond which going through them in Python would take too long


def check_sound(parts: list[object]) -> None:
    """Raise a PolicyFileError if the state of one of these parts is not of a piece."""
    for part in parts:
        if missing_method(part, "check_sound") is None:
            part.check_sound()  # type: ignore[attr-defined]
        state = Abilities(part).kernel_state
        if state is not None:
            _check_state(part, state)


def _check_state(part: object, state: State) -> None:
    name = type(part).__name__
    for array in _arrays_of(state):
        if array.dtype.kind == "f" and array.dtype != np.float64:
            raise PolicyFileError(f"{name} holds numbers of {array.dtype}")
        if array.dtype.kind == "i" and array.size and int(array.min()) < -1:
            raise PolicyFileError(f"{name} holds an index below 0")
    if not is_oracle(part) or sum(array.size for array in _arrays_of(state)) > _MOST_LOOPS:
        return
    n, d = part.n_actions, OracleAbilities(part).n_features or 0
    if type(n) is not int or type(d) is not int or not 1 <= n <= 10**6 or not 0 <= d <= 10**6:
        raise PolicyFileError(f"{name} has {n!r} actions and {d!r} features")
    try:
        with np.errstate(all="ignore"):
            _use(state, n, d)
    except (IndexError, ValueError, TypeError, AttributeError, ZeroDivisionError, OverflowError) as error:
        raise PolicyFileError(
            f"{name} is not of a piece: its state does not fit {n} actions and {d} features ({error})"
        ) from error


def _use(state: State, n_actions: int, n_features: int) -> None:
    trial, context = copy_state(state), np.linspace(0.0, 1.0, n_features)
    everything = np.ones(n_actions, dtype=np.bool_)
    kernels.play(trial, context, everything)
    for action in range(n_actions):
        for verb in (kernels.expect, kernels.release):
            verb(trial, context, action)
        if has_implementation(kernels.update, type(trial)):
            kernels.update(trial, context, action, 0.0)


def _arrays_of(state: State) -> Iterator[np.ndarray]:
    for value in state:
        if is_state(value):
            yield from _arrays_of(value)
        elif isinstance(value, np.ndarray):
            yield value
