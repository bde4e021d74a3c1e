"""Capped: another evaluator, which answers at most so many times for each action.

The audit's caps (`audit(log).verdict.caps`) say for how many virtual plays a log may speak; this is how an evaluator
obeys them. Nothing else changes: the answers are the inner evaluator's, in its order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats, Integers
from headstart.checks import check_action, check_saved
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.kernels import get_outcome, get_variance, implements, is_exhausted
from headstart.logs.encoding import Encoding
from headstart.parts import ContextLike, Evaluator, EvaluatorAbilities, Saved, State, load_parts, save_parts


class CappedState(NamedTuple):
    evaluator: State
    left: Integers  # (K,) answers that may still be given


@implements(get_outcome, CappedState)
def _answer(state: CappedState, context: Floats, action: int) -> float:
    if state.left[action] < 1:
        return math.nan
    outcome = get_outcome(state.evaluator, context, action)
    if not math.isnan(outcome):
        state.left[action] -= 1
    return outcome


@implements(get_variance, CappedState)
def _variance(state: CappedState, context: Floats, action: int) -> float:
    return get_variance(state.evaluator, context, action)


@implements(is_exhausted, CappedState)
def _is_spent(state: CappedState) -> bool:
    for a in range(state.left.size):
        if state.left[a] >= 1:
            return is_exhausted(state.evaluator)
    return True


class Capped:
    """The evaluator's answers, at most `caps[a]` of them for action a; 0 everywhere is `NoLog`.

    Parameters
    ----------
    evaluator
        Any evaluator. It is used, not copied.
    caps
        Whole numbers of at least 0, (K,): `hs.audit(log).verdict.caps`.

    Raises
    ------
    OptionError
        If there is not one cap of at least 0 per action.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> evaluator = hs.Capped(hs.IPSWeighting(log), caps=[1, 0])
    >>> evaluator.get_outcome(None, 0) is not None, evaluator.get_outcome(None, 1) is not None
    (True, False)
    """

    def __init__(self, evaluator: Evaluator, caps: ArrayLike) -> None:
        self._asked = EvaluatorAbilities(evaluator)
        self.evaluator, self.caps = evaluator, _check_caps(caps, self._asked.n_actions)
        self._left = self.caps.copy()

    @property
    def n_actions(self) -> int:
        """How many actions there are caps for."""
        return self.caps.size

    @property
    def n_features(self) -> int | None:
        """The columns of the contexts that the evaluator is asked about."""
        return self._asked.n_features

    @property
    def contexts(self) -> Floats | None:
        """What virtual users are drawn from, (n, d)."""
        return self._asked.contexts

    @property
    def encoding(self) -> Encoding | None:
        """How the log's columns are called."""
        return self._asked.encoding

    @property
    def needs_context(self) -> bool:
        """Whether the evaluator looks at the context that it is asked about."""
        return self._asked.needs_context

    @property
    def answerable(self) -> Bools:
        """The actions that it can ever answer for, (K,)."""
        inner = self._asked.answerable
        return (self.caps > 0) if inner is None else (self.caps > 0) & inner

    @property
    def outcome_range(self) -> tuple[float, float] | None:
        """The smallest and the largest outcome of the log."""
        return self._asked.outcome_range

    @property
    def kernel_state(self) -> CappedState | None:
        """The state for the compiled loops; None if the evaluator has none."""
        inner = self._asked.kernel_state
        return None if inner is None else CappedState(inner, self._left)

    def get_outcome(self, context: ContextLike, action: int) -> float | None:
        """What the evaluator answers, or None once the cap of the action is reached."""
        index = check_action(action, self.n_actions)
        if self._left[index] < 1:
            return None
        outcome = self.evaluator.get_outcome(context, index)
        if outcome is not None:
            self._left[index] -= 1
        return outcome

    @property
    def get_variance(self) -> Callable[[ContextLike, int], float] | None:
        """get_variance(context, action) of the evaluator, if its answers are averages."""
        return self._asked.get_variance

    def is_exhausted(self) -> bool:
        """True once it will never answer again, whatever is asked."""
        return not (self._left >= 1).any() or self._asked.is_exhausted()

    @property
    def summary(self) -> Callable[[], Summary] | None:
        """summary(): the evaluator's, each mean worth at most its cap; nothing is known where that is 0."""
        told = self._asked.summary
        return None if told is None else lambda: _cap(told(), self.caps)

    def get_state(self) -> Saved:
        """The evaluator's state, and the answers that are left, as arrays."""
        return {**save_parts({"evaluator": self.evaluator}), "left": self._left.copy()}

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of one with the same log and caps: it has the same future."""
        check_saved(saved)
        left = np.asarray(saved.get("left"))
        if left.shape != self._left.shape:
            raise OptionError(f"state needs left of shape {self._left.shape}, got shape {left.shape}")
        load_parts({"evaluator": self.evaluator}, saved)
        self._left[:] = left

    def __repr__(self) -> str:
        return f"Capped({self.evaluator!r}, caps={self.caps.tolist()})"


def _cap(summary: Summary, caps: Integers) -> Summary:
    capped, is_known = summary.capped(caps.astype(np.float64)), caps > 0
    means, variances = (np.where(is_known, values, np.nan) for values in (capped.means, capped.variances))
    return replace(capped, means=means, variances=variances)


def _check_caps(caps: ArrayLike, n_actions: int | None) -> Integers:
    found = np.asarray(caps)
    if found.ndim != 1 or found.dtype.kind not in "iu" or (found < 0).any():
        raise OptionError(f"caps must be a whole number of at least 0 for each action, got {caps!r}")
    if n_actions is not None and found.size != n_actions:
        raise OptionError(f"caps must be for {n_actions} actions, got {found.size}")
    return found.astype(np.int64)
