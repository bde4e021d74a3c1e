"""The core: many runs of UCB + IPSW, and one decision at a time; first_call.py has the time to the first one."""

from __future__ import annotations

import math
import random
import time
from typing import Any

import numba
import numpy as np

import headstart as hs
from benchmarks.timing import best_seconds, print_table
from headstart.experiments.running.catalogue import get_experiment
from headstart.experiments.running.experiment import run_experiment

RUNS, ROUNDS, N_LOG, K, D = 500, 1000, 100, 3, 6


def main() -> None:
    """Print the two tables."""
    simulation()
    decisions()


def simulation() -> None:
    """(a) 500 runs x 1000 rounds x 3 variants on one core."""

    def ours() -> None:
        list(run_experiment(get_experiment("ucb-ipsw"), runs=RUNS, seed=1, n_jobs=1))

    ours()  # compile
    seconds = best_seconds(ours, goes=8, clock=time.process_time)
    n_plain = 5
    plain = best_seconds(lambda: _plain_runs(n_plain), goes=1, clock=time.process_time) * RUNS / n_plain
    _hand_written(1, 1)
    limit = best_seconds(lambda: _hand_written(RUNS, 1), goes=8, clock=time.process_time)
    per_round = 1e9 / (3 * RUNS * ROUNDS)
    print_table(
        "(a) UCB + IPSW, 500 runs x 1,000 rounds x 3 variants, one core",
        ("program", "seconds of CPU", "ns a round", "headstart is"),
        [
            ("headstart.simulate, all included", f"{seconds:.2f}", f"{seconds * per_round:.0f}", ""),
            (
                f"the same in plain Python ({n_plain} runs, scaled)",
                f"{plain:.1f}",
                f"{plain * per_round:.0f}",
                f"{plain / seconds:.0f} times faster",
            ),
            (
                "hand-written numba loop (the limit)",
                f"{limit:.2f}",
                f"{limit * per_round:.0f}",
                f"{seconds / limit:.1f} times the limit",
            ),
        ],
    )


def _plain_runs(runs: int) -> None:
    source = random.Random(1)
    for _ in range(runs):
        theta = [source.gauss(0, 1) for _ in range(D // K)]
        bases = [0.5 * a for a in range(K)]
        log = [_plain_row(source, theta, bases) for _ in range(N_LOG)]
        for variant in range(3):
            _plain_run(source, theta, bases, log, variant)


def _plain_user(source: random.Random, theta: list[float], bases: list[float]) -> list[float]:
    x = [source.uniform(-1, 1) for _ in range(D)]
    return [sum(t * v for t, v in zip(theta, x[2 * a : 2 * a + 2], strict=True)) + bases[a] for a in range(K)]


def _plain_row(source: random.Random, theta: list[float], bases: list[float]) -> tuple[int, float, float]:
    means = _plain_user(source, theta, bases)
    scores = [math.exp(-(means[a] - bases[a]) * (bases[a] - bases[(a + 1) % K])) for a in range(K)]
    total = sum(scores)
    action = source.choices(range(K), scores)[0]
    return action, means[action], scores[action] / total


def _plain_run(
    source: random.Random, theta: list[float], bases: list[float], log: list[tuple[int, float, float]], variant: int
) -> float:
    weights, weighted, squares = [0.0] * K, [0.0] * K, [0.0] * K
    for action, outcome, p in log:
        weights[action] += 1 / p
        weighted[action] += outcome / p
        squares[action] += 1 / p**2
    left = [w * w / s if s else 0.0 for w, s in zip(weights, squares, strict=True)]
    answers = [y / w if w else 0.0 for y, w in zip(weighted, weights, strict=True)]
    counts, sums, regret = [0] * K, [0.0] * K, 0.0
    if variant == 2:
        best = max(range(K), key=lambda a: answers[a])
    for _ in range(ROUNDS):
        if variant == 0:
            while True:
                action = _plain_ucb(counts, sums)
                if left[action] < 1:
                    break
                left[action] -= 1
                counts[action] += 1
                sums[action] += answers[action]
        action = best if variant == 2 else _plain_ucb(counts, sums)
        outcome = _plain_user(source, theta, bases)[action]
        regret += max(bases) - bases[action]
        if variant != 2:
            counts[action] += 1
            sums[action] += outcome
    return regret


def _plain_ucb(counts: list[int], sums: list[float]) -> int:
    for a, n in enumerate(counts):
        if n == 0:
            return a
    spread = 2 * math.log(sum(counts))
    return max(range(K), key=lambda a: sums[a] / counts[a] + math.sqrt(spread / counts[a]))


@numba.njit
def _hand_written(runs: int, seed: int) -> float:
    """The same work in one loop, for these types alone, with numpy's legacy generator inside numba."""
    np.random.seed(seed)
    theta, bases, x = np.empty(2), np.arange(K) * 0.5, np.empty(D)
    counts, sums, answers, left = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    weights, weighted, squares, p = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    everything = 0.0
    for _ in range(runs):
        for j in range(2):
            theta[j] = np.random.standard_normal()
        weights[:] = 0.0
        weighted[:] = 0.0
        squares[:] = 0.0
        for _ in range(N_LOG):
            total = 0.0
            for j in range(D):
                x[j] = 2 * np.random.random() - 1
            for a in range(K):
                s = theta[0] * x[2 * a] + theta[1] * x[2 * a + 1]
                p[a] = math.exp(-s * (bases[a] - bases[(a + 1) % K]))
                total += p[a]
            u, action = np.random.random() * total, 0
            while action < K - 1 and u > p[action]:
                u -= p[action]
                action += 1
            w = total / p[action]
            y = theta[0] * x[2 * action] + theta[1] * x[2 * action + 1] + bases[action]
            weights[action] += w
            weighted[action] += w * y
            squares[action] += w * w
        for variant in range(3):
            best = 0
            for a in range(K):
                counts[a] = 0.0
                sums[a] = 0.0
                left[a] = weights[a] * weights[a] / squares[a] if squares[a] > 0 else 0.0
                answers[a] = weighted[a] / weights[a] if weights[a] > 0 else 0.0
                if answers[a] > answers[best]:
                    best = a
            for _ in range(ROUNDS):
                if variant == 0:
                    while True:
                        action = _numba_ucb(counts, sums)
                        if left[action] < 1:
                            break
                        left[action] -= 1
                        counts[action] += 1
                        sums[action] += answers[action]
                action = best if variant == 2 else _numba_ucb(counts, sums)
                for j in range(D):
                    x[j] = 2 * np.random.random() - 1
                everything += bases[K - 1] - bases[action]
                if variant != 2:
                    counts[action] += 1
                    sums[action] += theta[0] * x[2 * action] + theta[1] * x[2 * action + 1] + bases[action]
    return everything


@numba.njit
def _numba_ucb(counts: Any, sums: Any) -> int:
    n = 0.0
    for a in range(counts.size):
        if counts[a] == 0:
            return a
        n += counts[a]
    spread = 2 * math.log(n)
    best, best_index = 0, -np.inf
    for a in range(counts.size):
        index = sums[a] / counts[a] + math.sqrt(spread / counts[a])
        if index > best_index:
            best, best_index = a, index
    return best


def decisions() -> None:
    """(b) One decide + update through the public classes, context-free, K = 10."""
    from mabwiser.mab import MAB, LearningPolicy
    from river import bandit

    outcomes = np.random.default_rng(1).random(20_000).tolist()
    ours = hs.UCB(10)
    thompson = hs.ThompsonBeta(10, rng=1)
    rng = np.random.default_rng(2)
    actions = rng.integers(0, 10, 1000)
    started = hs.start(hs.Log(actions, rng.random(1000), propensities=np.full(1000, 0.1)), horizon=20_000, rng=1)
    theirs = bandit.UCB(delta=1)
    arms = list(range(10))
    mab = MAB(arms, LearningPolicy.UCB1(alpha=1.0))
    mab.fit(arms, [0.5] * 10)

    def run_ours(oracle: Any) -> None:
        for outcome in outcomes:
            oracle.update(None, oracle.play(), outcome)

    def run_river() -> None:
        for outcome in outcomes:
            theirs.update(theirs.pull(arms), outcome)

    def run_mabwiser() -> None:
        for outcome in outcomes[:500]:
            mab.partial_fit([mab.predict()], [outcome])

    n = len(outcomes)
    run_ours(ours)
    run_ours(thompson)
    run_ours(started)
    micro = {
        "headstart UCB": best_seconds(lambda: run_ours(ours), goes=15) / n,
        "headstart ThompsonBeta": best_seconds(lambda: run_ours(thompson), goes=15) / n,
        "headstart start, log of 1,000 rows": best_seconds(lambda: run_ours(started), goes=3) / n,
        "River UCB": best_seconds(run_river, goes=8) / n,
        "MABWiser UCB1": best_seconds(run_mabwiser, goes=8) / 500,
    }
    base = micro["headstart UCB"]
    print_table(
        "(b) One decide + update, context-free, 10 actions",
        ("library", "microseconds", "headstart UCB is"),
        [(name, f"{1e6 * s:.2f}", "" if s == base else f"{s / base:.1f} times faster") for name, s in micro.items()],
    )


if __name__ == "__main__":
    main()
