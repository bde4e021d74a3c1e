"""Logs for the coverage of doubly robust means: outcomes and policies that are lines of the contexts, or bend.

Every kind is drawn by a `Family`. What was chosen about nuisances and intervals was chosen on `CHOOSING`; the grid
that METHODS.md reports is of `REPORTED`: other columns, other curves, another strength of the policy, other seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

import headstart as hs
from headstart.arrays import Floats

Rng = np.random.Generator
_USERS = 2_000_000  # that a true mean is averaged over: 1 / 1,400 of an outcome's deviation


def _normal(rng: Rng, n: int) -> Floats:
    return rng.standard_normal((n, 4))


def _uniform(rng: Rng, n: int) -> Floats:
    x = rng.uniform(-1.0, 1.0, (n, 6)) * np.sqrt(3.0)
    x[:, 5] = x[:, 5] > 0.4  # a flag
    return x


def _waves(x: Floats) -> Floats:
    """A wave, a bowl and a product, mean 0 and spread 1 or so, (n, 3)."""
    return np.column_stack([np.sin(2.0 * x[:, 0]), 0.7 * (x[:, 1] ** 2 - 1.0), np.tanh(1.5 * x[:, 0] * x[:, 2])])


def _steps(x: Floats) -> Floats:
    """A checkerboard of two columns, a kink and a step that a flag turns, (n, 3)."""
    board = np.where((x[:, 0] > 0.2) == (x[:, 1] > -0.3), 1.0, -1.0)
    kink = np.abs(x[:, 2]) - np.sqrt(3.0) / 2.0
    step = np.where(x[:, 3] > 0.5, 1.0, -0.5) * (2.0 * x[:, 5] - 1.0)
    return np.column_stack([board, 1.4 * kink, step])


@dataclass(frozen=True)
class Family:
    """What the logs of one family share."""

    name: str
    stream: int  # of its seeds
    draw_users: Callable[[Rng, int], Floats]
    bend: Callable[[Floats], Floats]
    strength: float  # of the contexts in the policy
    floor: float = 0.1  # of the policy's chances, times 1 / K


CHOOSING = Family("choosing", 11, _normal, _waves, strength=1.0)
REPORTED = Family("reported", 12, _uniform, _steps, strength=1.2)
FAMILIES = {family.name: family for family in (CHOOSING, REPORTED)}


@dataclass(frozen=True)
class Kind:
    """An outcome: how it is drawn from a score around 0 of spread 1 or so, and its mean given that."""

    is_bent: bool  # the outcome and the policy go by curves of the contexts, else by lines
    mean: Callable[[Floats], Floats]
    draw: Callable[[Rng, Floats], Floats]  # from means


def _revenue(rng: Rng, mean: Floats) -> Floats:
    """Four in five buy nothing; the others' baskets are log-normal: skewness 9."""
    return np.where(rng.random(mean.size) < 0.2, 5.0 * mean * rng.lognormal(-0.5, 1.0, mean.size), 0.0)


def _plus_noise(rng: Rng, mean: Floats) -> Floats:
    return mean + rng.standard_normal(mean.size)


def _flag(rng: Rng, mean: Floats) -> Floats:
    return (rng.random(mean.size) < mean).astype(np.float64)


def _rate(level: float, slope: float) -> Callable[[Floats], Floats]:
    return lambda score: level * np.exp(slope * np.clip(score, -4.0, 4.0) - slope * slope / 2.0)


KINDS: dict[str, Kind] = {
    "linear": Kind(False, lambda score: score, _plus_noise),
    "bent": Kind(True, lambda score: score, _plus_noise),
    "Poisson": Kind(False, _rate(1.0, 0.4), lambda rng, mean: rng.poisson(mean).astype(np.float64)),
    "1 % success": Kind(False, _rate(0.01, 0.5), _flag),
    "revenue": Kind(False, _rate(1.0, 0.4), _revenue),
}


def _scores(x: Floats, family: Family, k: int, *, is_bent: bool) -> tuple[Floats, Floats]:
    """The outcome's and the policy's scores of each action, (n, K) each: they share what confounds."""
    fixed = np.random.default_rng([family.stream, k, int(is_bent)])
    seen = family.bend(x) if is_bent else x
    lines = fixed.standard_normal((seen.shape[1], k)) * 0.5 + fixed.standard_normal((seen.shape[1], 1)) * 0.7
    lines /= np.sqrt((lines**2).sum(axis=0))
    pulls = 0.6 * lines + 0.6 * fixed.standard_normal((seen.shape[1], k)) / np.sqrt(seen.shape[1])
    levels = np.linspace(0.0, 0.4, k)
    return seen @ lines + levels, family.strength * (seen @ (pulls * np.linspace(-1.0, 1.5, k)))


def draw_log(rng: Rng, kind: str, family: Family, k: int, n: int) -> hs.Log:
    """A log with its true propensities, of every action."""
    x = family.draw_users(rng, n)
    scores, pulls = _scores(x, family, k, is_bent=KINDS[kind].is_bent)
    raw = np.exp(pulls - pulls.max(axis=1, keepdims=True))
    chances = (1.0 - family.floor) * raw / raw.sum(axis=1, keepdims=True) + family.floor / k
    actions = np.minimum((chances.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1), k - 1)
    means = KINDS[kind].mean(scores[np.arange(n), actions])
    return hs.Log(actions, KINDS[kind].draw(rng, means), x, chances, n_actions=k)


@cache
def true_means(kind: str, family: Family, k: int, n_users: int = _USERS) -> Floats:
    """Of each action over all users, (K,), of which so many are drawn."""
    rng, total, n = np.random.default_rng([family.stream, 0]), np.zeros(k), 100_000
    for _ in range(n_users // n):
        scores, _pulls = _scores(family.draw_users(rng, n), family, k, is_bent=KINDS[kind].is_bent)
        total += KINDS[kind].mean(scores).mean(axis=0)
    return total / (n_users // n)
