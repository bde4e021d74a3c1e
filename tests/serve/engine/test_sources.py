"""A log as an experiment takes it up: its actions and columns in the experiment's order, or why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.errors import LogError, OptionError
from headstart.serve.config import ExperimentConfig, read_experiment
from headstart.serve.engine.policies import build_policy
from headstart.serve.engine.sources import Sources, read_source

LINEAR = {"oracle": "LinUCB", "evaluator": "LinearModel"}
ALIKE = {"x": ["0", "1"], "x=1": "number"}


def logged(n: int = 100) -> hs.Log:
    """The category 1 of the column `x` is called as the number `x=1`."""
    rng = np.random.default_rng(0)
    contexts = {"x": np.array(["0", "1"])[rng.integers(0, 2, n)], "x=1": rng.normal(size=n)}
    actions = np.array(["b", "a"])[rng.integers(0, 2, n)]
    return hs.Log(actions, rng.random(n), contexts, propensities=np.full(n, 0.5))


def declared(contexts: dict[str, Any], log: hs.Log, **settings: Any) -> ExperimentConfig:
    return read_experiment("ads", {"actions": ["a", "b"], "contexts": contexts, "log": log, **settings})


def taken(contexts: dict[str, Any], log: hs.Log) -> hs.Log:
    source = read_source(declared(contexts, log))
    assert source is not None
    return source.log


def test_a_number_column_is_not_a_category_that_is_called_alike():
    log = logged()
    found = taken({"x=1": "number"}, log)
    assert found.encoding.columns == ("x=1", "x")
    np.testing.assert_array_equal(found.contexts, log.contexts[:, [2, 0, 1]])
    both = taken(ALIKE, log)
    np.testing.assert_array_equal(both.contexts, log.contexts)
    assert build_policy(declared(ALIKE, log, **LINEAR), both).has_context


def test_rows_keep_their_actions_and_categories_in_the_experiments_order():
    log = logged()
    found = taken({"x": ["2", "1", "0"]}, log)
    assert found.context_names == ("x=2", "x=1", "x=0", "x=1")
    np.testing.assert_array_equal(found.contexts[:, 1:], log.contexts[:, [1, 0, 2]])
    assert not found.contexts[:, 0].any()  # never shown
    assert [found.action_names[a] for a in found.actions] == [log.action_names[a] for a in log.actions]


@pytest.mark.parametrize("column", ["income", "income=y"])
def test_a_column_that_the_log_lacks_is_named(column: str):
    log, contexts, more = logged(), {column: "number"}, {column: "number", "x=1": "number"}
    known = rf"decides on '{column}', which experiments\.ads\.log has not; its columns: "
    with pytest.raises(OptionError, match=known + "x, x=1"):
        build_policy(declared(contexts, log, **LINEAR), taken(contexts, log))
    with pytest.raises(OptionError, match=known + "x=1, x"):  # what `start` chooses would decide on the other
        build_policy(declared(more, log), taken(more, log))


@pytest.mark.parametrize(
    ("contexts", "text"),
    [
        ({"x": "number"}, r"ads\.contexts\.x is a number, but the log has categories: \['0', '1'\]"),
        ({"x": ["0"]}, r"the log has x = '1', which experiments\.ads\.contexts\.x has not"),
        ({"x=1": ["0", "1"]}, r"ads\.contexts\.x=1 has categories, but the log has numbers"),
    ],
)
def test_a_column_of_another_kind_is_refused(contexts: dict[str, Any], text: str):
    with pytest.raises(LogError, match=text):
        taken(contexts, logged())


def test_what_start_makes_of_a_log_shows_its_plays():
    log = logged().without(["x", "x=1"])
    policy = build_policy(declared({}, log), taken({}, log))
    sizes = hs.start(taken({}, log)).effective_sizes
    assert policy.virtual_plays() == np.floor(sizes).astype(int).tolist()
    assert min(policy.virtual_plays()) > 0


def test_a_file_that_is_read_again_and_is_the_same_is_the_log_that_is_known(tmp_path: Path):
    """With what was made of it; another row makes another log, and so does another way to read it."""
    path, sources = tmp_path / "log.csv", Sources()
    lines = ["ad,gain,age", *(f"{'ab'[i % 2]},{i % 3},{i}" for i in range(50))]
    path.write_text("\n".join(lines))
    columns = {"path": str(path), "action": "ad", "outcome": "gain"}
    config = read_experiment("ads", {"actions": ["a", "b"], "log": columns})
    first, again = sources.read(config), sources.read(config)
    assert first is not None
    assert again is not None
    assert (again.log is first.log, again.starts is first.starts) == (True, True)
    estimated = read_experiment("ads", {"actions": ["a", "b"], "log": {**columns, "estimate_propensities": True}})
    filled = sources.read(estimated)
    assert filled is not None
    assert (filled.hash == first.hash, filled.starts is first.starts) == (True, False)
    path.write_text("\n".join([*lines, "a,1,51"]))
    longer = sources.read(config)
    assert longer is not None
    assert (len(longer.log), longer.starts is first.starts) == (51, False)
