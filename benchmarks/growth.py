"""How cost grows with rows: read, audit, start and decide at 1, 10 and 100 million rows of Parquet.

python -m benchmarks.growth                      # 1 and 10 million rows: some minutes
python -m benchmarks.growth --rows 100000000     # a file of 5 GB

Each job is a process of its own, from the interpreter's start to its end, imports included, kernels compiled before:
seconds by the clock, of the processors, and the peak memory. `read` opens the file, checks every row and estimates
each action's mean by inverse propensities; `decide` writes an action and its propensity for as many users.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.decide import make_users
from benchmarks.tables import CONTEXTS, make_file
from benchmarks.timing import cost_of, print_table

_OPEN = """
import sys
import headstart as hs
path, users, policy, decided, *contexts = sys.argv[1:]
log = hs.scan_log(path, action="action", outcome="outcome", contexts=contexts, propensity="propensity")
"""
JOBS = {
    "read": f"{_OPEN}print(hs.IPSWeighting(log).means)",
    "audit": f"{_OPEN}print(hs.audit(log).verdict)",
    "start": f"{_OPEN}hs.start(log, rng=0).save(policy)",
    "decide": "import sys, headstart as hs\nhs.load(sys.argv[3]).decide(sys.argv[2]).write(sys.argv[4])",
}
WARM_ROWS = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--folder", type=Path, help="where the files are made, and removed again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        run_jobs(Path(folder), WARM_ROWS, given.jobs)  # kernels are compiled
        rows = [row for n in given.rows for row in run_jobs(Path(folder), n, given.jobs)]
    title = f"Cost by rows of Parquet; load of the machine {os.getloadavg()[0]:.1f}"
    print_table(title, ("rows", "job", "clock, s", "CPU, s", "peak, MB"), rows)


def run_jobs(folder: Path, n_rows: int, jobs: list[str]) -> list[tuple[str, ...]]:
    """Each job on a file of so many rows, as rows of the table; `decide` needs the policy that `start` left."""
    path, users = folder / "log.parquet", folder / "users.parquet"
    policy, decided = folder / "policy.headstart", folder / "decided.parquet"
    make_file(path, n_rows)
    if "decide" in jobs:
        make_users(users, n_rows, CONTEXTS)
    rows = []
    for job in jobs:
        decided.unlink(missing_ok=True)
        cost = cost_of([sys.executable, "-c", JOBS[job], *map(str, (path, users, policy, decided)), *CONTEXTS])
        rows.append((f"{n_rows:,}", job, f"{cost.seconds:.1f}", f"{cost.worked:.1f}", f"{cost.megabytes:.0f}"))
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    main()
