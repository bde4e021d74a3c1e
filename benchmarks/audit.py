"""`headstart audit` of a large Parquet file: seconds, peak memory, and how many bare passes over the file that is."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import duckdb

from benchmarks.tables import BARE_WEIGHTING, make_file
from benchmarks.timing import best_seconds, cost_of, print_table


def bare_pass(path: Path) -> object:
    """The sums of weighting by hand: the least that an audit of all rows must read."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE VIEW log AS SELECT * FROM read_parquet('{path}')")
    return connection.execute(BARE_WEIGHTING).fetchall()


def main(n_rows: int = 10_000_000) -> None:
    """Wall-clock seconds of the whole command, from a cold start, beside the seconds that its processors worked."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        make_file(path, n_rows)
        bare = best_seconds(lambda: bare_pass(path))
        command = [sys.executable, "-m", "headstart.cli", "audit", str(path), "--json"]
        cost = cost_of(command)
    decision = json.loads(cost.output)["verdict"]["decision"]
    row = [f"{n_rows:,}", decision, f"{cost.seconds:.1f} s", f"{cost.worked:.1f} s", f"{cost.seconds / bare:.0f}"]
    header = ["rows", "verdict", "seconds", "of work", "bare passes on one thread", "peak memory"]
    print_table(
        "headstart audit of a Parquet file: 10 actions, 6 contexts, propensities",
        header,
        [[*row, f"{cost.megabytes:.0f} MB"]],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    main(parser.parse_args().rows)
