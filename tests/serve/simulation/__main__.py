"""`python -m tests.serve.simulation --seeds 0:10000 --jobs 2` runs seeds; `--seed 123 --verbose` tells of one.

Kernels run interpreted (NUMBA_DISABLE_JIT=1), because compiling every oracle with every evaluator would take hours;
`--compiled` runs them as machine code.
"""

from __future__ import annotations

import argparse
import os
import sys


def main() -> int:
    """How many seeds failed, at most 100."""
    parser = argparse.ArgumentParser(prog="tests.serve.simulation", description=__doc__)
    parser.add_argument("--seeds", default="0:1000", help="first:last, the last one not included")
    parser.add_argument("--seed", type=int, help="one seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--verbose", action="store_true", help="tell the story")
    parser.add_argument("--compiled", action="store_true", help="kernels as machine code")
    asked = parser.parse_args()
    os.environ.setdefault("NUMBA_DISABLE_JIT", "0" if asked.compiled else "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imported now: numba reads its settings when it is.
    from tests.serve.simulation.running import run_many, run_seed

    if asked.seed is not None:
        found = run_seed(asked.seed, print if asked.verbose else None)
        print(found.line())
        if found.trace:
            print(found.trace)
        return int(found.cause is not None)
    first, _, last = asked.seeds.partition(":")
    return min(100, run_many(range(int(first), int(last)), asked.jobs))


if __name__ == "__main__":
    sys.exit(main())
