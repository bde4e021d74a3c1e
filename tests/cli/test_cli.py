"""The command line, run as a user would."""

import json
import signal
import subprocess
import sys

import psutil
import pytest
from tools.calling import call_headstart

from tests.serve.waiting import wait


def headstart(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "headstart.cli", *arguments], capture_output=True, text=True, cwd=cwd, timeout=300
    )


def test_help_teaches_every_command():
    done = headstart("--help")
    assert done.returncode == 0
    for word in ("demo", "reproduce"):
        assert word in done.stdout


def test_reproduce_prints_one_json_object_a_line(tmp_path):
    done = call_headstart("reproduce", "ucb-ipsw", "--runs", "4", "--seed", "2", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["series"] for row in rows] == ["offline+online", "only online", "only offline"]
    assert all(row["runs"] == 4 and row["rounds"] == 1000 for row in rows)


def test_the_same_seed_gives_the_same_json_whatever_the_jobs(tmp_path):
    lines = []
    for jobs in ("1", "2"):
        arguments = ("reproduce", "ucb-psm", "--runs", "6", "--seed", "3", "--jobs", jobs, "--json")
        done = call_headstart(*arguments, cwd=tmp_path)
        lines.append([{**json.loads(line), "seconds": 0} for line in done.stdout.splitlines()])
    assert lines[0] == lines[1]
    assert len(lines[0]) == 3


def test_reproduce_lists_its_experiments(tmp_path):
    done = call_headstart("reproduce", "--list", cwd=tmp_path)
    assert done.returncode == 0
    for name in ("intro", "ucb-em", "ucb-psm", "ucb-ipsw"):
        assert name in done.stdout


MISTAKES = [
    (("reproduce", "nonsense"), "unknown experiment 'nonsense'"),
    (("reproduce", "intro", "--runs", "0"), "runs"),
    (("reproduce", "intro", "--figure", "nowhere/at/all.png"), "does not exist"),
    (("demo", "--figure", "demo.gif"), "must end in .png or .svg"),
    (("nonsense",), "nonsense"),
    (("start", "log.csv", "--floor", "0.1"), "headstart decide LOG USERS"),
    (("reproduce", "yahoo-ipsw"), "needs --data PATH"),
    (("reproduce", "yahoo-ipsw", "--data", "nowhere"), "nowhere"),
    (("reproduce", "all", "--out", "/proc/nowhere"), "cannot be made"),
]


def is_told(done, message):
    """In one clear error, without a traceback."""
    return (
        done.returncode != 0
        and message in " ".join((done.stdout + done.stderr).replace("│", " ").split())
        and "Traceback" not in done.stderr
    )


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_one_clear_error_and_no_traceback(arguments, message, tmp_path):
    done = call_headstart(*arguments, cwd=tmp_path)
    assert is_told(done, message), (done.stdout, done.stderr)


def test_a_process_tells_a_mistake_as_well(tmp_path):
    arguments, message = MISTAKES[0]
    done = headstart(*arguments, cwd=tmp_path)
    assert is_told(done, message), (done.stdout, done.stderr)


def test_the_demo_tells_the_whole_story(tmp_path):
    done = headstart("demo", "--runs", "20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    for words in (
        "The raw average says",
        "Causal inference says",
        "UCB with the log",
        "hs.start",
        "A/B test",
        "What happened",
    ):
        assert words in text
    picture = (tmp_path / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000


def test_an_interruption_ends_the_work_soon_and_leaves_no_half_result(tmp_path):
    """SIGINT in the middle of a job of minutes: it ends within seconds, and --out holds no row of it.

    What a shell begins with & ignores SIGINT, and so would all that these tests begin.
    """
    arguments = ["reproduce", "intro", "--runs", "100000", "--out", "here"]
    with subprocess.Popen(
        [sys.executable, "-m", "headstart.cli", *arguments],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        wait(lambda: psutil.Process(process.pid).cpu_times().user > 4.0, 120)  # it began to work after two of them
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) != 0
    assert not (tmp_path / "here" / "intro.jsonl").exists()
