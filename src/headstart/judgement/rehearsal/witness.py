"""Witness: on which day the users' own outcomes say which action is best, by one rule for all policies.

At the end of a day, the action with the largest mean is known to be the best if it is so many standard errors of the
difference above every other action that has been played, and every action has been played. Nothing of the log counts
but its variances, which stand in as two outcomes of each action.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.estimates.summary import PRIOR_ROWS
from headstart.kernels import expect, implements, kernel, play, probabilities, release, update
from headstart.kernels.arrays import total
from headstart.kernels.choice import best_available
from headstart.kernels.moments import Moments, add_to_moments, new_moments
from headstart.parts import ContextLike, Oracle, State, Wrapper
from headstart.warmstart.forwarding import expect_inner, fill_inner, play_inner, release_inner


class Notebook(NamedTuple):
    """What users' outcomes say."""

    tally: Moments
    variances: Floats  # (K,) of an outcome, by the log
    everyone: Bools  # (K,) all True
    found: Integers  # (2,) the first day on which the best action is known, 0 before it; and which it is
    per_day: int
    quantile: float  # standard errors that settle a difference


class WitnessState(NamedTuple):
    policy: State
    notebook: Notebook


@kernel
def note(notebook: Notebook, action: int, outcome: float) -> None:
    """One more outcome, and the end of a day if it is its last."""
    add_to_moments(notebook.tally, action, outcome, 0.0)
    n = int(total(notebook.tally.counts))
    if notebook.found[0] > 0 or n % notebook.per_day != 0:
        return
    for a in range(notebook.variances.size):
        if notebook.tally.counts[a] < 1.0:
            return
    best = best_available(notebook.tally.means, notebook.everyone)
    for a in range(notebook.variances.size):
        apart = notebook.tally.means[best] - notebook.tally.means[a]
        if a != best and apart < notebook.quantile * math.sqrt(
            _square_error(notebook, a) + _square_error(notebook, best)
        ):
            return
    notebook.found[0], notebook.found[1] = n // notebook.per_day, best


@kernel
def _square_error(notebook: Notebook, a: int) -> float:
    """The squared standard error of an action's mean."""
    n = notebook.tally.counts[a]
    squares = notebook.tally.squares[a] + PRIOR_ROWS * notebook.variances[a]
    return float(squares / (max(n - 1.0, 0.0) + PRIOR_ROWS) / n)


implements(play, WitnessState)(play_inner)
implements(probabilities, WitnessState)(fill_inner)
implements(expect, WitnessState)(expect_inner)
implements(release, WitnessState)(release_inner)


@implements(update, WitnessState)
def _update(state: WitnessState, context: Floats, action: int, outcome: float) -> None:
    update(state.policy, context, action, outcome)
    note(state.notebook, action, outcome)


class Witness(Wrapper):
    """A policy, and beside it the day on which its users' outcomes tell the best action; it changes nothing."""

    def __init__(self, policy: Oracle, variances: Floats, per_day: int, level: float) -> None:
        from headstart.special import ndtri

        k = policy.n_actions
        quantile = float(ndtri(1.0 - (1.0 - level) / max(k - 1, 1)))  # one side, as many times as there are others
        empty = new_moments(k), variances, np.ones(k, dtype=np.bool_), np.zeros(2, dtype=np.int64)
        self._policy, self._notebook = policy, Notebook(*empty, per_day, quantile)

    @property
    def inner(self) -> Oracle:
        """The policy that is watched."""
        return self._policy

    @property
    def day(self) -> float:
        """The first day at whose end the best action was known; infinity if it never was."""
        return float(self._notebook.found[0]) or math.inf

    @property
    def winner(self) -> int:
        """The action that was then known to be the best."""
        return int(self._notebook.found[1])

    def around(self, inner: State) -> WitnessState:
        """The state of the whole around the policy's."""
        return WitnessState(inner, self._notebook)

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """Learn a user's outcome."""
        self._policy.update(context, action, outcome)
        note(self._notebook, action, outcome)

    def __repr__(self) -> str:
        return repr(self._policy)
