"""Encoding: a user's columns as numbers, the same way for the log and for one user."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.errors import ContextError, OptionError

FRAME = pd.DataFrame(
    {
        "age": [30, 40, 50],
        "kind": ["new", "old", "new"],
        "is_member": [True, False, True],
        "size": pd.Categorical(["S", "L", "S"], categories=["S", "M", "L"]),
    }
)
NAMES = ("age", "kind=new", "kind=old", "is_member=False", "is_member=True", "size=L", "size=S")
ROWS = [[30, 1, 0, 0, 1, 0, 1], [40, 0, 1, 1, 0, 1, 0], [50, 1, 0, 0, 1, 0, 1]]


MAPPING = {name: FRAME[name].tolist() for name in FRAME}


@pytest.mark.parametrize("contexts", [FRAME, MAPPING], ids=["frame", "mapping"])
def test_columns_of_text_and_booleans_become_one_column_per_category(contexts: Any):
    log = hs.Log([0, 1, 0], [0.0] * 3, contexts)
    assert log.context_names == NAMES
    np.testing.assert_array_equal(log.contexts, ROWS)
    assert log.encoding.columns == ("age", "kind", "is_member", "size")
    assert log.encoding.categories["kind"] == ("new", "old")


def test_one_user_is_encoded_as_the_log_was():
    log = hs.Log([0, 1, 0], [0.0] * 3, FRAME)
    for i, row in enumerate(ROWS):
        np.testing.assert_array_equal(log.context(FRAME.iloc[i].to_dict()), row)
    np.testing.assert_array_equal(log.context(ROWS[0]), ROWS[0])
    np.testing.assert_array_equal(log.context({"size": "L", "kind": "old", "is_member": 0, "age": "41"})[:1], [41.0])


@pytest.mark.parametrize(
    ("user", "text"),
    [
        (
            {"age": 1, "kind": "new", "is_member": True, "size": "S", "hat": 1},
            "unknown context column 'hat'; known: age, kind, is_member, size",
        ),
        ({"age": 1, "kind": "new", "is_member": True}, "context column 'size' is missing: None says that its value"),
        (
            {"age": "old", "kind": "new", "is_member": True, "size": "S"},
            "context column 'age' must be a number, got 'old'",
        ),
        ([1.0, 2.0], r"context must be 7 numbers, got shape \(2,\)"),
        (None, "context must be 7 numbers, got None"),
    ],
)
def test_a_user_who_does_not_fit_is_rejected(user: Any, text: str):
    log = hs.Log([0, 1, 0], [0.0] * 3, FRAME)
    with pytest.raises(ContextError, match=text):
        log.context(user)


@pytest.mark.parametrize(
    "column",
    [
        [1, 2.5],
        np.array([1, 2.5], dtype=object),
        np.array([np.int64(1), np.float32(2.5)], dtype=object),
        pd.array([1, 2.5], dtype="Float64"),
    ],
    ids=["list", "objects", "numpy objects", "pandas nullable"],
)
def test_numbers_are_numbers_whatever_holds_them(column: Any):
    log = hs.Log([0, 1], [0.0] * 2, {"x": column})
    assert log.context_names == ("x",)
    np.testing.assert_array_equal(log.contexts, [[1.0], [2.5]])


def test_categories_that_do_not_sort_keep_the_order_of_their_first_row():
    log = hs.Log([0, 1, 0], [0.0] * 3, {"x": np.array(["b", 1, "a"], dtype=object)})
    assert log.context_names == ("x=b", "x=1", "x=a")


def test_a_matrix_of_text_is_encoded_by_column():
    log = hs.Log([0, 1], [0.0] * 2, np.array([["u", 2.0], ["v", 4.0]], dtype=object), context_names=["kind", "age"])
    assert log.context_names == ("kind=u", "kind=v", "age")
    np.testing.assert_array_equal(log.contexts, [[1, 0, 2], [0, 1, 4]])


def test_names_that_are_no_text_become_text():
    log = hs.Log([0, 1], [0.0] * 2, pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 4.0]}))
    assert log.context_names == ("0", "1")


def test_a_log_without_contexts_encodes_nobody():
    log = hs.Log([0, 1], [0.0] * 2)
    assert log.context({}).shape == (0,)
    with pytest.raises(ContextError, match="unknown context column 'age'"):
        log.context({"age": 3})


def test_a_choice_of_columns_is_by_name_by_encoded_name_or_by_index():
    encoding = hs.Log([0, 1, 0], [0.0] * 3, FRAME).encoding
    assert encoding.owners == ("age", "kind", "kind", "is_member", "is_member", "size", "size")
    assert encoding.columns_of(["size", "age"]).tolist() == [5, 6, 0]
    assert encoding.columns_of(["kind=old", 0, np.int64(6)]).tolist() == [2, 0, 6]
    assert encoding.columns_of([]).tolist() == []


def test_a_column_owns_its_categories_and_no_column_that_is_called_alike():
    """The columns are `x`, three numbers, and `x=1`, two categories: a prefix would take them for one."""
    log = hs.Log([0, 1, 0], [0.0] * 3, {"x": [1.0, 2.0, 3.0], "x=1": ["a", "b", "a"]})
    assert log.context_names == ("x", "x=1=a", "x=1=b")
    assert log.encoding.columns_of(["x"]).tolist() == [0]
    assert log.encoding.columns_of(["x=1"]).tolist() == [1, 2]
    policy = hs.start(log, decide_on=["x"], rng=0)
    assert "of 1 column:" in policy.explanation


def test_encoded_columns_of_one_name_are_told_apart_by_their_owners():
    given = hs.Log([0, 1, 0], [0.0] * 3, {"x": ["1", "2", "1"], "x=1": [5.0, 6.0, 7.0]})
    again = hs.Log.of_encoded(
        given.actions, given.outcomes, given.contexts, None, encoding=given.encoding, action_names=(0, 1)
    )
    assert again.context_names == ("x=1", "x=2", "x=1")
    assert again.encoding.columns_of(["x=1"]).tolist() == [2]


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (["weight"], "decide_on names 'weight', which is not a column of the log: age, kind, is_member, size"),
        (["sice"], "decide_on names 'sice', which is not a column of the log: did you mean 'size'. age, kind, is_m"),
        ("age", r"decide_on must be a list of columns, got 'age': write \['age'\]"),
        ([7], r"decide_on must name columns 0\.\.6, got 7"),
        ([True], r"decide_on must name columns 0\.\.6, got True"),
    ],
)
def test_a_choice_of_columns_that_are_not_there_says_which_are(chosen: Any, text: str):
    with pytest.raises(OptionError, match=text):
        hs.Log([0, 1, 0], [0.0] * 3, FRAME).encoding.columns_of(chosen)


def test_a_category_takes_its_whole_column_out_of_the_log():
    log = hs.Log([0, 1, 0], [0.0] * 3, FRAME, propensities=[0.5, 0.5, 0.5])
    for names in (["kind"], ["kind=old"]):
        rest = log.without(names)
        assert rest.context_names == ("age", "is_member=False", "is_member=True", "size=L", "size=S")
        np.testing.assert_array_equal(rest.contexts, np.delete(ROWS, [1, 2], axis=1))
        np.testing.assert_array_equal(rest.propensities, log.propensities)
    assert log.without([]) is log
    assert log.n_features == 7


def test_every_door_reads_a_choice_of_columns_alike():
    """A categorical column, named, is all its categories: in start, WarmStart and compare, and in their errors."""
    rng = np.random.default_rng(0)
    n = 60
    contexts = {"age": rng.normal(size=n), "device": np.array(["phone", "desk", "tablet"])[rng.integers(0, 3, n)]}
    log = hs.Log(rng.integers(0, 2, n), rng.random(n), contexts, propensities=np.full(n, 0.5))
    warm = hs.WarmStart(hs.LinUCB(2, 3), hs.LinearModel(log), decide_on=["device"], rng=0)
    assert warm.seen(np.arange(4.0)).tolist() == [1.0, 2.0, 3.0]
    assert hs.start(log, decide_on=["device"], rng=0).n_features == 4
    hs.compare(log, ["linucb + linear model"], shuffles=2, decide_on=["device"])
    for call in (
        lambda: hs.WarmStart(hs.UCB(2), hs.LinearModel(log), decide_on=["shoe"]),
        lambda: hs.start(log, decide_on=["shoe"]),
        lambda: hs.compare(log, decide_on=["shoe"]),
    ):
        with pytest.raises(
            OptionError, match="decide_on names 'shoe', which is not a column of the log: age, device"
        ):
            call()
