"""`headstart rehearse`, run as a user would."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from tools.calling import call_headstart


def headstart(*arguments: str, cwd: Path) -> CompletedProcess[str]:
    return call_headstart("rehearse", *arguments, cwd=cwd)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """log.csv: 300 users of two kinds, two ads by lot; red is clicked twice as often."""
    rng = np.random.default_rng(1)
    with (tmp_path / "log.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["ad", "click", "kind", "p"])
        for kind in rng.integers(2, size=300):
            ad = "red" if rng.random() < 0.5 else "blue"
            lines.writerow([ad, int(rng.random() < (0.8 if ad == "red" else 0.4)), ("old", "young")[kind], 0.5])
    return tmp_path


COLUMNS = ("--action", "ad", "--outcome", "click", "--contexts", "kind", "--propensity", "p")
QUICK = ("--users-per-day", "30", "--days", "4", "--worlds", "3", "--jobs", "1")


def test_the_report_and_the_page(folder: Path):
    done = headstart("log.csv", *COLUMNS, *QUICK, "--html", "out.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "What is it expected to earn?" in done.stdout
    assert "What it cannot know" in done.stdout
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "Rehearsal of log.csv" in page
    assert "<script" not in page


def test_json(folder: Path):
    done = headstart("log.csv", *COLUMNS, *QUICK, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["users_per_day"] == 30
    assert told["action_names"] == ["blue", "red"]
    assert {"trust", "floor", "hold_out", "policy", "reasons"} == set(told["advice"])
    assert len({each["scenario"] for each in told["forecasts"]}) == 5


def test_what_is_wrong_is_said_in_one_line(folder: Path):
    missing = headstart("log.csv", *COLUMNS, cwd=folder)
    assert missing.returncode == 2
    assert "--users-per-day" in missing.stderr
    unknown = headstart("log.csv", *COLUMNS, *QUICK, "--decide-on", "kindd", cwd=folder)
    assert unknown.returncode == 1
    assert "did you mean 'kind'" in " ".join(unknown.stderr.split())
    nowhere = headstart("log.csv", *COLUMNS, *QUICK, "--html", "no/out.html", cwd=folder)
    assert nowhere.returncode == 2
    assert not (folder / "no").exists()
