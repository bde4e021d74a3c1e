"""`start` on a table that does not fit: seconds by the clock, of CPU, and the peak memory of the whole process.

python -m benchmarks.start_tables                    # 10 million rows of Parquet, propensities logged
python -m benchmarks.start_tables --estimated        # the same without its propensities
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.tables import CONTEXTS, make_file

_SCRIPT = """
import sys
import headstart as hs
path, propensity, *contexts = sys.argv[1:]
log = hs.scan_log(path, action="action", outcome="outcome", contexts=contexts, propensity=propensity or None)
policy = hs.start(log, rng=0)
print(policy.play(), file=sys.stderr)
"""


def run(path: Path, *, is_estimated: bool) -> tuple[float, float, float]:
    """Seconds by the clock, of CPU, and MB at most, from the interpreter's start to its end."""
    began = time.perf_counter()
    command = [sys.executable, "-c", _SCRIPT, str(path), "" if is_estimated else "propensity", *CONTEXTS]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        assert child.stderr is not None
        raise SystemExit(child.stderr.read().decode())
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


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
        for _ in range(given.goes):
            clock, cpu, peak = run(path, is_estimated=given.estimated)
            print(f"{clock:.1f} s by the clock, {cpu:.1f} s of CPU, {peak:.0f} MB at most", flush=True)


if __name__ == "__main__":
    main()
