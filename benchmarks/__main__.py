"""Every benchmark in turn, each a command of its own, and the page of their tables, docs/performance.md.

`python -m benchmarks` runs all of them, about 45 minutes of two quiet cores; `python -m benchmarks core linear` runs
some, `--quick` those of a minute or less, `--page` none. What is not run keeps the tables of its last run, with their
day.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
from importlib import metadata

from benchmarks.catalogue import BENCHMARKS, Benchmark
from benchmarks.page import PAGE, ROOT, Record, read_records, write_page, write_records


def main() -> None:
    """Run, keep, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(each.name for each in BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="those of a minute or less")
    parser.add_argument("--page", action="store_true", help="run none, write the page")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - {each.name for each in BENCHMARKS})
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}")
    records = read_records()
    for each in _choose(given.names, is_quick=given.quick, is_page=given.page):
        print(f"\n{each.title}: python -m {each.command}", flush=True)
        records[each.name] = run(each, records.get(each.name))
        write_records(records)
    write_page(records)
    print(f"\nThe page is {PAGE.relative_to(ROOT)}.")


def _choose(names: list[str], *, is_quick: bool, is_page: bool) -> list[Benchmark]:
    if is_page:
        return []
    if is_quick:
        return [each for each in BENCHMARKS if each.minutes <= 1.0]
    return [each for each in BENCHMARKS if not names or each.name in names]


def run(benchmark: Benchmark, before: Record | None) -> Record:
    """What it prints, as it prints it; where it fails, what is known of before and why."""
    load = os.getloadavg()[0]
    command = [sys.executable, "-m", *benchmark.command.split()]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:  # what it warns of is not its tables
        assert process.stdout is not None
        assert process.stderr is not None
        output = ""
        for line in process.stdout:
            print(line, end="", flush=True)
            output += line
        told = process.stderr.read().strip()
    if process.returncode == 0:
        return {"output": output, "when": f"{datetime.date.today():%Y-%m-%d}", "on": _circumstances(load)}
    print(told, file=sys.stderr)
    reason = told.splitlines()[-1] if told else f"it ended with {process.returncode}"
    return {**(before or {}), "problem": reason.rstrip(".")}


def _circumstances(load: float) -> str:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numba", "numpy"))
    busy = "" if load < 0.5 else f", beside other work (load {load:.1f})"
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}{busy}"


if __name__ == "__main__":
    main()
