"""Lines: users are normal, each action's outcome is a line of their context, and the log's policy looked at it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Words
from headstart.checks import check_number, check_whole
from headstart.errors import OptionError
from headstart.kernels import draw_context, draw_outcome, draw_user, expected_outcomes, implements, kernel
from headstart.kernels.arrays import copy_into
from headstart.kernels.random import draw_normal, draw_uniform
from headstart.logs.log import Log
from headstart.randomness import as_words
from headstart.worlds.drawn import DrawnWorld, TruePopulation, freeze

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(64)


class LinearState(NamedTuple):
    levels: Floats  # (K,)
    slopes: Floats  # (K, d)
    noise: float  # the standard deviation around the line, or of an amount's logarithm; 0/1 outcomes have none
    is_chance: bool  # the line is the log-odds of a success, or of paying
    has_amounts: bool  # who succeeds pays an amount of mean 1
    means: Floats  # (K,) over the population
    is_contextual: bool
    user: Floats  # (d,) the present user
    rng: Words  # (4,)


@kernel
def _mean(state: LinearState, action: int) -> float:
    """E[y | user, action]."""
    score = state.levels[action]
    for j in range(state.user.size):
        score += state.slopes[action, j] * state.user[j]
    return 1.0 / (1.0 + math.exp(-score)) if state.is_chance else score


@implements(draw_user, LinearState)
def _draw_user(state: LinearState, out: Floats) -> None:
    for j in range(state.user.size):
        state.user[j] = draw_normal(state.rng)
    copy_into(out, state.user)


@implements(draw_context, LinearState)
def _draw_context(state: LinearState, out: Floats) -> None:
    draw_user(state, out)


@implements(draw_outcome, LinearState)
def _draw_outcome(state: LinearState, action: int) -> float:
    mean = _mean(state, action)
    if not state.is_chance:
        return mean + state.noise * draw_normal(state.rng)
    if draw_uniform(state.rng) >= mean:
        return 0.0
    if not state.has_amounts:
        return 1.0
    return math.exp(state.noise * draw_normal(state.rng) - 0.5 * state.noise**2)


@implements(expected_outcomes, LinearState)
def _expected(state: LinearState, out: Floats) -> None:
    if state.is_contextual:
        for a in range(out.size):
            out[a] = _mean(state, a)
    else:
        copy_into(out, state.means)


@dataclass(frozen=True)
class Linear:
    """Users x ~ N(0, I). Outcomes of action a: normal around levels_a + slopes_a'x; or 0/1, with that log-odds; or
    revenue, which is 0 where that is 0 and log-normal with mean 1 where it is 1.

    The log's users are as those to come. Its policy is a softmax of offsets_a + pulls_a'x, mixed with a share
    `floor` of even play; an action with an offset of minus infinity is absent from it. The chances of all actions are
    logged.

    Parameters
    ----------
    levels, slopes
        (K,) and (K, d).
    noise
        The standard deviation around the line, or of the logarithm of an amount; of no meaning for 0/1 outcomes.
    outcome
        "normal", "binary" or "revenue".
    offsets, pulls
        (K,) and (K, d) of the log's policy; zero by default: a randomised trial.
    """

    levels: ArrayLike
    slopes: ArrayLike
    noise: float = 1.0
    outcome: Literal["normal", "binary", "revenue"] = "normal"
    n_log: int = 300
    offsets: ArrayLike = 0.0
    pulls: ArrayLike = 0.0
    floor: float = 0.05
    is_contextual: bool = False

    def __post_init__(self) -> None:
        slopes = np.asarray(self.slopes, dtype=np.float64)
        if slopes.ndim != 2 or np.shape(self.levels) != slopes.shape[:1] or len(slopes) < 2:
            raise OptionError("levels must be of at least two actions, and slopes one row per action")
        if self.outcome not in ("normal", "binary", "revenue"):
            raise OptionError(f"outcome must be normal, binary or revenue, got {self.outcome!r}")
        check_number("noise", self.noise, low=0.0)
        check_whole("n_log", self.n_log)
        check_number("floor", self.floor, 0.0, 1.0)
        if not (np.asarray(self.offsets, dtype=np.float64) > -np.inf).any():
            raise OptionError("offsets must leave at least one action in the log")

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A log of `n_log` rows and a stream of users."""
        levels, slopes = np.array(self.levels, dtype=np.float64), np.array(self.slopes, dtype=np.float64)
        d, is_chance = slopes.shape[1], self.outcome != "normal"
        state = LinearState(
            freeze(levels),
            freeze(slopes),
            float(self.noise),
            is_chance,
            self.outcome == "revenue",
            freeze(_average(levels, slopes) if is_chance else levels.copy()),
            self.is_contextual,
            np.zeros(d),
            as_words(rng),
        )
        population = TruePopulation(state._replace(user=np.zeros(d), rng=as_words(rng)), d)
        return DrawnWorld(self._draw_log(rng, levels, slopes), d, state, population)

    def _draw_log(self, rng: np.random.Generator, levels: Floats, slopes: Floats) -> Log:
        n, (k, d) = self.n_log, slopes.shape
        contexts = rng.standard_normal((n, d))
        policy = self._policy(contexts, k)
        actions = (rng.random((n, 1)) >= np.cumsum(policy, axis=1)[:, :-1]).sum(axis=1)
        scores = levels[actions] + (contexts * slopes[actions]).sum(axis=1)
        if self.outcome == "normal":
            outcomes = scores + self.noise * rng.standard_normal(n)
        else:
            outcomes = (rng.random(n) < _chance(scores)).astype(np.float64)
        if self.outcome == "revenue":
            outcomes *= np.exp(self.noise * rng.standard_normal(n) - 0.5 * self.noise**2)
        return Log(actions, outcomes, contexts, policy, n_actions=k)

    def _policy(self, contexts: Floats, k: int) -> Floats:
        """The chance of each action for each row, (n, K)."""
        offsets = np.broadcast_to(np.asarray(self.offsets, dtype=np.float64), (k,))
        pulls = np.broadcast_to(np.asarray(self.pulls, dtype=np.float64), (k, contexts.shape[1]))
        scores = offsets + contexts @ pulls.T
        policy = np.exp(scores - scores.max(axis=1, keepdims=True))
        is_shown = offsets > -np.inf
        even = is_shown / is_shown.sum()
        return (1.0 - self.floor) * policy / policy.sum(axis=1, keepdims=True) + self.floor * even


def _chance(scores: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-scores))


def _average(levels: Floats, slopes: Floats) -> Floats:
    """E[1 / (1 + exp(-levels_a - slopes_a'x))], (K,): slopes_a'x is normal, so one quadrature a row does it."""
    lengths = np.linalg.norm(slopes, axis=1)
    return _chance(levels[:, None] + lengths[:, None] * _NODES) @ (_WEIGHTS / _WEIGHTS.sum())
