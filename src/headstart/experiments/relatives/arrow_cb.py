"""ARRoW-CB: several mixtures of log and users, of which the best so far decides (Zhang et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats
from headstart.checks import Available, check_action, check_available, check_context, check_number, check_outcome
from headstart.errors import OptionError
from headstart.logs.log import Log
from headstart.parts import Readings, Saved
from headstart.randomness import RNG, as_generator


class ARRoWCB:
    """Epsilon-greedy on a regression of log and users together; how much each counts is chosen as it goes.

    For each lambda of a small set, a ridge regression per action minimises (1 - lambda) times the log's squared
    errors plus lambda times the users'. Each user judges the policies: the one that is greedy on lambda's regression,
    before it learns of this user, is credited y / p if it would have chosen the action played, p being the chance of
    that. The lambda with the most credit so far, the smallest among equals, decides: with chance epsilon any action,
    else its best.

    How it is read. The paper warm-starts from fully labelled data; a log has one action a row, so its rows weigh 1/p
    (1 without propensities), scaled to an average of 1 within an action. Its learner is any cost-sensitive one; here
    ridge regression on (1, x). The paper has sets of 2 to 16 lambdas; here five, evenly spaced, both ends too. Losses
    are summed, not averaged. p is the chance at the time of `update` with every action available: exact when outcomes
    come at once.

    Parameters
    ----------
    log
        The log; its contexts are what the policy decides on.
    epsilon, lambdas, ridge
        The share of uniform play, the mixtures, and the regressions' penalty.
    rng
        Draws the plays.
    """

    def __init__(
        self,
        log: Log,
        epsilon: float = 0.05,
        lambdas: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
        ridge: float = 1e-3,
        rng: RNG = None,
    ) -> None:
        self.n_actions, self.n_features = log.n_actions, log.n_features
        self.epsilon = check_number("epsilon", epsilon, 1e-9, 1.0)
        self.lambdas: Floats = np.array([check_number("lambdas", value, 0.0, 1.0) for value in lambdas])
        if not self.lambdas.size:
            raise OptionError("lambdas must hold at least one number")
        self._ridge = check_number("ridge", ridge, low=1e-12)
        self._rng = as_generator(rng)
        m = log.n_features + 1
        self._log_grams, self._log_moments = _sum_log(log)
        self._grams, self._moments = np.zeros((self.n_actions, m, m)), np.zeros((self.n_actions, m))
        self._counts, self._sums = np.zeros(self.n_actions), np.zeros(self.n_actions)
        self.credits: Floats = np.zeros(self.lambdas.size)
        self._thetas: Floats = np.zeros((self.lambdas.size, self.n_actions, m))
        for action in range(self.n_actions):
            self._fit(action)

    @property
    def chosen(self) -> float:
        """The lambda that decides now: 0 is the log alone, 1 the users alone."""
        return float(self.lambdas[self.credits.argmax()])

    def play(self, context: ArrayLike | None = None, available: Available = None) -> int:
        """Mostly the chosen mixture's best action, sometimes any."""
        return int(self._rng.choice(self.n_actions, p=self.probabilities(context, available)))

    def probabilities(self, context: ArrayLike | None = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`, 0 for those not available."""
        mask = np.ones(self.n_actions, np.bool_) if available is None else check_available(available, self.n_actions)
        return self._chances(self._as_row(context), mask)

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> None:
        """Credit the mixtures that would have played `action`, then learn its outcome."""
        index, number, row = check_action(action, self.n_actions), check_outcome(outcome), self._as_row(context)
        chance = self._chances(row, np.ones(self.n_actions, np.bool_))[index]
        would_play = (self._thetas @ row).argmax(axis=1) == index
        self.credits += np.where(would_play, number / chance, 0.0)
        self._grams[index] += np.outer(row, row)
        self._moments[index] += number * row
        self._counts[index] += 1.0
        self._sums[index] += number
        self._fit(index)

    def readings(self) -> Readings:
        """Users per action and their mean outcomes; it has no bounds."""
        nothing = np.full(self.n_actions, np.nan)
        means = np.divide(self._sums, self._counts, out=nothing.copy(), where=self._counts > 0)
        return Readings(self._counts.copy(), means, nothing, nothing.copy())

    def reseed(self, rng: RNG) -> None:
        """New randomness; what was learnt stays."""
        self._rng = as_generator(rng)

    def get_state(self) -> Saved:
        """The users' sums, the credits and the state of the randomness; the log's sums are its settings."""
        return {
            **{name: kept.copy() for name, kept in self._learnt.items()},
            "rng": deepcopy(self._rng.bit_generator.state),
        }

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of one made from the same log: it has the same future."""
        for name, kept in self._learnt.items():
            given = np.asarray(saved.get(name))
            if given.shape != kept.shape:
                raise OptionError(f"state needs {name} of shape {kept.shape}, got shape {given.shape}")
        for name, kept in self._learnt.items():
            kept[...] = saved[name]
        self._rng.bit_generator.state = saved["rng"]
        for action in range(self.n_actions):
            self._fit(action)

    @property
    def _learnt(self) -> dict[str, Floats]:
        return {
            "grams": self._grams,
            "moments": self._moments,
            "counts": self._counts,
            "sums": self._sums,
            "credits": self.credits,
        }

    def _chances(self, row: Floats, mask: Bools) -> Floats:
        scores = np.where(mask, self._thetas[self.credits.argmax()] @ row, -np.inf)
        chances = np.where(mask, self.epsilon / mask.sum(), 0.0)
        chances[scores.argmax()] += 1.0 - self.epsilon
        return chances

    def _as_row(self, context: ArrayLike | None) -> Floats:
        seen = check_context(context, self.n_features) if self.n_features else np.empty(0)
        return np.concatenate([[1.0], seen])

    def _fit(self, action: int) -> None:
        """theta of every mixture, for one action."""
        share = self.lambdas[:, None, None]
        grams = (1.0 - share) * self._log_grams[action] + share * self._grams[action]
        moments = (1.0 - share[:, 0]) * self._log_moments[action] + share[:, 0] * self._moments[action]
        grams = grams + self._ridge * np.eye(grams.shape[-1])
        self._thetas[:, action] = np.linalg.solve(grams, moments[..., None])[..., 0]

    def __repr__(self) -> str:
        return f"ARRoWCB(n_actions={self.n_actions}, users={int(self._counts.sum())}, lambda={self.chosen:g})"


def _sum_log(log: Log) -> tuple[Floats, Floats]:
    """Weighted sums of z z', (K, m, m), and y z, (K, m), with z = (1, x)."""
    weights = np.ones(len(log)) if log.propensities is None else 1.0 / log.propensities
    scale = np.bincount(log.actions, weights, log.n_actions) / np.maximum(
        np.bincount(log.actions, minlength=log.n_actions), 1
    )
    rows = np.column_stack([np.ones(len(log)), log.contexts])
    weighted = rows * (weights / scale[log.actions])[:, None]
    m = rows.shape[1]
    grams, moments = np.zeros((log.n_actions, m, m)), np.zeros((log.n_actions, m))
    for action in range(log.n_actions):
        mine = log.actions == action
        grams[action] = weighted[mine].T @ rows[mine]
        moments[action] = weighted[mine].T @ log.outcomes[mine]
    return grams, moments
