"""What the terminal shows: numbers whole at any width, and how far long work has come."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from headstart.reports.audit_terminal import print_section
from headstart.reports.section import Section

NAMES = ("policy", "right", "levels", "inflated action", "deflated", "seasons", "worst, 5 %")
ROWS = (
    ("start, trust 0.5, floor 5%", "+10,203", "+5.32", "-100.4", "-17,274", "+105.44", "-10,540"),
    ("the log's winner", "+12,203", "+25.3", "-101.4", "-17,374", "+106.44", "-17,275"),
)


@pytest.mark.parametrize("width", [40, 50, 60, 70, 80, 90, 200])
def test_no_number_of_a_table_is_cut_however_narrow_the_terminal(width: int):
    """At 80 columns, which is also the width of a file, a worst case of -104 was shown as -10."""
    written = io.StringIO()
    print_section(Section("scenarios", "And if?", (), NAMES, ROWS), Console(file=written, width=width))
    words = written.getvalue().split()
    for row in ROWS:
        assert set(row[1:]) <= set(words)
    assert max(map(len, written.getvalue().splitlines())) <= width


def test_headers_of_several_words_cut_no_number_either():
    """A rehearsal's table at 80 columns: rich narrows columns below what they need, and cuts the last."""
    names = ("policy", "the log is right", "all levels shifted", "the winner flattered", "the best slandered",
             "outcomes a day late", "worst, 5 %")  # fmt: skip
    row = ("start, trust 0.5, floor 5%", "+159", "+276", "+94.8", "-1,302", "+76.2", "-1,514")
    written = io.StringIO()
    print_section(Section("scenarios", "And if?", (), names, (row,)), Console(file=written, width=80))
    assert set(row[1:]) <= set(written.getvalue().split())


def test_long_work_says_how_far_it_is_where_nobody_watches(monkeypatch, capsys):
    from headstart.cli import terminal

    now = iter([0.0, 1.0, 20.0, 20.0, 21.0, 40.0, 40.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(terminal, "err", Console(stderr=True, width=200))
    monkeypatch.setattr(terminal, "Progress", _Silent)
    with terminal.progress_bar("Rehearsing", 1000) as advance:
        for _ in range(4):
            advance(200)
    assert capsys.readouterr().err == "Rehearsing: 400 of 1,000\nRehearsing: 800 of 1,000\n"


class _Silent:
    """No clock of its own."""

    def __init__(self, *columns: object, **settings: object) -> None:
        pass

    def __enter__(self) -> _Silent:
        return self

    def __exit__(self, *ended: object) -> None:
        pass

    def add_task(self, what: str, total: int) -> int:
        return 0

    def advance(self, task: int, n: int) -> None:
        pass
