"""`headstart compare`, run as a user would."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from tools.calling import call_headstart

from headstart.judgement.compare.compare import compare
from headstart.judgement.compare.policies import COLD, NAIVE
from headstart.logs.log import Log
from headstart.oracles import UCB
from headstart.reports.compare_figure import draw_comparison

COLUMNS = ("--action", "ad", "--outcome", "click", "--contexts", "kind")


def headstart(*arguments: str, cwd: Path) -> CompletedProcess[str]:
    return call_headstart("compare", *arguments, cwd=cwd)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """log.csv: 900 users of two kinds, two ads, chances 0.3 and 0.7 by kind; red is clicked twice as often."""
    rng = np.random.default_rng(1)
    with (tmp_path / "log.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["ad", "click", "kind", "p"])
        for kind in rng.integers(2, size=900):
            red = 0.3 if kind else 0.7
            ad = "red" if rng.random() < red else "blue"
            click = int(rng.random() < (0.8 if ad == "red" else 0.4))
            lines.writerow([ad, click, ("old", "young")[kind], red if ad == "red" else round(1 - red, 2)])
    return tmp_path


def test_a_table_a_verdict_and_a_figure(folder: Path):
    arguments = ("--propensity", "p", "--policies", "ucb cold", "--shuffles", "3", "--figure", "out.png")
    done = headstart("log.csv", *COLUMNS, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    for words in (
        "doubly robust",
        "today's policy",
        "ucb cold",
        "cold",
        "naive",
        "earned most",
        "naive and cold differ by",
    ):
        assert words in text
    assert "estimated" not in text
    assert (folder / "out.png").read_bytes().startswith(b"\x89PNG")


def test_json_is_one_object_and_the_same_whatever_the_jobs(folder: Path):
    found = []
    for jobs in ("1", "2"):
        settings = ("--policies", "ucb cold", "--shuffles", "3", "--rounds", "60", "--jobs", jobs, "--json")
        done = headstart("log.csv", *COLUMNS, "--propensity", "none", *settings, cwd=folder)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    assert {policy["name"] for policy in found[0]["policies"]} == {"cold", "naive", "ucb cold", "today's policy"}
    assert "they were estimated from its contexts" in found[0]["notes"][0]
    assert found[0]["rounds"] == 60
    assert len(found[0]["to_cold"]) == len(found[0]["to_today"]) == 3


def test_by_time(folder: Path):
    settings = ("--policies", "ucb cold", "--shuffles", "2", "--rounds", "40", "--split", "time", "--json")
    done = headstart("log.csv", *COLUMNS, "--propensity", "p", *settings, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["split"] == "time"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.csv",), "nowhere.csv"),
        (("log.csv", *COLUMNS, "--split", "half"), "split must be 'random' or 'time'"),
        (
            ("log.csv", *COLUMNS, "--policies", "nobody"),
            "unknown policy 'nobody'; known for this log: start, cold, naive",
        ),
        (("log.csv", *COLUMNS, "--share", "1"), "share must leave at least two rows on both sides"),
        (("log.csv", "--action", "nothing"), "nothing"),
    ],
)
def test_a_mistake_is_one_clear_error_and_exit_code_1(arguments: tuple[str, ...], message: str, folder: Path):
    done = headstart(*arguments, cwd=folder)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_figure_that_cannot_be_written_is_told_before_the_work(folder: Path):
    done = headstart("log.csv", "--figure", "out.gif", cwd=folder)
    assert done.returncode == 2
    assert "must end in .png or .svg" in " ".join(done.stderr.split())


def test_the_same_comparison_gives_the_same_figure(tmp_path: Path):
    rng = np.random.default_rng(2)
    log = Log(rng.integers(2, size=200), rng.random(200), None, np.full(200, 0.5), n_actions=2)
    policies = dict.fromkeys((COLD, NAIVE, "other"), lambda part, rng: UCB(2))
    found = compare(log, policies, shuffles=2)
    for name in ("one.svg", "two.svg"):
        draw_comparison(found, tmp_path / name)
    one = (tmp_path / "one.svg").read_text()
    assert one == (tmp_path / "two.svg").read_text()
    assert "<svg" in one
