"""Logs that tests make: one that is healthy, and faults planted in it one at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.logs.log import Log


@dataclass(frozen=True)
class Making:
    """A logging policy that follows the contexts, outcomes that depend on them too, propensities that are true.

    Chances are 0.9 softmax + 0.1 uniform; the outcome is 0.3 a + 0.5 x0 - 0.3 x1 + noise of spread 1, or a success
    with the logistic chance of that minus 1.
    """

    n: int = 5000
    n_actions: int = 3
    n_columns: int = 4
    strength: float = 1.0  # of the contexts in the logging policy
    is_binary: bool = False

    def draw(self, seed: int) -> tuple[Log, np.ndarray]:
        """The healthy log, and the chance of every action in every row."""
        rng = np.random.default_rng([seed, 99])
        x = rng.standard_normal((self.n, self.n_columns))
        slopes = rng.standard_normal((self.n_actions, self.n_columns)) * self.strength / np.sqrt(self.n_columns)
        scores = np.exp(x @ slopes.T)
        chances = 0.9 * scores / scores.sum(axis=1, keepdims=True) + 0.1 / self.n_actions
        return make_log(x, chances, rng, is_binary=self.is_binary), chances


def make_log(x: np.ndarray, chances: np.ndarray, rng: np.random.Generator, *, is_binary: bool = False) -> Log:
    """Actions drawn with these chances, outcomes as in `Making`."""
    n, k = chances.shape
    actions = draw_actions(chances, rng)
    mean = 0.3 * actions + 0.5 * x[:, 0] - 0.3 * x[:, 1]
    if is_binary:
        outcomes = (rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - mean))).astype(float)
    else:
        outcomes = mean + rng.standard_normal(n)
    return Log(actions, outcomes, x, chances[np.arange(n), actions], n_actions=k)


def draw_actions(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    passed = rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)
    return np.minimum(passed.sum(axis=1), chances.shape[1] - 1)


def scaled(seed: int, factor: float, making: Making | None = None) -> Log:
    """Propensities times a factor; one above 1 is cut to 1, as a careless logger would."""
    log, _ = (making or Making()).draw(seed)
    return log.with_propensities(np.minimum(1.0, factor * log.propensities))


def of_wrong_action(seed: int, making: Making | None = None, *, always: int | None = None) -> Log:
    """The propensity of the next action, or always of one and the same, in place of that of the action taken."""
    log, chances = (making or Making()).draw(seed)
    wrong = (log.actions + 1) % log.n_actions if always is None else np.full(len(log), always)
    return log.with_propensities(chances[np.arange(len(log)), wrong])


def without_overlap(seed: int, chance: float, making: Making | None = None) -> Log:
    """Users with x1 > 0.3 (38 %) see the last action with this chance only; the propensities say so truly."""
    making = making or Making()
    rng = np.random.default_rng([seed, 98])
    _, chances = making.draw(seed)
    x = np.random.default_rng([seed, 99]).standard_normal((making.n, making.n_columns))
    barred = x[:, 1] > 0.3
    chances[barred, -1] = chance
    chances[barred, :-1] *= ((1.0 - chance) / chances[barred, :-1].sum(axis=1))[:, None]
    return make_log(x, chances, rng, is_binary=making.is_binary)


def with_leak(seed: int, noise: float, making: Making | None = None) -> Log:
    """One more context: the outcome plus noise of this spread (in the outcome's)."""
    log, _ = (making or Making()).draw(seed)
    rng = np.random.default_rng([seed, 97])
    leak = log.outcomes + noise * log.outcomes.std() * rng.standard_normal(len(log))
    contexts = np.column_stack([log.contexts, leak])
    names = [*log.context_names, "leak"]
    return Log(log.actions, log.outcomes, contexts, log.propensities, context_names=names, n_actions=log.n_actions)


def shifted_users(seed: int, by: float, n: int = 4000, n_columns: int = 4) -> np.ndarray:
    """Users to come whose first column lies this many standard deviations higher."""
    x = np.random.default_rng([seed, 96]).standard_normal((n, n_columns))
    x[:, 0] += by
    return x
