"""A table in, a table out: deciding for every user of a Parquet file against DuckDB copying the same columns.

`python -m benchmarks.decide` (10 million users), `--users 100000000` for the memory, `--spark` for the executors.
Each job is a process of its own, so that its peak memory is its own; the copy has as many threads. What is copied is
the file of decisions, so both write the same columns of the same rows: the id, what was decided on, action and
propensity. Spark, in local mode, is against Spark copying that file. `CPU` is the ratio of processor seconds, which
other people at work on the machine move less than the clock.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
from threadpoolctl import threadpool_limits

import headstart as hs
from benchmarks.spark import start_spark
from benchmarks.timing import cost_of, family_seconds, print_table
from headstart.parts.tables.chances import chances_of

N_COLUMNS, N_ACTIONS, N_LOG = 20, 5, 5_000
COLUMNS = [f"c{j}" for j in range(N_COLUMNS)]
MOST_MEGABYTES = 600
BARS = {"context-free": 1.5, "linear": 4.0, "linear, exploring": 4.0}


def make_users(path: Path, n_users: int, columns: list[str]) -> None:
    """Users with an id and these numbers, the same every time."""
    uniform = "((hash(i * 32 + {}) >> 11)::DOUBLE / 9007199254740992.0::DOUBLE) AS {}"
    drawn = ", ".join(["i AS id", *(uniform.format(j, name) for j, name in enumerate(columns))])
    with duckdb.connect(config={"threads": 2, "memory_limit": "500MB"}) as connection:
        connection.execute(f"COPY (SELECT {drawn} FROM range({n_users}) AS rows(i)) TO '{path}'")


def write_policy(kind: str, path: Path) -> None:
    """Context-free and "linear, exploring" are what `start` makes; "linear" is LinUCB."""
    rng = np.random.default_rng(0)
    contexts, actions = rng.random((N_LOG, N_COLUMNS)), rng.integers(N_ACTIONS, size=N_LOG)
    effects = rng.normal(0.0, 0.3, (N_ACTIONS, N_COLUMNS))
    outcomes = (contexts * effects[actions]).sum(axis=1) + rng.normal(0.0, 0.5, N_LOG)
    chances = np.full(N_LOG, 1.0 / N_ACTIONS)
    log = hs.Log(actions, outcomes, dict(zip(COLUMNS, contexts.T, strict=True)), chances, n_actions=N_ACTIONS)
    if kind == "context-free":
        hs.start(log, rng=0).save(path)
        return
    if kind == "linear, exploring":
        hs.start(log, decide_on=COLUMNS, rng=0).save(path)
        return
    oracle = hs.LinUCB(N_ACTIONS, N_COLUMNS)
    for row in range(N_LOG):
        oracle.update(contexts[row], actions[row], outcomes[row])
    oracle.save(path, log=log)


def run_decide(policy: Path, users: Path, target: Path) -> None:
    """One job: load, decide, write; says its seconds and its peak memory."""
    loaded = hs.load(policy)
    loaded.decide(users_head(users), id="id").to_arrow()  # compiled code comes from its cache
    started = Clock.now()
    loaded.decide(users, id="id").write(target)
    tell(started)


def users_head(users: Path) -> object:
    import pyarrow.parquet as parquet

    return next(parquet.ParquetFile(users).iter_batches(100_000))


def run_copy(users: Path, target: Path, columns: str) -> None:
    """The bar: the same columns, read and written by DuckDB."""
    started = Clock.now()
    with duckdb.connect(config={"memory_limit": "400MB"}) as connection:
        connection.execute(f"COPY (SELECT {columns} FROM '{users}') TO '{target}' (FORMAT parquet)")
    tell(started)


def run_spark(policy: Path, users: Path, target: Path) -> None:
    """The same by executors in local mode: survey, decisions and writing."""
    session, loaded = start_spark(), hs.load(policy)
    started = Clock.now()
    loaded.decide(session.read.parquet(str(users)), id="id").frame.write.mode("overwrite").parquet(str(target))
    tell(started)


def run_spark_copy(decisions: Path, target: Path) -> None:
    """The bar on Spark: the decisions, read and written."""
    session = start_spark()
    started = Clock.now()
    session.read.parquet(str(decisions)).write.mode("overwrite").parquet(str(target))
    tell(started)


class Clock(NamedTuple):
    """Seconds by the wall and of the processor."""

    wall: float
    processor: float

    @classmethod
    def now(cls) -> Clock:
        return cls(time.perf_counter(), family_seconds())


class Job(NamedTuple):
    """What a job took."""

    seconds: float
    processor: float
    megabytes: float


def tell(started: Clock) -> None:
    now = Clock.now()
    print(now.wall - started.wall, now.processor - started.processor)


def in_process(*arguments: object) -> Job:
    """A job in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.decide", "--job", *map(str, arguments)]
    cost = cost_of(command)
    seconds, processor = map(float, cost.output.split()[-2:])
    return Job(seconds, processor, cost.megabytes)


def best_of(jobs: list[Job]) -> Job:
    """The quickest, with the most memory of any."""
    return Job(*(min(each[i] for each in jobs) for i in range(2)), max(each.megabytes for each in jobs))


def compare_row(name: str, ours: Job, bare: Job, bar: float | None) -> list[str]:
    ratio = ours.seconds / bare.seconds
    row = [
        name,
        f"{ours.seconds:.1f}",
        f"{bare.seconds:.1f}",
        f"{ratio:.2f}",
        f"{ours.processor / bare.processor:.2f}",
    ]
    if bar is None:
        return [*row, "", "", ""]
    is_met = ratio <= bar and ours.megabytes < MOST_MEGABYTES
    return [*row, f"{bar:g}", f"{ours.megabytes:.0f}", "yes" if is_met else "NO"]


def compare(n_users: int, kinds: list[str], folder: Path, with_spark: bool, goes: int) -> list[list[str]]:
    users = folder / "users.parquet"
    make_users(users, n_users, [] if kinds == ["context-free"] else COLUMNS)
    rows = []
    for kind in kinds:
        policy, target, copy = folder / "policy", folder / "decisions.parquet", folder / "copy.parquet"
        write_policy(kind, policy)
        ours, bare = [], []
        for _ in range(goes):
            ours.append(in_process("decide", policy, users, target))
            columns = ", ".join(["id", *(COLUMNS if kind != "context-free" else []), "action", "propensity"])
            bare.append(in_process("copy", target, copy, columns))
        rows.append(compare_row(kind, best_of(ours), best_of(bare), BARS[kind]))
        if with_spark:
            on_spark = in_process("spark", policy, users, folder / "spark")
            rows.append(
                compare_row(f"{kind}, Spark", on_spark, in_process("spark-copy", target, folder / "spark2"), None)
            )
    return rows


def compare_wide(n_actions: int = 20, n_columns: int = 50, n_users: int = 1 << 14) -> list[list[str]]:
    """Chances of a portion against the matrix products that LinUCB's are made of: x'theta and S'x of every action."""
    rng = np.random.default_rng(0)
    log, users = (np.column_stack([np.ones(n), rng.normal(size=(n, n_columns))]) for n in (N_LOG, n_users))
    actions, width = rng.integers(n_actions, size=N_LOG), n_columns + 1
    outcomes = (log * rng.normal(0.0, 0.3, (n_actions, width))[actions]).sum(axis=1) + rng.normal(0.0, 0.5, N_LOG)
    gradient, ucb = (
        hs.LinKnowledgeGradient.from_rows(log, actions, outcomes, n_actions, rng=0),
        hs.LinUCB(n_actions, width),
    )
    for row in range(N_LOG):
        ucb.update(log[row], int(actions[row]), float(outcomes[row]))
    factors = rng.normal(size=(width, n_actions * (width + 1)))

    def microseconds(job: Callable[[], object]) -> float:
        took = []
        for _ in range(5):
            started = time.process_time()
            job()
            took.append(time.process_time() - started)
        return min(took) / n_users * 1e6

    with threadpool_limits(1):
        product = microseconds(lambda: users @ factors)
        each = {type(one).__name__: microseconds(partial(chances_of, one, users)) for one in (ucb, gradient)}
    return [[name, f"{took:.1f}", f"{product:.1f}", f"{took / product:.2f}"] for name, took in each.items()]


def run_job(job: str, given: list[str]) -> None:
    paths = [Path(each) for each in given]
    if job == "copy":
        run_copy(paths[0], paths[1], given[2])
    elif job == "decide":
        run_decide(*paths)
    elif job == "spark":
        run_spark(*paths)
    else:
        run_spark_copy(*paths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=10_000_000)
    parser.add_argument("--kinds", default=",".join(BARS).replace("linear, exploring", "linear; exploring"))
    parser.add_argument("--goes", type=int, default=2)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument(
        "--wide", action="store_true", help="only: chances with K = 20 and d = 50, by matrix products"
    )
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--job", nargs="+")
    given = parser.parse_args()
    if given.job:
        run_job(given.job[0], given.job[1:])
        return
    if given.wide:
        header = ["20 actions, 50 columns", "microseconds a user", "matrix products", "ratio"]
        print_table("Chances of many users at once, on one thread", header, compare_wide())
        return
    kinds = [kind.replace(";", ",") for kind in given.kinds.split(",")]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        rows = compare(given.users, kinds, Path(folder), given.spark, given.goes)
    header = ["policy", "seconds", "copy", "ratio", "CPU", "bar", "peak MB", "met"]
    print_table(f"Deciding for {given.users:,} users of Parquet", header, rows)


if __name__ == "__main__":
    main()
