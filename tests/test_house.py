"""The bars by which the house is kept (`python tools/house.py` prints the figures)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools.house import House, count_house

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src"
WALKS = """
from tools.trace_start import trace_starts

for found in trace_starts(["chance"]).values():
    print(len(found.files), len(found.rooms), found.changes)
"""


@pytest.fixture(scope="module")
def house() -> House:
    return count_house(SOURCES)


def test_types_are_said(house: House):
    assert house.any_per_thousand <= 12.0, house.any_words.most_common(10)


def test_abilities_are_not_asked_for_by_string(house: House):
    assert house.n_lookups <= 25, house.lookups.most_common(10)


def test_a_name_is_of_one_thing(house: House):
    assert len(house.names_of_two) <= 6, house.names_of_two


def test_a_function_fits_on_a_screen(house: House):
    assert not house.long_functions


def test_a_start_walks_through_few_files():
    """Files, rooms and changes of file of start(log) and start(log, decide_on=...), as compiled; from a process of
    its own, whose profile nobody else needs."""
    path = os.pathsep.join([str(SOURCES), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "0"}
    run = subprocess.run(
        [sys.executable, "-c", WALKS], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    for_all, by_context = (tuple(map(int, line.split())) for line in run.stdout.splitlines())
    # Two files more for all users than at first: the line that steadies what is learnt, and who fits it.
    for found, bar in ((for_all, (17, 8, 35)), (by_context, (24, 9, 105))):
        assert all(n <= most for n, most in zip(found, bar, strict=True)), (found, bar)


def test_figures_are_counted_from_the_syntax(tmp_path: Path):
    """Two Any in code, none of them in words; one getattr; `f` in two files; 61 lines of a function's code."""
    (tmp_path / "one.py").write_text(
        '"""Any."""\nfrom typing import Any  # Any\n\n\ndef f(x: Any) -> Any:\n    return getattr(x, "Any")\n'
    )
    (tmp_path / "two.py").write_text(
        'def f():\n    """Two\n    lines."""\n' + "    pass\n" * 60 + "\n\ndef _f():\n    pass\n"
    )
    found = count_house(tmp_path)
    assert (found.any_words.total(), found.n_lookups) == (2, 1)
    assert found.names_of_two == {"f": ["one.py", "two.py"]}
    assert found.long_functions == {"two.py:1 f": 61}
