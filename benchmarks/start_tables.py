"""`start` on a table that does not fit: seconds by the clock, of CPU, and the peak memory of the whole process.

python -m benchmarks.start_tables                    # 10 million rows of Parquet, propensities logged
python -m benchmarks.start_tables --estimated        # the same without its propensities
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.tables import CONTEXTS, make_file
from benchmarks.timing import cost_of

_SCRIPT = """
import sys
import headstart as hs
path, propensity, *contexts = sys.argv[1:]
log = hs.scan_log(path, action="action", outcome="outcome", contexts=contexts, propensity=propensity or None)
policy = hs.start(log, rng=0)
print(policy.play(), file=sys.stderr)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--goes", type=int, default=3)
    parser.add_argument("--estimated", action="store_true", help="leave the propensities out")
    parser.add_argument("--folder", type=Path, help="where the file is made, and removed again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "log.parquet"
        make_file(path, given.rows)
        print(f"start on {given.rows:,} rows of Parquet; load of the machine {os.getloadavg()[0]:.1f}", flush=True)
        command = [sys.executable, "-c", _SCRIPT, str(path), "" if given.estimated else "propensity", *CONTEXTS]
        for _ in range(given.goes):
            cost = cost_of(command)
            print(
                f"{cost.seconds:.1f} s by the clock, {cost.worked:.1f} s of CPU, {cost.megabytes:.0f} MB at most",
                flush=True,
            )


if __name__ == "__main__":
    main()
