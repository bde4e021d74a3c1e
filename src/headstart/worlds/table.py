"""A world given by a table of potential outcomes: every user's outcome under every action is known."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers, Words
from headstart.errors import OptionError
from headstart.kernels import (
    draw_context,
    draw_outcome,
    draw_user,
    expected_outcomes,
    implements,
)
from headstart.kernels.arrays import copy_into
from headstart.kernels.random import draw_below
from headstart.logs.log import Log
from headstart.randomness import as_words
from headstart.worlds.drawn import DrawnWorld, TruePopulation


class TableState(NamedTuple):
    outcomes: Floats  # (n, K) read-only
    contexts: Floats  # (n, d) read-only
    means: Floats  # (K,)
    is_contextual: bool
    present: Integers  # (1,) the present user's row
    rng: Words  # (4,)


class HasRows(Protocol):
    """A state whose users are the rows of a table."""

    @property
    def outcomes(self) -> Floats: ...
    @property
    def contexts(self) -> Floats: ...
    @property
    def present(self) -> Integers: ...
    @property
    def rng(self) -> Words: ...


@implements(draw_user, TableState)
def draw_row_user(state: HasRows, out: Floats) -> None:
    """The next user: any row of the table."""
    state.present[0] = draw_below(state.rng, state.outcomes.shape[0])
    copy_into(out, state.contexts[state.present[0]])


@implements(draw_context, TableState)
def _draw_context(state: TableState, out: Floats) -> None:
    copy_into(out, state.contexts[draw_below(state.rng, state.outcomes.shape[0])])


@implements(draw_outcome, TableState)
def outcome_of_row(state: HasRows, action: int) -> float:
    """What the table says of the present user."""
    return state.outcomes[state.present[0], action]


@implements(expected_outcomes, TableState)
def _expected(state: TableState, out: Floats) -> None:
    if state.is_contextual:
        copy_into(out, state.outcomes[state.present[0]])
    else:
        copy_into(out, state.means)


class PotentialOutcomes:
    """Users are rows of a table, drawn with replacement.

    Parameters
    ----------
    outcomes
        (n, K): the outcome of every row under every action.
    contexts
        (n, d), or None.
    propensities
        (n, K): the policy that made the log; uniform by default.
    n_log
        Rows of the log, drawn with replacement and logged by that policy.
    is_contextual
        Regret against each user's own best action instead of the best action for all.
    """

    def __init__(
        self,
        outcomes: ArrayLike,
        contexts: ArrayLike | None = None,
        propensities: ArrayLike | None = None,
        n_log: int = 100,
        is_contextual: bool = False,
    ) -> None:
        self._outcomes = np.array(outcomes, dtype=np.float64)
        if self._outcomes.ndim != 2 or not self._outcomes.size or not np.isfinite(self._outcomes).all():
            raise OptionError("outcomes must be a finite table of rows x actions")
        n, k = self._outcomes.shape
        self._contexts = np.empty((n, 0)) if contexts is None else np.array(contexts, dtype=np.float64)
        if self._contexts.ndim != 2 or len(self._contexts) != n:
            raise OptionError(f"contexts must have one row per row of outcomes ({n}), got {self._contexts.shape}")
        if not np.isfinite(self._contexts).all():
            raise OptionError("contexts must be finite")
        self._policy = np.full((n, k), 1.0 / k) if propensities is None else np.array(propensities, dtype=float)
        if self._policy.shape != (n, k) or not (np.abs(self._policy.sum(axis=1) - 1.0) <= 1e-6).all():
            raise OptionError("propensities must have the shape of outcomes and rows that sum to 1")
        if (self._policy < 0.0).any():
            raise OptionError("propensities must be in [0, 1]")
        if n_log < 1:
            raise OptionError(f"n_log must be at least 1, got {n_log}")
        self._outcomes.setflags(write=False)
        self._contexts.setflags(write=False)
        self.n_actions, self.n_log, self.is_contextual = k, n_log, is_contextual

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A log of `n_log` rows and a stream of users."""
        rows = rng.integers(len(self._outcomes), size=self.n_log)
        policy = self._policy[rows]
        actions = (rng.random((self.n_log, 1)) >= np.cumsum(policy, axis=1)[:, :-1]).sum(axis=1)
        log = Log(actions, self._outcomes[rows, actions], self._contexts[rows], policy, n_actions=self.n_actions)
        state = TableState(
            self._outcomes,
            self._contexts,
            self._outcomes.mean(axis=0),
            self.is_contextual,
            np.zeros(1, dtype=np.int64),
            as_words(rng),
        )
        population = TruePopulation(state._replace(rng=as_words(rng)), self._contexts.shape[1])
        return DrawnWorld(log, self._contexts.shape[1], state, population)
