"""headstart warm and headstart doctor."""

import json

import numpy as np
from typer.testing import CliRunner

import headstart as hs
from headstart.cli import app
from headstart.cli import warm as command
from headstart.kernels.keeping import CodeFolder, find_code_folder
from headstart.parts.warming import warm


def run(*arguments):
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done


def test_doctor_tells_what_is_there():
    told = json.loads(run("doctor", "--json").stdout)
    assert told["headstart"] == hs.__version__
    assert told["versions"]["numpy"] == np.__version__
    assert told["missing"] == {}  # tests have every extra
    text = run("doctor").stdout
    assert "compiled code" in text
    assert "[serve]" in text


def test_warming_leaves_the_policy_as_it_was():
    for policy in (hs.ThompsonBeta(3, rng=1), hs.LinUCB(2, 3), hs.UCB(2)):
        before = policy.get_state()
        warm(policy)
        after = policy.get_state()
        assert all(np.array_equal(before[name], after[name]) for name in before)


def test_warm_says_what_it_compiled_and_how_long_it_took(monkeypatch):
    done = []
    monkeypatch.setattr(
        command, "_jobs", lambda: {"start [all]": lambda: done.append(1), "LinUCB": lambda: done.append(2)}
    )
    lines = run("warm").stdout.splitlines()
    assert done == [1, 2]
    assert [line.split("  ")[-1] for line in lines[:2]] == ["start [all]", "LinUCB"]
    assert " ".join(lines[2:]).split("  ")[-1].startswith("in all; kept in ")


def test_a_folder_among_temporary_files_is_told_with_what_to_do(monkeypatch):
    place = CodeFolder(find_code_folder().folder, "/home/x cannot be written to (Read-only file system)")
    monkeypatch.setattr("headstart.kernels.keeping.find_code_folder", lambda: place)
    told = json.loads(run("doctor", "--json").stdout)
    assert "export NUMBA_CACHE_DIR=" in told["advice"][0]


def test_warming_does_not_copy_the_log():
    """A copy would ask a table for rows that nobody needs; what is in flight is warmed all the same."""
    log = hs.Log(np.arange(40) % 2, np.arange(40.0) % 3, propensities=np.full(40, 0.5))
    evaluator = hs.IPSWeighting(log)
    asked = []
    evaluator._ask_everything = lambda: asked.append(1)  # what a copy begins with
    policy = hs.WarmStart(hs.UCB(2), evaluator, rng=1)
    policy.settle()
    before = policy.virtual_plays
    warm(policy)
    assert not asked
    assert np.array_equal(policy.virtual_plays, before)
    assert policy.get_state()["oracle"]["tally.counts"].sum() == before.sum()
