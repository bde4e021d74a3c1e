"""Epsilon-decreasing multi-action forest (BanditOracle 3): mostly the forest's best, sometimes any action."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Bools, Floats, Integers
from headstart.checks import (
    Available,
    check_action,
    check_available,
    check_context,
    check_n_actions,
    check_number,
    check_outcome,
)
from headstart.errors import OptionError
from headstart.forest import ForestOptions, HonestForest
from headstart.parts import ContextLike, Readings, Saved
from headstart.parts.policy import Policy
from headstart.randomness import RNG, as_generator

N = TypeVar("N", bound=np.generic)

_FIRST_CAPACITY = 64
_DEFAULT_OPTIONS = ForestOptions(n_trees=200, min_node=2, sample_fraction=0.5)


class EpsilonForest(Policy):
    """The honest forest as a bandit.

    In round t, with chance epsilon_t any available action, otherwise the one with the largest estimate; an action
    of which the forest knows nothing at this context comes first. Between two growths, outcomes are added to the
    leaves, so that every outcome counts at once.

    Parameters
    ----------
    n_actions, n_features
    options
        How the forest is grown; by default 200 trees with nodes split down to two rows.
    epsilon
        A function of t = 1, 2, ... By default t^(-(1 - beta) / 2) with beta = options.subsample_exponent
        (Theorem 7), and t^(-1/2), the authors' choice, where the options have none.
    retrain_every, retrain_growth
        The trees are grown anew after max(retrain_every, retrain_growth x rows) new outcomes: every T0 rounds with
        a growth of 0, on a geometric schedule otherwise, where all growing together costs O(T log T).
    n_threads
        Threads that grow trees; the result does not depend on it.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.EpsilonForest(2, 3, hs.ForestOptions(n_trees=10), rng=1)
    >>> oracle.update([0.0, 1.0, 0.0], action=1, outcome=1.0)
    >>> oracle.n_features
    3
    """

    def __init__(
        self,
        n_actions: int,
        n_features: int,
        options: ForestOptions | None = None,
        *,
        epsilon: Callable[[int], float] | None = None,
        retrain_every: int = 10,
        retrain_growth: float = 0.1,
        n_threads: int = 1,
        rng: RNG = None,
    ) -> None:
        self.n_actions = check_n_actions(n_actions)
        if n_features < 1:
            raise OptionError(f"n_features must be at least 1, got {n_features}")
        self.n_features = int(n_features)
        self.options = _DEFAULT_OPTIONS if options is None else options
        self._decay = (1.0 - (self.options.subsample_exponent or 0.0)) / 2.0
        self._epsilon = epsilon
        self._every = int(check_number("retrain_every", retrain_every, low=1))
        self._growth = check_number("retrain_growth", retrain_growth, low=0.0)
        self._n_threads = n_threads
        self._rng = np.random.default_rng(as_generator(rng).integers(2**63))
        self._contexts = np.empty((_FIRST_CAPACITY, self.n_features))
        self._actions = np.empty(_FIRST_CAPACITY, dtype=np.int64)
        self._outcomes = np.empty(_FIRST_CAPACITY)
        self._n = 0
        self._n_grown = 0  # rows that the present trees were grown from
        self._forest: HonestForest | None = None

    @classmethod
    def from_rows(
        cls,
        contexts: Floats,
        actions: Integers,
        outcomes: Floats,
        n_actions: int,
        options: ForestOptions | None = None,
        *,
        rng: RNG = None,
    ) -> Self:
        """An oracle that has learnt a log's rows, each as if it had been an update; its trees are grown once."""
        generator = as_generator(rng)
        oracle = cls(n_actions, contexts.shape[1], options, rng=generator)
        oracle._hold(contexts, actions, outcomes)
        oracle._grow(int(generator.integers(2**32)))
        return oracle

    @property
    def forest(self) -> HonestForest | None:
        """The present forest, or None before the first outcome."""
        return self._forest

    def epsilon(self) -> float:
        """The chance of a random action in the coming round."""
        t = self._n + 1
        chance = t**-self._decay if self._epsilon is None else self._epsilon(t)
        return min(1.0, max(0.0, float(chance)))

    def predict(self, context: ContextLike) -> Floats:
        """The forest's estimate of each action's outcome, (K,); NaN where it knows nothing."""
        seen = check_context(context, self.n_features)
        return np.full(self.n_actions, np.nan) if self._forest is None else self._forest.predict_one(seen)

    def play(self, context: ContextLike, available: Available = None) -> int:
        """Choose an action for this context among the available ones (all by default)."""
        chances = self.probabilities(context, available)
        return int(np.searchsorted(np.cumsum(chances), self._rng.random() * chances.sum(), side="right"))

    def probabilities(self, context: ContextLike, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""
        estimates = np.nan_to_num(self.predict(context), nan=np.inf)
        mask = np.ones(self.n_actions, dtype=np.bool_)
        if available is not None:
            mask = check_available(available, self.n_actions)
        estimates[~mask] = -np.inf
        epsilon = self.epsilon()
        chances = np.where(mask, epsilon / mask.sum(), 0.0)
        chances[int(np.argmax(estimates))] += 1.0 - epsilon
        return chances

    def batch_probabilities(self, contexts: Floats, available: Bools | None) -> Floats:
        """`probabilities` of many users at once, (n, K)."""
        estimates = np.full((len(contexts), self.n_actions), np.inf)
        if self._forest is not None:
            estimates = np.nan_to_num(self._forest.predict(contexts), nan=np.inf)
        epsilon, rows = self.epsilon(), np.arange(len(contexts))
        chances = np.full(estimates.shape, epsilon / self.n_actions)
        if available is not None:
            estimates[~available] = -np.inf
            chances = np.where(available, epsilon / available.sum(axis=1, keepdims=True), 0.0)
        chances[rows, np.argmax(estimates, axis=1)] += 1.0 - epsilon
        return chances

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """Learn that `action` under `context` had `outcome`; the trees are grown anew when it is time."""
        seen = check_context(context, self.n_features)
        index, number = check_action(action, self.n_actions), check_outcome(outcome)
        if self._n == self._outcomes.size:
            self._reserve(2 * self._n)
        self._contexts[self._n], self._actions[self._n], self._outcomes[self._n] = seen, index, number
        self._n += 1
        if self._forest is None or self._n - self._n_grown >= max(self._every, self._growth * self._n_grown):
            self._grow(int(self._rng.integers(2**32)))
        else:
            self._forest.add(seen.reshape(1, -1), [index], [number])

    def expected_outcomes(self, contexts: Floats) -> tuple[Floats, Floats] | None:
        """The forest's estimates for many users, (n, K), and NaN for how sure they are; None: there is no forest."""
        if self._forest is None:
            return None
        estimates = self._forest.predict(contexts)
        return estimates, np.full_like(estimates, np.nan)

    def readings(self) -> Readings:
        """Plays and mean outcome per action; the forest's bounds depend on the context."""
        actions, outcomes = self._actions[: self._n], self._outcomes[: self._n]
        counts = np.bincount(actions, minlength=self.n_actions).astype(float)
        sums = np.bincount(actions, outcomes, self.n_actions)
        means = np.divide(sums, counts, out=np.full(self.n_actions, np.nan), where=counts > 0)
        nothing = np.full(self.n_actions, np.nan)
        return Readings(counts, means, nothing, nothing.copy())

    def reseed(self, rng: RNG) -> None:
        """New randomness; what was learnt stays."""
        self._rng = np.random.default_rng(as_generator(rng).integers(2**63))

    def get_state(self) -> Saved:
        """The rows learnt and the state of the randomness; the trees follow from them."""
        return {
            "contexts": self._contexts[: self._n].copy(),
            "actions": self._actions[: self._n].copy(),
            "outcomes": self._outcomes[: self._n].copy(),
            "n_grown": self._n_grown,
            "forest_seed": None if self._forest is None else self._forest.seed,
            "rng": self._rng.bit_generator.state,
        }

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of an oracle with the same settings: it has the same future."""
        self._hold(saved["contexts"], saved["actions"], saved["outcomes"])
        n = self._n
        self._n, self._forest = int(saved["n_grown"]), None
        if saved["forest_seed"] is not None:
            self._grow(saved["forest_seed"])
            for row in range(self._n, n):
                self._forest_add(row)
        self._n = n
        self._rng.bit_generator.state = saved["rng"]

    def _hold(self, contexts: Floats, actions: Integers, outcomes: Floats) -> None:
        """These rows instead of those learnt so far."""
        n = len(outcomes)
        self._reserve(max(n, _FIRST_CAPACITY))
        self._contexts[:n], self._actions[:n], self._outcomes[:n] = contexts, actions, outcomes
        self._n = n

    def _forest_add(self, row: int) -> None:
        assert self._forest is not None
        self._forest.add(self._contexts[row : row + 1], self._actions[row : row + 1], self._outcomes[row : row + 1])

    def _grow(self, seed: int) -> None:
        self._forest = HonestForest(self.options, seed=seed, n_threads=self._n_threads).fit(
            self._contexts[: self._n], self._actions[: self._n], self._outcomes[: self._n], self.n_actions
        )
        self._n_grown = self._n

    def _reserve(self, capacity: int) -> None:
        kept = min(self._n, capacity)
        self._contexts = _resized(self._contexts, kept, capacity)
        self._actions = _resized(self._actions, kept, capacity)
        self._outcomes = _resized(self._outcomes, kept, capacity)

    def __repr__(self) -> str:
        return f"EpsilonForest(n_actions={self.n_actions}, n_features={self.n_features}, plays={self._n})"


def _resized(old: NDArray[N], kept: int, capacity: int) -> NDArray[N]:
    """Room for `capacity` rows, the first ones of which are kept."""
    new = np.empty((capacity, *old.shape[1:]), dtype=old.dtype)
    new[:kept] = old[:kept]
    return new
