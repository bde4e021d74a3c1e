"""The conflict test's false alarms and power, over kinds of outcomes and sizes of logs.

    .venv/bin/python benchmarks/conflict.py --runs 10000      # twenty minutes
    .venv/bin/python benchmarks/conflict.py --runs 500        # one
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from headstart.conflict import measure_alarms

# By name: how to draw n outcomes, and their standard deviation.
OUTCOMES: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
    "normal": (lambda rng, n: rng.standard_normal(n), 1.0),
    "success 0.5": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5),
    "success 0.1": (lambda rng, n: (rng.random(n) < 0.1).astype(float), 0.3),
    "success 0.02": (lambda rng, n: (rng.random(n) < 0.02).astype(float), 0.14),
    "exponential": (lambda rng, n: rng.exponential(1.0, n), 1.0),
    "lognormal": (lambda rng, n: rng.lognormal(0.0, 1.0, n), math.sqrt((math.e - 1.0) * math.e)),
    "t, 3 degrees": (lambda rng, n: rng.standard_t(3, n), math.sqrt(3.0)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    error = 100 * math.sqrt(0.05 * 0.95 / given.runs)
    print(f"False alarms in % (level 5 +- {error:.2f}), one look a user, {given.users} users, by rows of the log")
    kinds = [(n_log, is_weighted) for n_log in (10, 100, 1000, 5000) for is_weighted in (False, True)]
    print(f"{'':14}", *(f"{n}{' w' if w else '':<3}" for n, w in kinds), sep="\t")
    for name, (draw, _) in OUTCOMES.items():
        rates = [
            measure_alarms(draw, n, given.users, given.runs, is_weighted=w, seed=given.seed).rate for n, w in kinds
        ]
        print(f"{name:14}", *(f"{100 * rate:.2f}" for rate in rates), sep="\t", flush=True)
    print("\nUsers to find a bias of the log, median (share of runs that found it), by bias in standard deviations")
    sizes = [(n_log, bias) for n_log in (50, 500) for bias in (0.3, 0.6, 0.9)]
    print(f"{'':14}", *(f"{n}: {bias}" for n, bias in sizes), sep="\t")
    runs = min(given.runs, 1000)
    for name, (draw, deviation) in OUTCOMES.items():
        found = [
            measure_alarms(draw, n, given.users, runs, bias=bias * deviation, seed=given.seed) for n, bias in sizes
        ]
        print(f"{name:14}", *(f"{each.median:.0f} ({each.rate:.2f})" for each in found), sep="\t", flush=True)


if __name__ == "__main__":
    main()
