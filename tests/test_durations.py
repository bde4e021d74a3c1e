"""The table of how long tests take: of files that exist, the longest first, and renewed by a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.durations import ROOT, Measurement, name_of, read_durations


def _report(nodeid: str, seconds: float) -> pytest.TestReport:
    return pytest.TestReport(nodeid, ("", 0, ""), {}, "passed", None, "call", duration=seconds)


def test_the_table_is_of_files_that_exist_longest_first():
    table = read_durations()
    assert all((ROOT / file).exists() for file in table)
    assert list(table.values()) == sorted(table.values(), reverse=True)


def test_a_run_renews_what_it_ran_and_keeps_the_rest(tmp_path: Path):
    path = tmp_path / "durations.json"
    path.write_text(json.dumps({"tests/test_site.py": 90.0, "tests/test_house.py": 5.0, "tests/test_gone.py": 7.0}))
    measured = Measurement(path)
    for seconds in (60.0, 40.04):
        measured.pytest_runtest_logreport(_report("tests/test_documents.py::test_links", seconds))
    measured.pytest_runtest_logreport(_report("tests/test_house.py::test_types_are_said", 0.2))  # short by now
    measured.pytest_sessionfinish()
    assert list(read_durations(path).items()) == [("tests/test_documents.py", 100.0), ("tests/test_site.py", 90.0)]


def test_files_are_called_as_pytest_calls_them():
    assert name_of(Path(__file__)) == "tests/test_durations.py"
    assert name_of(Path("/elsewhere/test_x.py")) == "/elsewhere/test_x.py"
