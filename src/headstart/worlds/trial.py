"""A randomised trial as a world: its rows are the users and the outcomes, and a stated deletion makes the log."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

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
from headstart.worlds.drawn import DrawnWorld, TruePopulation, freeze


class TrialState(NamedTuple):
    contexts: Floats  # (n, d) read-only
    cells: Integers  # (n,) read-only: the cell of each row
    outcomes: Floats  # (n,) read-only, sorted by cell and action
    starts: Integers  # (C, K) read-only: where the outcomes of a cell and action begin
    counts: Integers  # (C, K) read-only: and how many they are
    cell_means: Floats  # (C, K) read-only
    means: Floats  # (K,) read-only
    is_contextual: bool
    present: Integers  # (1,) the present user's row
    rng: Words  # (4,)


@implements(draw_user, TrialState)
def _draw_user(state: TrialState, out: Floats) -> None:
    state.present[0] = draw_below(state.rng, state.cells.size)
    copy_into(out, state.contexts[state.present[0]])


@implements(draw_context, TrialState)
def _draw_context(state: TrialState, out: Floats) -> None:
    copy_into(out, state.contexts[draw_below(state.rng, state.cells.size)])


@implements(draw_outcome, TrialState)
def _draw_outcome(state: TrialState, action: int) -> float:
    cell = state.cells[state.present[0]]
    return state.outcomes[state.starts[cell, action] + draw_below(state.rng, state.counts[cell, action])]


@implements(expected_outcomes, TrialState)
def _expected(state: TrialState, out: Floats) -> None:
    if state.is_contextual:
        copy_into(out, state.cell_means[state.cells[state.present[0]]])
    else:
        copy_into(out, state.means)


class Trial:
    """Users are the rows of a randomised trial, drawn with replacement; so are their outcomes.

    A row shows its outcome under one action only. So the trial's rows are cut into cells by what was known
    before the randomisation, and a user shown an action has the outcome of a random row of the same cell
    whose action it was. Within a cell the trial chose actions by lot, so such a row stands for what the user
    would have done. Every outcome met is one that was really observed, and the truth is known:
    mean_a = sum over cells of (cell's share) x (mean outcome of the rows of action a in the cell). With one
    cell it is the mean of the trial's arm.

    The log is the trial with rows deleted at random, row i kept with the chance
    `keep_probabilities[cell_i, action_i]`, drawn until there are `n_log` rows (with replacement). These chances
    make the log's propensities exactly `policy`, without changing how common the cells are: the log is
    confounded by the cells and by nothing else.

    Parameters
    ----------
    actions, outcomes
        (n,): the trial's. Actions are indices.
    contexts
        (n, d), what was known before the randomisation, or None.
    cells
        (n,): the cell of each row, 0..C-1; by default all rows are one cell.
    policy
        (C, K): the log's chance of each action in each cell; uniform by default.
    n_log
        Rows of the log.
    is_contextual
        Regret against the best action of the user's cell instead of the best action for all.
    """

    def __init__(
        self,
        actions: Iterable[Hashable],
        outcomes: ArrayLike,
        contexts: ArrayLike | None = None,
        cells: ArrayLike | None = None,
        policy: ArrayLike | None = None,
        n_log: int = 100,
        is_contextual: bool = False,
        context_names: Sequence[str] | None = None,
    ) -> None:
        trial = Log(actions, outcomes, contexts, context_names=context_names)
        self.n_actions, n = trial.n_actions, len(trial)
        self._names = trial.context_names
        given = np.zeros(n, dtype=np.int64) if cells is None else np.array(cells)
        if given.shape != (n,) or given.dtype.kind not in "iu" or given.min() < 0:
            raise OptionError(f"cells must be one index 0, 1, ... for each of {n} rows, got {cells!r}")
        n_cells = int(given.max()) + 1
        group = given * self.n_actions + trial.actions
        counts = np.bincount(group, minlength=n_cells * self.n_actions).reshape(n_cells, self.n_actions)
        if not counts.all():
            cell, action = (int(i) for i in np.argwhere(counts == 0)[0])
            raise OptionError(f"cell {cell} has no row of action {action}: its outcome there is unknown")
        shape = (n_cells, self.n_actions)
        self.policy = np.full(shape, 1.0 / self.n_actions) if policy is None else np.array(policy, dtype=np.float64)
        if self.policy.shape != shape or not (self.policy >= 0.0).all():
            raise OptionError(f"policy must be chances of shape {shape}, cells x actions, got {self.policy.tolist()}")
        if not (np.abs(self.policy.sum(axis=1) - 1.0) <= 1e-9).all():
            raise OptionError(f"policy must have rows that sum to 1, got {self.policy.sum(axis=1)}")
        if n_log < 1:
            raise OptionError(f"n_log must be at least 1, got {n_log}")
        self.n_log = n_log
        order = np.argsort(group, kind="stable")
        sums = np.bincount(group, trial.outcomes, n_cells * self.n_actions).reshape(shape)
        cell_means = sums / counts
        self._rows = freeze(order)  # outcomes and contexts of a cell and action lie side by side
        self._state = TrialState(
            trial.contexts,
            freeze(given.astype(np.int64)),
            freeze(trial.outcomes[order]),
            freeze((np.cumsum(counts) - counts.reshape(-1)).reshape(shape)),
            freeze(counts),
            freeze(cell_means),
            freeze((counts.sum(axis=1) / n) @ cell_means),
            is_contextual,
            np.zeros(1, dtype=np.int64),
            np.zeros(4, dtype=np.uint64),
        )

    @property
    def means(self) -> Floats:
        """The truth: the mean outcome of each action, (K,)."""
        return self._state.means

    @property
    def n_features(self) -> int:
        return self._state.contexts.shape[1]

    @property
    def keep_probabilities(self) -> Floats:
        """The chance with which a row of a cell and action is kept for the log, (C, K); the largest is 1."""
        counts = self._state.counts
        chances = self.policy / (counts / counts.sum(axis=1, keepdims=True))
        return chances / chances.max()

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A log of `n_log` rows and a stream of users."""
        # Drawing the cell, then the action, then a row of both is the deletion's distribution without its waste.
        cells = self._state.cells[rng.integers(len(self._rows), size=self.n_log)]
        policy = self.policy[cells]
        actions = (rng.random((self.n_log, 1)) >= np.cumsum(policy, axis=1)[:, :-1]).sum(axis=1)
        places = self._state.starts[cells, actions] + rng.integers(self._state.counts[cells, actions])
        log = Log(
            actions,
            self._state.outcomes[places],
            self._state.contexts[self._rows[places]],
            policy,
            n_actions=self.n_actions,
            context_names=self._names,
        )
        return self.draw_stream(log, rng)

    def draw_stream(self, log: Log, rng: np.random.Generator) -> DrawnWorld:
        """The stream of the trial's users, after a log from wherever."""
        state = self._state._replace(present=np.zeros(1, dtype=np.int64), rng=as_words(rng))
        elsewhere = state._replace(present=np.zeros(1, dtype=np.int64), rng=as_words(rng))
        population = TruePopulation(elsewhere, self.n_features)
        return DrawnWorld(log, self.n_features, state, population)
