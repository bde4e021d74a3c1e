"""How often guardrails trip without cause, and after how many users they find a harm: a look every 20 outcomes.

A null run has two actions of one mean and a policy that learns (Thompson sampling, the service's floor): nothing is
worse than the hold-out, a tenth of the users, nor than a bound at that very mean. With harm the policy's users are
worse by a tenth of the mean. As the service judges it (`telling/guarding.py`), level 0.05.

python -m benchmarks.guardrails                    # 1,000 runs of each cell: some minutes
python -m benchmarks.guardrails --runs 100 --kind 30%
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from benchmarks.sequences import LOOK, Cell, add_up, draw_outcomes, live_among, make_policy, rows_of
from headstart.arrays import Bools, Floats
from headstart.estimates.sequences import MomentSums, differences, sequences

LEVEL, HOLDOUT, HARM, N_NULL = 0.05, 0.1, 0.1, 20_000
LEVELS = {"5%": 0.05, "30%": 0.3, "revenue": 1.0}
N_HARMED = {"bound": {"5%": 160_000, "30%": 20_000, "revenue": 160_000}, "holdout": {"5%": 1_600_000, "30%": 200_000}}
HEAD = (
    "| outcome | against | ever a false alarm, of {runs:,} runs | harm found, of {few} | median users until then |\n"
    "|---|---|---|---|---|"
)


class Groups(NamedTuple):
    """Sums of the policy's users and of the hold-out's at every look, (looks, 2)."""

    sums: MomentSums
    n_users: Floats  # (looks,)


def live_null(kind: str, seed: int, n_users: int) -> Groups:
    """One run in which no action is worse than another."""
    rng, cell = np.random.default_rng([seed, list(LEVELS).index(kind)]), Cell(kind, "thompson", 2)
    means = np.full(2, LEVELS[kind])
    could = draw_outcomes(cell, means, n_users, rng)
    is_holdout = rng.random(n_users) < HOLDOUT
    life = live_among(make_policy(cell, means, seed, rng), means, could, rng.random(n_users), is_holdout)
    return groups_of(life.outcomes, is_holdout, LOOK)


def live_harmed(kind: str, seed: int, n_users: int, look: int) -> Groups:
    """One run in which the policy's users have an outcome a tenth higher than the hold-out's: which policy is all the
    same, so none is asked.
    """
    rng, cell = np.random.default_rng([seed, 77, list(LEVELS).index(kind)]), Cell(kind, "thompson", 2)
    is_holdout = rng.random(n_users) < HOLDOUT
    could = draw_outcomes(cell, LEVELS[kind] * np.array([1.0 + HARM, 1.0]), n_users, rng)
    return groups_of(np.where(is_holdout, could[:, 1], could[:, 0]), is_holdout, look)


def groups_of(outcomes: Floats, is_holdout: Bools, look: int) -> Groups:
    """Running sums."""
    rows = rows_of(np.ones(outcomes.size), outcomes)
    sums = MomentSums(*add_up(is_holdout.astype(np.int64), rows, 2, look))
    return Groups(sums, np.minimum(look * np.arange(1.0, sums.w.shape[0] + 1.0), outcomes.size))


def is_worse(groups: Groups, kind: str, against: str) -> Bools:
    """Whether the guardrail trips at each look, (looks,): worse is higher."""
    is_binary = kind != "revenue"
    if against == "holdout":
        sums = groups.sums.as_groups()
        leaders = np.zeros(sums.w.shape[0], np.int64)
        return np.asarray(differences(sums, leaders, 2.0 * LEVEL, is_binary=is_binary).low[:, 1] > 0.0)
    own = MomentSums(*(each[:, :1] for each in groups.sums))
    return np.asarray(sequences(own, 2.0 * LEVEL, is_binary=is_binary).low[:, 0] > LEVELS[kind])


def count_false(kind: str, runs: int, n_users: int = N_NULL) -> dict[str, int]:
    """Null runs that ever trip, by what they are held against."""
    found = {"bound": 0, "holdout": 0}
    for run in range(runs):
        groups = live_null(kind, run, n_users)
        for against in found:
            found[against] += bool(is_worse(groups, kind, against).any())
    return found


def find_harm(kind: str, against: str, runs: int) -> Floats:
    """Users until the harm is found, (runs,); infinite where it is not."""
    n_users = N_HARMED[against][kind]
    look = max(LOOK, n_users // 8000)
    found = np.full(runs, np.inf)
    for run in range(runs):
        groups = live_harmed(kind, run, n_users, look)
        trips = is_worse(groups, kind, against)
        if trips.any():
            found[run] = groups.n_users[trips.argmax()]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--harmed", type=int, default=100)
    parser.add_argument("--kind", choices=[*LEVELS])
    told = parser.parse_args()
    print(HEAD.format(runs=told.runs, few=told.harmed))
    for kind in [told.kind] if told.kind else LEVELS:
        false = count_false(kind, told.runs)
        for against, n in false.items():
            line = f"| {kind} | {against} | {n / told.runs:.1%} |"
            if kind in N_HARMED[against]:
                users = find_harm(kind, against, told.harmed)
                line += f" {np.isfinite(users).mean():.0%} | {np.median(users):,.0f} |"
            print(line if kind in N_HARMED[against] else f"{line} - | - |", flush=True)


if __name__ == "__main__":
    main()
