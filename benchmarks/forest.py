"""The forest beside econml's and R's grf: python -m benchmarks.forest [--without-econml]

Times are measured in this very run and printed as ratios, since machines differ. grf cannot be installed
from the registries: its errors are those that it had on the same data (500 trees, its defaults).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.errors import MissingExtraError
from headstart.forest import ForestOptions, HonestForest

Floats = NDArray[np.float64]

# Mean squared errors of grf 2.6.1, one per seed 0, 1, ...
GRF = {
    ("friedman", 2_000): (3.67, 3.46, 3.53, 3.36, 3.86),
    ("friedman", 20_000): (1.343, 1.335),
    ("steps", 2_000): (0.0094, 0.0087, 0.0104, 0.0051, 0.0175),
    ("steps", 20_000): (0.0017, 0.0013),
}
N_TREES = 500


def truth(data: str, x: Floats) -> Floats:
    """The noiseless outcome."""
    if data == "friedman":
        return (10.0 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20.0 * (x[:, 2] - 0.5) ** 2 + 10.0 * x[:, 3]
                + 5.0 * x[:, 4])  # fmt: skip
    return 2.0 * (x[:, 0] > 0.5) + 1.0 * ((x[:, 1] > 0.3) & (x[:, 2] > 0.6))


def draw_data(data: str, n: int, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Contexts, outcomes, test contexts and their truth, as grf saw them."""
    rng = np.random.default_rng([seed, n])
    x, noise, test = rng.random((n, 10)), rng.standard_normal(n), rng.random((5_000, 10))
    return x, truth(data, x) + (1.0 if data == "friedman" else 0.5) * noise, test, truth(data, test)


def seconds(task: Callable[[], Any]) -> tuple[float, Any]:
    """How long the task took, and what it returned."""
    start = time.perf_counter()
    result = task()
    return time.perf_counter() - start, result


def fit_ours(x: Floats, y: Floats, seed: int, n_threads: int) -> HonestForest:
    """Our forest with one action."""
    forest = HonestForest(ForestOptions(n_trees=N_TREES), seed=seed, n_threads=n_threads)
    return forest.fit(x, np.zeros(len(y), dtype=np.int64), y, 1)


def econml_forest(n_threads: int) -> Any:
    """econml's honest regression forest with the same settings."""
    try:
        from econml.grf import RegressionForest
    except ImportError as missing:
        raise MissingExtraError("econml", "benchmark") from missing
    return RegressionForest(
        n_estimators=N_TREES, max_samples=0.5, honest=True, min_samples_leaf=5, min_balancedness_tol=0.45,
        inference=True, n_jobs=n_threads, random_state=0,
    )  # fmt: skip


def print_accuracy() -> None:
    """Mean squared error over the seeds, and its ratio to grf's."""
    print(f"{'data':10}{'n':>8}{'ours':>10}{'grf':>10}{'ours/grf':>10}")
    for (data, n), theirs in GRF.items():
        errors = []
        for seed in range(len(theirs)):
            x, y, test, expected = draw_data(data, n, seed)
            errors.append(np.mean((fit_ours(x, y, seed, 1).predict(test)[:, 0] - expected) ** 2))
        ours, grf = float(np.mean(errors)), float(np.mean(theirs))
        print(f"{data:10}{n:8,}{ours:10.5f}{grf:10.5f}{ours / grf:10.2f}", flush=True)


def print_times(with_econml: bool) -> None:
    """Seconds to fit 20,000 rows and to predict 5,000, and econml's over ours."""
    x, y, test, expected = draw_data("friedman", 20_000, 0)
    fit_ours(x[:500], y[:500], 0, 1).predict(test)  # compile outside the clock
    print(f"\n{'friedman, n = 20,000':28}{'fit s':>8}{'predict s':>11}{'error':>8}")
    for n_threads in (1, 2):
        fit_time, forest = seconds(lambda n=n_threads: fit_ours(x, y, 0, n))  # type: ignore[misc]
        predict_time, found = seconds(lambda f=forest: f.predict(test)[:, 0])  # type: ignore[misc]
        error = np.mean((found - expected) ** 2)
        print(f"{f'headstart, {n_threads} thread(s)':28}{fit_time:8.2f}{predict_time:11.3f}{error:8.3f}", flush=True)
        if with_econml:
            peer = econml_forest(n_threads)
            peer_fit, _ = seconds(lambda p=peer: p.fit(x, y.reshape(-1, 1)))  # type: ignore[misc]
            peer_predict, found = seconds(lambda p=peer: p.predict(test)[:, 0])  # type: ignore[misc]
            error = np.mean((found - expected) ** 2)
            print(f"{f'econml, {n_threads} thread(s)':28}{peer_fit:8.2f}{peer_predict:11.3f}{error:8.3f}")
            ratios = f"{peer_fit / fit_time:8.1f}{peer_predict / predict_time:11.1f}"
            print(f"{'econml / headstart':28}{ratios}", flush=True)


def print_small() -> None:
    """What a bandit pays: a refit on few rows, one prediction, one added row."""
    print(f"\n{'bandit, 3 actions, 200 trees':28}{'fit ms':>8}{'predict us':>11}{'add us':>8}")
    for n in (100, 1_000, 10_000):
        rng = np.random.default_rng(n)
        x, a, y = rng.random((n, 10)), rng.integers(3, size=n), rng.standard_normal(n)
        forest = HonestForest(ForestOptions(n_trees=200), seed=0).fit(x, a, y, 3)
        forest.predict_one(x[0])
        forest.add(x[:1], a[:1], y[:1])
        fit_time = min(seconds(lambda f=forest: f.fit(x, a, y, 3))[0] for _ in range(5))  # type: ignore[misc]  # noqa: B023
        one, _ = seconds(lambda f=forest: [f.predict_one(row) for row in x[:100]])  # type: ignore[misc]  # noqa: B023
        added, _ = seconds(lambda f=forest: [f.add(x[i : i + 1], a[i : i + 1], y[i : i + 1]) for i in range(100)])  # type: ignore[misc]  # noqa: B023
        print(f"{f'n = {n:,}':28}{1e3 * fit_time:8.2f}{1e4 * one:11.1f}{1e4 * added:8.1f}", flush=True)


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-econml", action="store_true")
    parser.add_argument("--times-only", action="store_true")
    arguments = parser.parse_args()
    if not arguments.without_econml:
        econml_forest(1)  # fail before the long part, not after it
    print_small()
    print_times(with_econml=not arguments.without_econml)
    if not arguments.times_only:
        print_accuracy()


if __name__ == "__main__":
    main()
