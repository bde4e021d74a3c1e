"""How long each file of tests takes: the longest begin first, and `make quick` leaves them out.

`python -m pytest -n 3 --dist loadfile --measure` runs all tests on two quiet cores and writes durations.json. A file
that is not in it is short.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_name("durations.json")
TOLD = 1.0  # seconds: shorter files are not in the table
QUICK = 2.0  # seconds: the inner loop leaves out what takes longer


def read_durations(table: Path = TABLE) -> dict[str, float]:
    """Seconds by file, as `tests/test_site.py`."""
    found: dict[str, float] = json.loads(table.read_text())
    return found


def name_of(path: Path) -> str:
    """A file as the table calls it."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()


class Measurement:
    """A plugin that adds up what the tests of each file take, and writes the table."""

    def __init__(self, table: Path = TABLE) -> None:
        self._table, self._seconds = table, Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Setting up, running and tearing down, wherever they ran."""
        self._seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Files that were not run keep what they had."""
        known = {file: seconds for file, seconds in read_durations(self._table).items() if file not in self._seconds}
        found = {**known, **{file: round(s, 1) for file, s in self._seconds.items() if s >= TOLD}}
        longest = sorted(
            ((file, s) for file, s in found.items() if (ROOT / file).exists()), key=lambda pair: -pair[1]
        )
        self._table.write_text(json.dumps(dict(longest), indent=1) + "\n")
