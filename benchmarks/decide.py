"""A table in, a table out: deciding for every user of a Parquet file against DuckDB copying the same columns.

`python -m benchmarks.decide` (10 million users), `--users 100000000` for the memory, `--spark` for the executors.
Each job is a process of its own, so that its peak memory is its own; the copy has as many threads.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import headstart as hs
from benchmarks.timing import print_table

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
    started = time.perf_counter()
    loaded.decide(users, id="id").write(target)
    told(started)


def users_head(users: Path) -> object:
    import pyarrow.parquet as parquet

    return next(parquet.ParquetFile(users).iter_batches(100_000))


def run_copy(users: Path, target: Path, columns: str) -> None:
    """The bar: the same columns, read and written by DuckDB."""
    started = time.perf_counter()
    with duckdb.connect(config={"memory_limit": "400MB"}) as connection:
        connection.execute(f"COPY (SELECT {columns} FROM '{users}') TO '{target}' (FORMAT parquet)")
    told(started)


def run_spark(policy: Path, users: Path, target: Path) -> None:
    """The same by executors in local mode."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    loaded = hs.load(policy)
    started = time.perf_counter()
    loaded.decide(session.read.parquet(str(users)), id="id").frame.write.mode("overwrite").parquet(str(target))
    told(started)


def told(started: float) -> None:
    seconds = time.perf_counter() - started
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def in_process(*arguments: str) -> tuple[float, float]:
    """Seconds and megabytes of a job in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.decide", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    seconds, megabytes = done.stdout.split()[-2:]
    return float(seconds), float(megabytes)


def compare(n_users: int, kinds: list[str], folder: Path, with_spark: bool, goes: int) -> list[list[str]]:
    users = folder / "users.parquet"
    make_users(users, n_users, [] if kinds == ["context-free"] else COLUMNS)
    rows = []
    for kind in kinds:
        policy, target, copy = folder / "policy", folder / "decisions.parquet", folder / "copy.parquet"
        write_policy(kind, policy)
        ours, bare = [], []
        for _ in range(goes):
            ours.append(in_process("--job", "decide", str(policy), str(users), str(target)))
            columns = ", ".join(["id", *(COLUMNS if kind != "context-free" else []), "action", "propensity"])
            bare.append(in_process("--job", "copy", str(target), str(copy), columns))
        seconds, megabytes = min(each[0] for each in ours), max(each[1] for each in ours)
        ratio = seconds / min(each[0] for each in bare)
        is_met = ratio <= BARS[kind] and megabytes < MOST_MEGABYTES
        rows.append(
            [kind, f"{seconds:.1f}", f"{min(each[0] for each in bare):.1f}", f"{ratio:.2f}", f"{BARS[kind]:g}"]
        )
        rows[-1] += [f"{megabytes:.0f}", "yes" if is_met else "NO"]
        if with_spark:
            took, _ = in_process("--job", "spark", str(policy), str(users), str(folder / "spark"))
            rows.append([f"{kind}, Spark", f"{took:.1f}", "", "", "", "", ""])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=10_000_000)
    parser.add_argument("--kinds", default=",".join(BARS).replace("linear, exploring", "linear; exploring"))
    parser.add_argument("--goes", type=int, default=2)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--job", nargs="+")
    given = parser.parse_args()
    if given.job:
        job, *rest = given.job
        if job == "copy":
            run_copy(Path(rest[0]), Path(rest[1]), rest[2])
        else:
            (run_decide if job == "decide" else run_spark)(*(Path(each) for each in rest))
        return
    kinds = [kind.replace(";", ",") for kind in given.kinds.split(",")]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        rows = compare(given.users, kinds, Path(folder), given.spark, given.goes)
    header = ["policy", "seconds", "copy", "ratio", "bar", "peak MB", "met"]
    print_table(f"Deciding for {given.users:,} users of Parquet", header, rows)


if __name__ == "__main__":
    main()
