"""The forest beside econml's and R's grf: python -m benchmarks.forest [--without-econml]

Times are measured in this very run and printed as ratios, since machines differ. grf cannot be installed
from the registries: its errors are those that it had on the same data (500 trees, its defaults).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

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


class Taken(NamedTuple):
    """What a task took. On a shared machine its processor time says more than the clock."""

    wall: float
    processor: float
    result: Any


def take(task: Callable[[], Any]) -> Taken:
    """Run the task."""
    wall, processor = time.perf_counter(), time.process_time()
    result = task()
    return Taken(time.perf_counter() - wall, time.process_time() - processor, result)


def fit_ours(x: Floats, y: Floats, seed: int, n_threads: int, n_trees: int = N_TREES) -> HonestForest:
    """Our forest with one action."""
    forest = HonestForest(ForestOptions(n_trees=n_trees), seed=seed, n_threads=n_threads)
    return forest.fit(x, np.zeros(len(y), dtype=np.int64), y, 1)


def econml_forest(n_threads: int, n_trees: int = N_TREES) -> Any:
    """econml's honest regression forest with the same settings."""
    try:
        from econml.grf import RegressionForest  # type: ignore[import-not-found, unused-ignore]
    except ImportError as missing:
        raise MissingExtraError("econml", "benchmark") from missing
    return RegressionForest(
        n_estimators=n_trees, max_samples=0.5, honest=True, min_samples_leaf=5, min_balancedness_tol=0.45,
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


def line_of(name: str, fit: Taken, predict: Taken, expected: Floats) -> str:
    """One line of the table of times."""
    error = np.mean((predict.result[:, 0] - expected) ** 2)
    return f"{name:24}{fit.wall:9.2f}{fit.processor:9.2f}{predict.wall:9.3f}{predict.processor:9.3f}{error:9.3f}"


def print_times(with_econml: bool) -> None:
    """Seconds to fit 20,000 rows and to predict 5,000 (clock, processor), and econml's over ours."""
    x, y, test, expected = draw_data("friedman", 20_000, 0)
    fit_ours(x[:500], y[:500], 0, 1).predict(test)  # compile outside the clock
    print(f"\n{'friedman, n = 20,000':24}{'fit':>9}{'(cpu)':>9}{'predict':>9}{'(cpu)':>9}{'error':>9}")
    for n_threads in (1, 2):
        fit = take(partial(fit_ours, x, y, 0, n_threads))
        predict = take(partial(fit.result.predict, test))
        print(line_of(f"headstart, {n_threads} thread(s)", fit, predict, expected), flush=True)
        if with_econml:
            peer = econml_forest(n_threads)
            peer_fit = take(partial(peer.fit, x, y.reshape(-1, 1)))
            peer_predict = take(partial(peer.predict, test))
            print(line_of(f"econml, {n_threads} thread(s)", peer_fit, peer_predict, expected))
            print(f"{'econml / headstart':24}{peer_fit.wall / fit.wall:9.1f}{peer_fit.processor / fit.processor:9.1f}"
                  f"{peer_predict.wall / predict.wall:9.1f}{peer_predict.processor / predict.processor:9.1f}",
                  flush=True)  # fmt: skip


def print_growth(with_econml: bool, n_trees: int = 20) -> None:
    """Processor seconds, one thread: predictions by the number of contexts, fits by the number of rows.

    Both grow with the trees, so few will do for the ratio to econml.
    """
    x, y, test, _ = draw_data("friedman", 20_000, 0)
    forest = fit_ours(x, y, 0, 1, n_trees)
    forest.predict(test[:9])  # compile outside the clock
    peer = econml_forest(1, n_trees).fit(x, y.reshape(-1, 1)) if with_econml else None
    print(f"\n{f'predict, {n_trees} trees':24}{'headstart':>11}{'econml':>11}{'ratio':>7}")
    for n in (100, 10_000, 1_000_000):
        contexts = np.random.default_rng(n).random((n, 10))
        goes = 10 if n < 1_000_000 else 1
        ours = min(take(partial(forest.predict, contexts)).processor for _ in range(goes))
        line = f"{f'{n:,} contexts':24}{ours:11.4f}"
        if peer is not None:
            theirs = min(take(partial(peer.predict, contexts)).processor for _ in range(goes))
            line += f"{theirs:11.4f}{theirs / ours:7.1f}"
        print(line, flush=True)
    print(f"\n{f'fit, {n_trees} trees':24}{'headstart':>11}")
    for n in (2_000, 20_000, 200_000):
        x, y, _, _ = draw_data("friedman", n, 0)
        print(f"{f'{n:,} rows':24}{take(partial(fit_ours, x, y, 0, 1, n_trees)).processor:11.4f}", flush=True)


def print_small() -> None:
    """What a bandit pays (processor time): a refit on few rows, one prediction, one added row."""
    print(f"\n{'3 actions, 200 trees':24}{'fit ms':>9}{'predict us':>12}{'add us':>9}")
    for n in (100, 1_000, 10_000):
        rng = np.random.default_rng(n)
        x, a, y = rng.random((n, 10)), rng.integers(3, size=n), rng.standard_normal(n)
        forest = HonestForest(ForestOptions(n_trees=200), seed=0).fit(x, a, y, 3)
        forest.predict_one(x[0])
        forest.add(x[:1], a[:1], y[:1])
        fit = min(take(partial(forest.fit, x, a, y, 3)).processor for _ in range(5))
        one = take(partial(_repeat, forest.predict_one, x[0])).processor
        added = take(partial(_repeat, forest.add, x[:1], a[:1], y[:1])).processor
        print(f"{f'n = {n:,}':24}{1e3 * fit:9.2f}{1e3 * one:12.1f}{1e3 * added:9.1f}", flush=True)


def print_variance(n_fits: int = 25, n: int = 1_000, n_trees: int = 200) -> None:
    """The told variance over that of predictions from fit to fit, and how often 95 % intervals hold what they should.

    At 40 contexts, each fit to fresh rows; the forest's own mean is that of its predictions over the fits.
    """
    test = np.random.default_rng(0).random((40, 10))
    print(f"\n{'variance':10}{'n':>8}{'told/true':>11}{'holds own mean':>16}{'holds truth':>13}")
    for data in ("friedman", "steps"):
        values, told = [], []
        for seed in range(n_fits):
            x, y, _, _ = draw_data(data, n, seed)
            forest = HonestForest(ForestOptions(n_trees=n_trees), seed=seed)
            forest.fit(x, np.zeros(n, dtype=np.int64), y, 1)
            values.append(forest.predict(test)[:, 0])
            told.append(forest.predict_variance(test)[:, 0])
        means, halves = np.array(values), 1.96 * np.sqrt(np.array(told))
        ratio = np.mean(told) / means.var(axis=0, ddof=1).mean()
        own = np.mean(np.abs(means - means.mean(axis=0)) <= halves)
        held = np.mean(np.abs(means - truth(data, test)) <= halves)
        print(f"{data:10}{n:8,}{ratio:11.2f}{own:16.3f}{held:13.3f}", flush=True)


def _repeat(call: Callable[..., Any], *arguments: Any) -> None:
    for _ in range(1_000):
        call(*arguments)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-econml", action="store_true")
    parser.add_argument("--times-only", action="store_true")
    parser.add_argument("--growth", action="store_true", help="only how times grow with contexts and rows, 20 trees")
    parser.add_argument("--variance", action="store_true", help="only how good the told variance is")
    arguments = parser.parse_args()
    if arguments.variance:
        print_variance()
        return
    if arguments.growth:
        print_growth(with_econml=not arguments.without_econml)
        return
    if not arguments.without_econml:
        econml_forest(1)  # fail before the long part, not after it
    print_small()
    print_times(with_econml=not arguments.without_econml)
    print_growth(with_econml=not arguments.without_econml)
    if not arguments.times_only:
        print_accuracy()


if __name__ == "__main__":
    main()
