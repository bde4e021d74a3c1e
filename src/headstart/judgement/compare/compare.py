"""Compare: which way of using this log would have earned most, and is the difference more than noise?

For each shuffle the log is cut in two; policies start from the first part and live through the second (`replaying`).
All policies of a shuffle meet the same parts, the same order and the same draws, so that differences are paired.
How sure the means are is the subject of `noise`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from headstart.arrays import Integers
from headstart.checks import check_number, check_whole
from headstart.errors import OptionError
from headstart.estimates.propensity.missing import fill_missing
from headstart.estimates.regression import predict_from
from headstart.judgement.compare.comparison import Comparison, Difference, Earning
from headstart.judgement.compare.noise import REPEATS, Tally, standard_error
from headstart.judgement.compare.policies import COLD, MakePolicy, choose_policies
from headstart.logs.log import Log
from headstart.simulation.rejection import ROBUST, Acceptance, Life, choose_acceptance, live

MOST_ROWS = 200_000  # of a table
_MOST_CHECKPOINTS = 100
Split = Literal["random", "time"]


def compare(
    log: Any,
    policies: Mapping[str, MakePolicy] | Sequence[str] | None = None,
    *,
    shuffles: int = 20,
    rounds: int | None = None,
    split: Split = "random",
    share: float = 0.2,
    decide_on: Sequence[str | int] | None = None,
    level: float = 0.95,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Each policy's mean outcome per round, had it started from a part of this log and met the users of the rest.

    Parameters
    ----------
    log
        A Log, or a table, of which at most 200,000 rows are drawn. Without propensities they are estimated from its
        contexts, and `notes` say so.
    policies
        By name: a function (log, rng) -> policy, called for each run with the part to start from; or names of
        `default_policies`, which are all taken by default. "cold" and "naive" are added if they are not among them.
    shuffles
        Ways of cutting and ordering the rows; three times as many bootstrap runs are made for the intervals.
    rounds
        Accepted events to compare over; by default as many as the log allows.
    split
        "random": the parts are dealt by lot. "time": the first rows are the log, the others come in their order.
    share
        Of the rows, for the part that policies start from.
    decide_on
        The columns that the default policies with contexts decide on; the others are only adjusted for.
    level
        Of the intervals. Those of differences hold together (Bonferroni).
    seed, n_jobs
        Every run has its own streams: the result depends neither on the number of threads nor on the other policies.
    progress
        Called with 1 after each run of each policy, `count_steps` times.
    """
    shuffles, level = check_whole("shuffles", shuffles), check_number("level", level, 0.0, 1.0)
    n_jobs = check_whole("n_jobs", n_jobs)
    if shuffles < 2:
        raise OptionError(f"shuffles must be at least 2, got {shuffles}")
    if split not in ("random", "time"):
        raise OptionError(f"split must be 'random' or 'time', got {split!r}")
    if rounds is not None:
        rounds = max(2, check_whole("rounds", rounds))
    rows, notes = _as_rows(log, split, seed)
    n_log = round(check_number("share", share, 0.0, 1.0) * len(rows))
    if not 2 <= n_log <= len(rows) - 2:
        raise OptionError(f"share must leave at least two rows on both sides, got {share} of {len(rows)}")
    chosen = choose_policies(policies, rows, decide_on)
    acceptance = choose_acceptance(rows, len(rows) - n_log, rounds)
    checkpoints = np.unique(np.linspace(0, acceptance.n_rounds, _MOST_CHECKPOINTS + 1).astype(np.int64)[1:])
    tallies = {name: Tally(len(rows), shuffles, checkpoints) for name in chosen}
    runs, is_by_time = (1 + REPEATS) * shuffles, split == "time"

    def run_one(run: int) -> dict[str, tuple[Life, float]]:
        for_rows, for_policy, for_draws = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(3)
        drawn = None
        if run >= shuffles:
            of_log = np.random.SeedSequence(seed, spawn_key=(runs + (run - shuffles) // REPEATS,))
            drawn = np.random.default_rng(of_log)
        part, order = _deal(len(rows), n_log, is_by_time, drawn, np.random.default_rng(for_rows))
        start = rows.take(part)
        predicted = predict_from(start, rows.contexts) if acceptance.method == ROBUST else None
        uniforms = np.random.default_rng(for_draws).random(order.size)
        lives = {}
        for name, make in chosen.items():
            started = time.perf_counter()
            policy = make(start, np.random.default_rng(for_policy))
            life = live(policy, rows, order, uniforms, acceptance, predicted)
            lives[name] = (life, time.perf_counter() - started)
            if progress is not None:
                progress(1)
        return lives

    def take(run: int, lives: dict[str, tuple[Life, float]]) -> None:
        for name, (life, seconds) in lives.items():
            tallies[name].add(run, life, rows.outcomes, seconds)

    _run_in_order(run_one, runs, n_jobs, take)
    return _conclude(tallies, acceptance, checkpoints, level, notes, (n_log, len(rows) - n_log, split))


def count_steps(n_policies: int, shuffles: int) -> int:
    """How often `progress` will be called."""
    return (1 + REPEATS) * shuffles * n_policies


def _as_rows(log: Any, split: str, seed: int) -> tuple[Log, list[str]]:
    notes = []
    if isinstance(log, Log):
        rows = log
    else:
        if split == "time":
            raise OptionError("split='time' needs rows in their order, which a table has not: use read_log")
        rows = log.sample(MOST_ROWS, rng=seed)
        # A database hands over the same rows in any order; sorted, the same set of rows gives the same shuffles.
        rows = rows.take(np.lexsort((*rows.contexts.T[::-1], rows.outcomes, rows.actions)))
        if len(rows) < len(log):
            notes.append(f"{len(rows):,} of {len(log):,} rows were drawn by lot")
    if not rows.has_propensities:
        if len(rows) < 10:
            raise OptionError(f"the log has no propensities and {len(rows)} rows are too few to estimate them")
        rows = fill_missing(rows, seed).log
        notes.append(
            "the log has no propensities: they were estimated from its contexts by logistic regression, so the "
            "comparison is right as far as the contexts hold what the actions were chosen by"
        )
    return rows, notes


def _deal(
    n: int, n_log: int, is_by_time: bool, bootstrap: np.random.Generator | None, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Rows to start from and rows to live through; of rows drawn with replacement where there is a `bootstrap`."""
    order = np.arange(n)
    if bootstrap is not None:
        order = bootstrap.integers(n, size=n)
        if is_by_time:  # the first rows stay the first
            order = np.sort(np.concatenate([order[:n_log] % n_log, n_log + order[n_log:] % (n - n_log)]))
    if not is_by_time:
        order = order[rng.permutation(n)]
    return order[:n_log], order[n_log:]


def _run_in_order(run_one: Callable[[int], Any], runs: int, n_jobs: int, take: Callable[[int, Any], None]) -> None:
    """Runs in threads, results taken in their order, so that sums have the same bits from any number of threads."""
    with threadpool_limits(1, user_api="blas"):  # the runs are the threads; more would only wait for each other
        take(0, run_one(0))  # compiles what there is to compile before threads would wait for it
        with ThreadPoolExecutor(n_jobs) as pool:
            try:
                for run, result in enumerate(pool.map(run_one, range(1, runs)), start=1):
                    take(run, result)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _conclude(
    tallies: dict[str, Tally],
    acceptance: Acceptance,
    checkpoints: Integers,
    level: float,
    notes: list[str],
    sizes: tuple[int, int, str],
) -> Comparison:
    from scipy.special import stdtrit

    shuffles = tallies[COLD].shuffles
    ranked = sorted(tallies, key=lambda name: -tallies[name].mean)

    def half_width(error: float, n_intervals: int) -> float:
        return float(stdtrit(shuffles - 1, 1.0 - (1.0 - level) / (2.0 * n_intervals))) * error

    earnings = []
    for name in ranked:
        tally = tallies[name]
        error = standard_error(tally.means, tally.influences(), shuffles)
        half = half_width(error, 1)
        earnings.append(
            Earning(
                name,
                tally.mean,
                error,
                tally.mean - half,
                tally.mean + half,
                float(tally.accepted[:shuffles].mean()),
                tally.curves.mean(axis=0),
                tally.curves.std(axis=0, ddof=1),
                tally.seconds,
            )
        )

    def differences(other: str) -> tuple[Difference, ...]:
        base = tallies[other]
        found = []
        for name in ranked:
            if name == other:
                continue
            tally = tallies[name]
            error = standard_error(tally.means - base.means, tally.influences() - base.influences(), shuffles)
            value, half = tally.mean - base.mean, half_width(error, len(ranked) - 1)
            found.append(Difference(name, other, value, error, value - half, value + half))
        return tuple(found)

    n_log, n_stream, split = sizes
    return Comparison(
        earnings=tuple(earnings),
        to_best=differences(ranked[0]),
        to_cold=differences(COLD),
        rounds=checkpoints,
        acceptance=acceptance,
        n_log=n_log,
        n_stream=n_stream,
        shuffles=shuffles,
        split=split,
        level=level,
        notes=tuple(notes),
    )
