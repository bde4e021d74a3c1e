"""Deciding on some columns and adjusting for others: is what the log leaves open of each level as wide as it is said?

`python -m benchmarks.subset` prints the standard deviation of (posterior mean - truth) / posterior deviation of the
level and of the slope of the column decided on, by strength of the logging policy: 1 is calibrated. The numbers of
the code were chosen on `--family choosing`.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import headstart as hs
from headstart.arrays import Floats
from headstart.priors.linear import LOGGED, LinearPrior

POLICIES = {"even": 0.0, "mild": 0.6, "strong": 1.5, "very strong": 2.5}
FAMILIES = {"choosing": (21, 4), "reported": (22, 7)}  # the seeds' stream, and columns


def draw(rng: np.random.Generator, n: int, k: int, d: int, strength: float, *, has_propensities: bool) -> tuple:
    """A log whose policy and outcomes go by all columns, of which the first is decided on; levels and slopes."""
    x = rng.standard_normal((n, d))
    slopes = rng.standard_normal((d, k)) * 0.5 + rng.standard_normal((d, 1)) * 0.5
    pulls = strength * (0.5 * slopes + rng.standard_normal((d, k)) / np.sqrt(d))
    raw = np.exp(x @ pulls - (x @ pulls).max(axis=1, keepdims=True))
    chances = raw / raw.sum(axis=1, keepdims=True)
    actions = np.minimum((chances.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1), k - 1)
    levels = 0.3 * np.arange(k)
    outcomes = levels[actions] + (x @ slopes)[np.arange(n), actions] + rng.standard_normal(n)
    given = chances if has_propensities else None
    return hs.Log(actions, outcomes, x, given, n_actions=k), levels, slopes[0]


def standardised_errors(log: hs.Log, levels: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Of every action's level and slope, (K,) each."""
    policy = hs.start(log, decide_on=[0], trust=1.0, cap=np.inf, rng=0)
    prior = policy.prior
    assert isinstance(prior, LinearPrior)
    centre, spread = log.contexts[:, 0].mean(), log.contexts[:, 0].std()
    truths = levels + slopes * centre, slopes * spread
    errors = []
    for j, truth in enumerate(truths):
        deviations = np.sqrt(prior.variance * prior.inverses[:, LOGGED, j, j])
        errors.append((prior.centres[:, LOGGED, j] - truth) / deviations)
    return errors[0], errors[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first log, a seed")
    parser.add_argument("--policies", nargs="*", choices=sorted(POLICIES), default=list(POLICIES))
    parser.add_argument("--family", choices=sorted(FAMILIES), default="reported")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    stream, d = FAMILIES[given.family]
    print(f"deviation of standardised errors, {given.logs} logs of {given.rows:,} rows, {d} columns, 1 decided on")
    for name in given.policies:
        strength = POLICIES[name]
        for k in (2, 5):
            for has_propensities in (True, False):
                found = []
                for i in range(given.first, given.first + given.logs):
                    rng = np.random.default_rng([stream, given.rows, k, i])
                    found.append(
                        standardised_errors(*draw(rng, given.rows, k, d, strength, has_propensities=has_propensities))
                    )
                level, slope = np.array(found).transpose(1, 0, 2)  # (logs, K) each
                told = "logged" if has_propensities else "estimated"
                words = f"{name:12} K = {k}  {told:9} propensities"
                print(f"{words}  level {describe(level)}  slope {describe(slope)}", flush=True)


def describe(errors: Floats) -> str:
    """The deviation of standardised errors, (logs, K), and its standard error: a log's actions go together."""
    squares = ((errors - errors.mean()) ** 2).mean(axis=1)
    return f"{errors.std():.2f} ± {squares.std(ddof=1) / np.sqrt(len(errors)) / (2.0 * errors.std()):.2f}"


if __name__ == "__main__":
    main()
