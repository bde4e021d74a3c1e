"""The conflict test's false alarms and power, over kinds of outcomes and sizes of logs.

.venv/bin/python benchmarks/conflict.py --runs 10000      # twenty minutes
.venv/bin/python benchmarks/conflict.py --runs 500        # one
.venv/bin/python benchmarks/conflict.py --contextual      # LinConflictWatch, users chosen by LinUCB: three
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from headstart.warmstart.conflict import measure_alarms, measure_linear_alarms

# By name: how to draw n outcomes, and their standard deviation.
OUTCOMES: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
    "normal": (lambda rng, n: rng.standard_normal(n), 1.0),
    "success 0.5": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5),
    "success 0.1": (lambda rng, n: (rng.random(n) < 0.1).astype(float), 0.3),
    "success 0.02": (lambda rng, n: (rng.random(n) < 0.02).astype(float), 0.14),
    "success 0.001": (lambda rng, n: (rng.random(n) < 0.001).astype(float), math.sqrt(0.001)),
    "1 in 20 pays": (
        lambda rng, n: np.where(rng.random(n) < 0.05, rng.lognormal(0.0, 1.0, n), 0.0),
        math.sqrt(0.05 * math.e**2 - 0.0025 * math.e),
    ),
    "exponential": (lambda rng, n: rng.exponential(1.0, n), 1.0),
    "lognormal": (lambda rng, n: rng.lognormal(0.0, 1.0, n), math.sqrt((math.e - 1.0) * math.e)),
    "t, 3 degrees": (lambda rng, n: rng.standard_t(3, n), math.sqrt(3.0)),
}


def linear(
    n_columns: int = 3, slope: float = 1.0, bend: float = 0.0, noise: str = "normal"
) -> Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]:
    """Three actions, contexts uniform on [-1, 1]; noise of standard deviation 1, or successes of chance 0.3 + ..."""
    slopes = slope * np.random.default_rng(0).uniform(-1.0, 1.0, (n_columns, 3)) / math.sqrt(n_columns / 3)

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.uniform(-1.0, 1.0, (n, n_columns))
        means = x @ slopes + bend * (x[:, :3] ** 2 - 1.0 / 3.0)
        if noise == "success":
            outcomes = (rng.random((n, 3)) < 0.3 + 0.1 * means).astype(float)
        elif noise == "rare success":
            outcomes = (rng.random((n, 3)) < 0.04 * np.exp(means)).astype(float)
        elif noise == "exponential":
            outcomes = means + rng.exponential(1.0, (n, 3)) - 1.0
        else:
            outcomes = means + rng.standard_normal((n, 3))
        return np.column_stack([np.ones(n), x]), outcomes

    return draw


CONTEXTUAL = {
    "normal": linear(),
    "normal, 20 columns": linear(20),
    "equal actions": linear(slope=0.0),
    "equal, 20 columns": linear(20, slope=0.0),
    "exponential": linear(noise="exponential"),
    "success 0.3 + x/10": linear(noise="success"),
    "success 0.04 exp x": linear(noise="rare success"),
    "bent, 0.15 sd": linear(bend=0.5),
    "bent, 0.3 sd": linear(bend=1.0),
    "bent, 0.6 sd": linear(bend=2.0),
    "bent, 1.2 sd": linear(bend=4.0),
}


def show_contextual(runs: int, users: int, seed: int) -> None:
    """Rates of false alarms and power of LinConflictWatch."""
    print(f"False alarms in % (level 5 +- {100 * math.sqrt(0.05 * 0.95 / runs):.2f}), three actions, {users} users")
    sizes = (150, 500, 1500)
    print(f"{'':18}", *(f"{n} rows" for n in sizes), sep="\t")
    for name, draw in CONTEXTUAL.items():
        rates = [measure_linear_alarms(draw, n, users, runs, seed=seed).rate for n in sizes]
        print(f"{name:18}", *(f"{100 * rate:.2f}" for rate in rates), sep="\t", flush=True)
    print("\nUsers of an action to find a bias of its log, median (share of runs that found it), by rows: bias in sd")
    kinds = [(n, bias) for n in sizes[1:] for bias in (0.3, 0.6, 0.9)]
    print(f"{'':18}", *(f"{n}: {bias}" for n, bias in kinds), sep="\t")
    for name in ("normal", "normal, 20 columns", "exponential"):
        found = [
            measure_linear_alarms(CONTEXTUAL[name], n, users, min(runs, 500), bias=bias, seed=seed)
            for n, bias in kinds
        ]
        print(f"{name:18}", *(f"{each.median:.0f} ({each.rate:.2f})" for each in found), sep="\t", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=OUTCOMES, action="append", help="of outcomes; all by default")
    parser.add_argument("--contextual", action="store_true", help="the test for policies that decide by context")
    given = parser.parse_args()
    if given.contextual:
        show_contextual(given.runs, given.users, given.seed)
        return
    error = 100 * math.sqrt(0.05 * 0.95 / given.runs)
    print(f"False alarms in % (level 5 +- {error:.2f}), one look a user, {given.users} users, by rows of the log")
    kinds = [(n_log, is_weighted) for n_log in (10, 100, 1000, 5000) for is_weighted in (False, True)]
    print(f"{'':14}", *(f"{n}{' w' if w else '':<3}" for n, w in kinds), sep="\t")
    kinds_asked = {name: OUTCOMES[name] for name in given.kind or OUTCOMES}
    for name, (draw, _) in kinds_asked.items():
        rates = [
            measure_alarms(draw, n, given.users, given.runs, is_weighted=w, seed=given.seed).rate for n, w in kinds
        ]
        print(f"{name:14}", *(f"{100 * rate:.2f}" for rate in rates), sep="\t", flush=True)
    print("\nUsers to find a bias of the log, median (share of runs that found it), by bias in standard deviations")
    sizes = [(n_log, bias) for n_log in (50, 500) for bias in (0.3, 0.6, 0.9)]
    print(f"{'':14}", *(f"{n}: {bias}" for n, bias in sizes), sep="\t")
    runs = min(given.runs, 1000)
    for name, (draw, deviation) in kinds_asked.items():
        found = [
            measure_alarms(draw, n, given.users, runs, bias=bias * deviation, seed=given.seed) for n, bias in sizes
        ]
        print(f"{name:14}", *(f"{each.median:.0f} ({each.rate:.2f})" for each in found), sep="\t", flush=True)


if __name__ == "__main__":
    main()
