"""How often 95 % intervals of doubly robust means hold the truth: 2,000 logs of 300 rows and 5 actions of each
kind."""

from __future__ import annotations

import argparse

from tests.evaluators.test_doubly_robust import coverage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=2000)
    n_logs = parser.parse_args().logs
    print(f"share of 95 % intervals that hold the truth, {n_logs} logs x 5 actions")
    for kind in ("normal", "skewed", "binary"):
        for is_estimated in (False, True):
            given = "estimated" if is_estimated else "true"
            held = coverage(kind, n_logs, is_estimated=is_estimated)
            print(f"{kind:8s} {given:9s} propensities  {held:.4f}", flush=True)


if __name__ == "__main__":
    main()
