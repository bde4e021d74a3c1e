"""Doubly robust means of tables whose outcomes bend: with lines alone, and with the regression that a sample chooses.

`python -m benchmarks.bent_tables` writes bent worlds of 2 million rows as Parquet and prints, over these tables, how
far the means are off, in outcomes and in their own standard errors, and what one estimate costs (an estimate of a
fresh process, its scans included).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.robust_logs import FAMILIES, Family, draw_log, true_means
from benchmarks.timing import cost_of
from headstart.arrays import Floats

_PIECE = 200_000
_SCRIPT = """
import sys
import numpy as np
import headstart as hs
from headstart.estimates.table_means import robust_table_means
path, tries, *contexts = sys.argv[1:]
log = hs.scan_log(path, action="action", outcome="outcome", contexts=contexts, propensity="propensity")
found = robust_table_means(log, log.sample(100_000, rng=0), tries_others=tries == "chosen")
np.savez(path + ".npz", means=found.summary.means, errors=found.corrected.errors, how=found.how)
"""


def write_table(path: Path, family: Family, kind: str, k: int, n: int, seed: int) -> list[str]:
    """A world's log, a piece at a time; the names of its contexts."""
    writer: pq.ParquetWriter | None = None
    names: list[str] = []
    for piece in range(-(-n // _PIECE)):
        rng = np.random.default_rng([family.stream, 2, k, seed, piece])
        log = draw_log(rng, kind, family, k, min(_PIECE, n - piece * _PIECE))
        names = [f"c{j}" for j in range(log.n_features)]
        columns = dict(zip(names, log.contexts.T, strict=True))
        assert log.propensities is not None
        table = pa.table({"action": log.actions, "outcome": log.outcomes, "propensity": log.propensities, **columns})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return names


def estimate(path: Path, how: str, contexts: list[str], truth: Floats) -> tuple[Floats, Floats, str, str]:
    """Errors of the means, their standard errors, the regression, and the cost in words."""
    cost = cost_of([sys.executable, "-c", _SCRIPT, str(path), how, *contexts])
    found = np.load(f"{path}.npz")
    words = f"{cost.seconds:.1f} s, {cost.worked:.1f} s of CPU, {cost.megabytes:.0f} MB"
    return found["means"] - truth, found["errors"], str(found["how"]), words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--tables", type=int, default=5)
    parser.add_argument("--actions", type=int, default=5)
    parser.add_argument("--kind", default="bent")
    parser.add_argument("--family", choices=sorted(FAMILIES), default="reported")
    parser.add_argument("--folder", type=Path, help="where the files are made, and removed again")
    given = parser.parse_args()
    family, k = FAMILIES[given.family], given.actions
    truth = true_means(given.kind, family, k, 10 * given.rows)
    print(f"{given.tables} tables of {given.rows:,} rows, {given.kind}, {k} actions, {given.family} family")
    found: dict[str, list[tuple[Floats, Floats]]] = {"lines": [], "chosen": []}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for number in range(given.tables):
            path = Path(folder) / "log.parquet"
            contexts = write_table(path, family, given.kind, k, given.rows, number)
            for how, kept in found.items():
                errors, deviations, regression, words = estimate(path, how, contexts, truth)
                kept.append((errors, deviations))
                print(f"table {number}, {how:6}: {regression}; {words}", flush=True)
    for how, kept in found.items():
        off, said = np.array([each[0] for each in kept]), np.array([each[1] for each in kept])
        print(
            f"{how:6}: off by {np.sqrt(np.mean(off**2)):.5f}, standard error {np.sqrt(np.mean(said**2)):.5f}, "
            f"off by {np.sqrt(np.mean((off / said) ** 2)):.2f} standard errors"
        )


if __name__ == "__main__":
    main()
