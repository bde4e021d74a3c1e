"""Checks at the boundary. Each `check_*` returns the value in the form that the inside trusts, or raises."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Bools, Floats
from headstart.errors import ActionError, ContextError, OptionError, OutcomeError

Context = Floats  # (d,)
Available = Bools | Sequence[int] | NDArray[np.integer[Any]] | None

NO_CONTEXT: Context = np.empty(0)


@cache
def every(n_actions: int) -> Bools:
    """The mask of all actions, one for all who ask: nobody writes to a mask."""
    return np.ones(n_actions, dtype=np.bool_)


def guess_name(wrong: str, known: Sequence[object]) -> str:
    """The question whether the nearest of the known names was meant, with a space behind it; "" if none is near."""
    import difflib  # by those who err alone

    near = difflib.get_close_matches(str(wrong), [str(each) for each in known], n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? " if near else ""


def check_whole(name: str, value: Any, low: int = 1) -> int:
    """A whole number of at least `low`."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise OptionError(f"{name} must be a whole number, got {value!r}") from None
    if number < low:
        raise OptionError(f"{name} must be at least {low}, got {number}")
    return number


def check_kind(name: str, value: object, kind: type) -> None:
    """An instance of this class, such as a group of options."""
    if not isinstance(value, kind):
        raise OptionError(f"{name} must be {kind.__name__}(...), got {value!r}")


def check_saved(saved: object) -> None:
    """A state as `get_state` gives it, as far as its form goes."""
    if not isinstance(saved, Mapping):
        raise OptionError(f"state must be what get_state returned, got {saved!r}")


def check_n_actions(n_actions: Any) -> int:
    """A whole number of at least one action."""
    return check_whole("n_actions", n_actions)


def check_number(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number in [low, high]; a text that spells one is none."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be a number, got {value!r}") from None
    if not (math.isfinite(number) and low <= number <= high):
        raise OptionError(f"{name} must be a finite number in [{low:g}, {high:g}], got {value!r}")
    return number


def check_action(action: Any, n_actions: int) -> int:
    """An action's index."""
    try:
        index = operator.index(action)
    except TypeError:
        raise ActionError(
            f"action must be an index 0..{n_actions - 1}, got {action!r}; "
            "labels become indices through log.action_index(label)"
        ) from None
    if not 0 <= index < n_actions:
        raise ActionError(f"action must be an index 0..{n_actions - 1}, got {index}")
    return index


def check_outcome(outcome: Any) -> float:
    """A finite number; 0.0 is an outcome like any other."""
    try:
        number = float(outcome)
    except (TypeError, ValueError):
        raise OutcomeError(f"outcome must be a number, got {outcome!r}") from None
    except OverflowError:  # a whole number beyond the largest float
        number = math.inf
    if not math.isfinite(number):
        raise OutcomeError(f"outcome must be a finite number, got {number}")
    return number


def check_outcome_in(outcome: Any, low: float, high: float, why: str) -> float:
    """A finite number in [low, high]."""
    number = check_outcome(outcome)
    if not low <= number <= high:
        raise OutcomeError(f"outcome must be in [{low:g}, {high:g}] for {why}, got {number:g}")
    return number


def check_available(available: Any, n_actions: int) -> Bools:
    """A boolean mask or a list of action indices, as a mask with at least one action."""
    given = np.asarray(available)
    if given.dtype == np.bool_:
        if given.shape != (n_actions,):
            raise ActionError(f"available must be a mask of length {n_actions}, got shape {given.shape}")
        mask = np.ascontiguousarray(given)
    else:
        mask = np.zeros(n_actions, dtype=np.bool_)
        for index in given.reshape(-1).tolist():
            mask[check_action(index, n_actions)] = True
    if not mask.any():
        raise ActionError("available must hold at least one action, got none")
    return mask


def check_context(context: ArrayLike | None, n_features: int) -> Context:
    """A vector of `n_features` finite numbers."""
    try:
        vector = np.ascontiguousarray(context, dtype=np.float64)
    except (TypeError, ValueError):
        raise ContextError(f"context must be {n_features} numbers, got {context!r}") from None
    if context is None or vector.shape != (n_features,):
        got = "None" if context is None else f"shape {vector.shape}"
        raise ContextError(f"context must be {n_features} numbers, got {got}")
    # A sum is finite when its terms are, short of overflow; Python's costs a tenth of numpy's isfinite().all()
    # and does not warn of inf - inf.
    if not math.isfinite(sum(vector.tolist())) and not np.isfinite(vector).all():
        column = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ContextError(f"context must be finite, got {vector[column]} in column {column}")
    return vector
