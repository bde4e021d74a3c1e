"""A league on random worlds that nothing was tuned on: regret of `start` and others relative to a cold Thompson
sampler, Beta for 0/1 outcomes and normal for others.

Each world is drawn: 2 to 10 actions, gaps, a linear or bent outcome of 1 to 8 contexts, noise (normal, skewed,
binary), a logging policy that looks at what moves the outcome, 50 to 2,000 rows, propensities given or withheld,
1,000 users. In the biased families the log's outcomes of one action are moved by half to two standard deviations: a
worse action's up, or the best one's down. `python -m benchmarks.league --worlds 200`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import headstart as hs
from benchmarks.ratios import print_league
from benchmarks.systems import COLD, make_cold, with_chances
from headstart.arrays import Floats
from headstart.estimates.summary import Summary
from headstart.experiments.relatives import AnchorTS, Commensurate, OtO
from headstart.judgement.start.start import start
from headstart.logs.log import Log
from headstart.oracles.min_ucb import MinUCB
from headstart.oracles.thompson_normal import ThompsonNormal
from headstart.simulation.simulate import simulate
from headstart.worlds import PotentialOutcomes

USERS, N_TABLE = 1000, 20_000


def draw_world(rng: np.random.Generator, family: str) -> Any:
    """A table of potential outcomes with its own logging policy; `family` says what is done to its log."""
    k, d = int(rng.integers(2, 11)), int(rng.integers(1, 9))
    n_log = int(np.exp(rng.uniform(np.log(50), np.log(2000))))
    n = N_TABLE + n_log
    contexts = rng.standard_normal((n, d)) if rng.random() < 0.5 else rng.uniform(-1.7, 1.7, (n, d))
    common, own = rng.standard_normal(d), rng.standard_normal((k, d)) * rng.uniform(0, 1)
    slopes = (common + own) / np.sqrt(d) * rng.uniform(0, 1.5)
    signal = contexts @ slopes.T
    if rng.random() < 0.5:
        signal = signal + 0.3 * (signal**2 - (signal**2).mean(axis=0))
    levels = rng.standard_normal(k) * rng.uniform(0.1, 0.5)
    kind = ("normal", "skewed", "binary")[int(rng.integers(3))]
    if kind == "binary":
        chances = 1.0 / (1.0 + np.exp(-(signal + 3.0 * levels + rng.uniform(-2, 1))))
        outcomes = (rng.random((n, k)) < chances).astype(float)
    else:
        noise = rng.standard_normal((n, k)) if kind == "normal" else rng.exponential(1, (n, k)) - 1
        outcomes = signal + levels + noise
    pull = contexts @ (rng.standard_normal((k, d)) + slopes * np.sqrt(d)).T / np.sqrt(d)
    scores = pull * rng.uniform(0.0, 1.5)
    policy = np.exp(scores - scores.max(axis=1, keepdims=True))
    policy /= policy.sum(axis=1, keepdims=True)
    policy = 0.95 * policy + 0.05 / k
    means = outcomes[n_log:].mean(axis=0)
    best = int(np.argmax(means))
    if family == "inflated":
        worse = [a for a in range(k) if a != best]
        move = (int(rng.choice(worse)), float(rng.uniform(0.5, 2.0) * outcomes.std()))
    elif family == "deflated":
        move = (best, -float(rng.uniform(0.5, 2.0) * outcomes.std()))
    else:
        move = (0, 0.0)
    past = Past(outcomes[:n_log], contexts[:n_log], policy[:n_log])
    world = PotentialOutcomes(outcomes[n_log:], contexts[n_log:], policy[n_log:])
    return _Told(world, past, move, is_withheld=family == "withheld")


class Past(NamedTuple):
    """The log's users, none of them twice: a row that is drawn twice would look like a copy to the audit."""

    outcomes: Floats  # (n, K)
    contexts: Floats
    policy: Floats  # (n, K)


class _Told:
    """A world with a log of its past, which lies about one action, or lacks its propensities."""

    def __init__(self, world: PotentialOutcomes, past: Past, move: tuple[int, float], *, is_withheld: bool) -> None:
        self._world, self._past, self._move, self._is_withheld = world, past, move, is_withheld

    def draw(self, rng: np.random.Generator) -> Any:
        drawn, past, (action, by) = self._world.draw(rng), self._past, self._move
        n, k = past.outcomes.shape
        actions = (rng.random((n, 1)) >= np.cumsum(past.policy, axis=1)[:, :-1]).sum(axis=1)
        outcomes = past.outcomes[np.arange(n), actions] + np.where(actions == action, by, 0.0)
        drawn.log = Log(actions, outcomes, past.contexts, None if self._is_withheld else past.policy, n_actions=k)
        return drawn


def _pooled(log: Log, rng: Any) -> Any:
    """Doubly robust virtual plays for a Thompson sampler of unknown variance: full trust."""
    oracle = ThompsonNormal(log.n_actions, rng=rng)
    return hs.WarmStart(oracle, hs.DoublyRobust(with_chances(log)), schedule="batch", rng=rng)


def _summary(log: Log) -> Summary:
    return hs.DoublyRobust(with_chances(log)).summary()


SYSTEMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    COLD: make_cold,
    "start": lambda world, log, rng: start(log, horizon=USERS, rng=rng),
    "start, full trust": lambda world, log, rng: start(log, horizon=USERS, trust=1.0, rng=rng),
    "cold UCB": lambda world, log, rng: hs.UCB(world.n_actions),
    "IPSW + UCB": lambda world, log, rng: hs.WarmStart(
        hs.UCB(world.n_actions), hs.IPSWeighting(with_chances(log)), rng=rng
    ),
    "IPSW + Thompson": lambda world, log, rng: hs.WarmStart(
        hs.ThompsonGaussian(world.n_actions, scale=0.5, rng=rng), hs.IPSWeighting(with_chances(log)), rng=rng
    ),
    "DR + ThompsonNormal": lambda world, log, rng: _pooled(log, rng),
    "DR + MinUCB": lambda world, log, rng: MinUCB(world.n_actions, _summary(log)),
    "DR + Anchor-TS": lambda world, log, rng: AnchorTS(_summary(log), rng=rng),
    "DR + commensurate": lambda world, log, rng: Commensurate(_summary(log), rng=rng),
    "DR + OtO": lambda world, log, rng: OtO(_summary(log)),
}
FAMILIES = ("given", "withheld", "inflated", "deflated")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=100, help="worlds of each family")
    parser.add_argument("--seed", type=int, default=2026)
    options = parser.parse_args()
    found: dict[str, dict[str, Floats]] = {}
    for family in FAMILIES:
        regrets: dict[str, list[float]] = {name: [] for name in SYSTEMS}
        for i in range(options.worlds):
            world = draw_world(np.random.default_rng([options.seed, FAMILIES.index(family), i]), family)
            for name, curve in simulate(world, SYSTEMS, rounds=USERS, runs=2, seed=i).items():
                regrets[name].append(curve.regrets[:, -1].mean())
        found[family] = {name: np.array(values) for name, values in regrets.items()}
        print(f"{family}: {COLD} has a regret of {found[family][COLD].mean():.1f}", file=sys.stderr, flush=True)
    title = f"Regret over that of a cold Thompson sampler, {options.worlds} worlds a family, seed {options.seed}"
    print_league(title, found, COLD)


if __name__ == "__main__":
    main()
