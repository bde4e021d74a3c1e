"""Statistics where the data is: headstart's queries against hand-written ones, on one thread, and their memory.

A path to statistics end to end (a bare query opens the file too), and of a table that has been checked before.
`python -m benchmarks.tables --rows 10000000 100000000` for one more of 6 GB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from benchmarks.spark import start_spark
from benchmarks.timing import family_seconds, print_table
from headstart.evaluators import IPSWeighting, LinearModel
from headstart.logs.tables import LogTable, scan_log

N_ACTIONS, N_CONTEXTS = 10, 6
CONTEXTS = [f"c{j}" for j in range(N_CONTEXTS)]
MOST_MEGABYTES = 400
BARE_WEIGHTING = """
    SELECT action, count(*), sum(w), sum(w * outcome), sum(w * outcome * outcome), sum(w * w)
    FROM (SELECT action, outcome, 1 / propensity AS w FROM log) GROUP BY action"""
BARE_THREE = """
    SELECT action, sum(w), sum(w * outcome), sum(w * w)
    FROM (SELECT action, outcome, 1 / propensity AS w FROM log) GROUP BY action"""


def make_file(path: Path, n_rows: int) -> None:
    """A confounded log, the same every time: one action is each user's favourite, and c1 says how much."""
    uniform = "((hash(i * 16 + {}) >> 11)::DOUBLE / 9007199254740992.0::DOUBLE) AS {}"
    drawn = ", ".join(uniform.format(j, name) for j, name in enumerate([*CONTEXTS, "u", "v", "z"]))
    connection = duckdb.connect(config={"threads": 2})
    connection.execute(f"""
        COPY (
          SELECT action, (z < 0.1 + 0.04 * (action % 3) + 0.3 * c0)::INT::DOUBLE AS outcome,
            CASE WHEN action = favourite THEN share ELSE (1 - share) / {N_ACTIONS - 1} END AS propensity,
            {", ".join(CONTEXTS)}
          FROM (SELECT *, CASE WHEN u < share THEN favourite
              ELSE (favourite + 1 + floor(v * {N_ACTIONS - 1})::BIGINT) % {N_ACTIONS} END AS action
            FROM (SELECT *, floor(c0 * {N_ACTIONS})::BIGINT AS favourite, 0.1 + 0.8 * c1 AS share
              FROM (SELECT {drawn} FROM range({n_rows}) AS rows(i))))
        ) TO '{path}' (FORMAT parquet)""")
    connection.close()


def open_file(path: Path) -> LogTable:
    """The file as anyone would open it, but for the one thread."""
    return scan_log(path, action="action", outcome="outcome", contexts=CONTEXTS, propensity="propensity", threads=1)


class Took(NamedTuple):
    """Seconds by the clock and of the processor."""

    clock: float
    processor: float


def compare(
    ours: Callable[[], Any],
    bare: Callable[[], Any],
    goes: int,
    processor: Callable[[], float] = time.process_time,
) -> tuple[Took, Took]:
    """The least that each took, in turn so that a busy machine is busy for both."""
    seconds: tuple[list[Took], list[Took]] = [], []
    for _ in range(goes):
        for job, kept in zip((ours, bare), seconds, strict=True):
            started = time.perf_counter(), processor()
            job()
            kept.append(Took(time.perf_counter() - started[0], processor() - started[1]))
    mine, theirs = (Took(*map(min, zip(*kept, strict=True))) for kept in seconds)
    return mine, theirs


def compare_row(name: str, mine: Took, theirs: Took) -> tuple[str, ...]:
    """A row of the table: seconds of each by the clock, the ratio of these, and that of the processor's."""
    ratios = f"{mine.clock / theirs.clock:.2f}", f"{mine.processor / theirs.processor:.2f}"
    return name, f"{mine.clock:.2f} s", f"{theirs.clock:.2f} s", *ratios


def bare_gram() -> str:
    """The sums of products per action, as short as SQL can say it."""
    products = [f"sum({a} * {b})" for a, b in combinations_with_replacement(CONTEXTS, 2)]
    others = [f"sum({name}), sum({name} * outcome)" for name in CONTEXTS]
    return f"SELECT action, count(*), sum(outcome), {', '.join(products + others)} FROM log GROUP BY action"


def print_ratios(path: Path, goes: int) -> None:
    """Seconds and ratios, one thread."""
    limits = {"threads": 1, "memory_limit": "256MB"}
    table = open_file(path)
    n_rows = len(table)  # from here on its rows are checked

    def ask(query: str) -> Callable[[], Any]:
        """From the path to the sums, as one would write it by hand."""

        def job() -> Any:
            with duckdb.connect(config=limits) as connection:
                connection.execute(f"CREATE VIEW log AS SELECT * FROM read_parquet('{path}')")
                return connection.execute(query).fetchall()

        return job

    jobs = [
        ("scan_log, IPSWeighting", lambda: IPSWeighting(open_file(path)), ask(BARE_WEIGHTING)),
        ("scan_log, LinearModel: Gram matrices", lambda: LinearModel(open_file(path)), ask(bare_gram())),
        ("IPSWeighting of a table that is open", lambda: IPSWeighting(table), ask(BARE_WEIGHTING)),
        ("... against three sums only", lambda: IPSWeighting(table), ask(BARE_THREE)),
        ("LinearModel of a table that is open", lambda: LinearModel(table), ask(bare_gram())),
    ]
    rows = [compare_row(name, *compare(ours, bare, goes)) for name, ours, bare in jobs]
    title = f"{n_rows:,} rows of Parquet, {N_ACTIONS} actions, {N_CONTEXTS} contexts, one thread"
    print_table(title, ("statistics", "headstart", "bare DuckDB query", "ratio", "CPU"), rows)
    started = time.perf_counter()
    assert open_file(path).reading is not None
    print(f"\nEvery row checked, and nothing summed: {time.perf_counter() - started:.2f} s.", end=" ")
    started = time.perf_counter()
    table.sample(10_000)
    print(f"A uniform sample of 10,000 rows: {time.perf_counter() - started:.2f} s.", flush=True)


def print_spark(path: Path, n_rows: int, goes: int) -> None:
    """The same from a Spark frame in local mode, against the same queries by Spark; the processor's are the JVM's."""
    session = start_spark()
    columns = {"action": "action", "outcome": "outcome", "contexts": CONTEXTS, "propensity": "propensity"}

    def open_frame() -> LogTable:
        return scan_log(session.read.parquet(str(path)), **columns)

    def ask(query: str) -> None:
        """From the path to the sums, as one would write it by hand."""
        session.read.parquet(str(path)).createOrReplaceTempView("log")
        session.sql(query).collect()

    jobs = [
        ("scan_log, IPSWeighting", lambda: IPSWeighting(open_frame()), BARE_WEIGHTING),
        ("scan_log, LinearModel: Gram matrices", lambda: LinearModel(open_frame()), bare_gram()),
    ]
    rows = []
    for name, ours, query in jobs:
        rows.append(compare_row(name, *compare(ours, partial(ask, query), goes, family_seconds)))
    title = f"The same {n_rows:,} rows on Spark, in local mode, two threads"
    print_table(title, ("statistics", "headstart", "bare Spark query", "ratio", "CPU"), rows)


def print_memory(path: Path) -> None:
    """The peak of a fresh process that opens the file and builds both evaluators."""
    command = [sys.executable, "-m", "benchmarks.tables", "--peak-of", str(path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    before, after = (int(word) // 1024 for word in told.stdout.split())
    verdict = "under" if after < MOST_MEGABYTES else "OVER"
    print(f"Peak memory: {after} MB, of which {before} MB is the imports; {verdict} {MOST_MEGABYTES} MB.", flush=True)


def tell_peak(path: Path) -> None:
    """Print the peak memory in kB after the imports and after the statistics (for `print_memory`)."""
    import ibis

    ibis.duckdb  # noqa: B018
    before = _peak()
    table = open_file(path)
    evaluators = IPSWeighting(table), LinearModel(table)
    table.context_sums()
    table.sample(10_000)
    assert all(evaluator.n_actions == N_ACTIONS for evaluator in evaluators)
    print(before, _peak())


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def main() -> None:
    """Print the ratios and the memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000])
    parser.add_argument("--goes", type=int, default=5, help="of each query; the best counts")
    parser.add_argument("--folder", type=Path, help="where the file is made, and removed again")
    parser.add_argument("--spark", action="store_true", help="also from a Spark frame, in local mode")
    parser.add_argument("--peak-of", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak_of:
        tell_peak(arguments.peak_of)
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "log.parquet"
        for n_rows in arguments.rows:
            make_file(path, n_rows)
            print(f"\n{path.stat().st_size / 1e9:.2f} GB of Parquet.", flush=True)
            print_ratios(path, arguments.goes)
            print_memory(path)
            if arguments.spark:
                print_spark(path, n_rows, arguments.goes)


if __name__ == "__main__":
    main()
