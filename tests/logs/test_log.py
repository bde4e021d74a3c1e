"""Log: labels, contexts and propensities in, read-only arrays out; every error names the row and the column."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headstart as hs
from headstart.errors import ActionError, HeadstartError, LogError, OptionError

# --- actions


@pytest.mark.parametrize(
    ("labels", "names", "indices"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        ([30, 10, 20], (10, 20, 30), [2, 0, 1]),
        ([2.5, 1.5, 2.5], (1.5, 2.5), [1, 0, 1]),
        ([True, False, True], (False, True), [1, 0, 1]),
        ([1, "a", 1], (1, "a"), [0, 1, 0]),  # do not sort: in the order of their first row, and 1 stays a number
        ([("x", 2), ("x", 1), ("x", 2)], (("x", 1), ("x", 2)), [1, 0, 1]),
        ([(1,), "a", (1,)], ((1,), "a"), [0, 1, 0]),
        (np.array(["b", "a", "b"]), ("a", "b"), [1, 0, 1]),
        (np.array([3, 1, 3], dtype=np.int8), (1, 3), [1, 0, 1]),
        (pd.Series(["b", "a", "b"], index=[7, 8, 9]), ("a", "b"), [1, 0, 1]),
        (pd.Series(["b", "a", "b"], dtype="category"), ("a", "b"), [1, 0, 1]),
        (("b", "a", "b"), ("a", "b"), [1, 0, 1]),
    ],
)
def test_any_labels_become_indices_and_back(labels: Any, names: tuple, indices: list[int]):
    log = hs.Log(labels, [0.0] * 3)
    assert log.action_names == names
    assert log.actions.tolist() == indices
    assert log.n_actions == len(names)
    for k, name in enumerate(names):
        assert log.action_index(name) == k
        assert type(log.action_names[k]) is type(name)


def test_action_names_fix_the_order_and_keep_an_action_the_log_never_shows():
    log = hs.Log(["b", "a"], [1.0, 2.0], action_names=["c", "b", "a"])
    assert log.actions.tolist() == [1, 2]
    assert log.n_actions == 3
    assert log.action_index("c") == 0
    mixed = hs.Log([1, "a"], [1.0, 2.0], action_names=["a", 1])
    assert mixed.actions.tolist() == [1, 0]


def test_n_actions_takes_whole_numbers_as_indices():
    log = hs.Log([2, 0], [1.0, 2.0], n_actions=4)
    assert log.actions.tolist() == [2, 0]
    assert log.action_names == (0, 1, 2, 3)


def test_an_unknown_label_is_an_error_that_shows_the_known_ones():
    log = hs.Log(["a", "b"], [1.0, 2.0])
    with pytest.raises(ActionError, match="unknown action 'z'; known: 'a', 'b'"):
        log.action_index("z")
    with pytest.raises(ActionError, match=r"unknown action \[\]; known: 'a', 'b'"):
        log.action_index([])
    many = hs.Log(list(range(20)), [0.0] * 20)
    with pytest.raises(ActionError, match=r"known: 0, 1, 2, 3, 4, 5, 6, 7, \.\.\. \(20 in all\)"):
        many.action_index("z")


BAD = [
    (lambda: hs.Log([], []), LogError, "the log is empty: it needs at least one row"),
    (lambda: hs.Log(["a"], [1.0, 2.0]), LogError, "actions and outcomes must have the same length, got 1 and 2"),
    (lambda: hs.Log(["a", np.nan], [1.0, 2.0]), LogError, "action in row 1 is missing, got nan"),
    (lambda: hs.Log([np.nan, 1.0], [1.0, 2.0]), LogError, "action in row 0 is missing, got nan"),
    (lambda: hs.Log(["a", None], [1.0, 2.0]), LogError, "action in row 1 is missing, got None"),
    (lambda: hs.Log(pd.Series(["a", pd.NA], dtype=object), [1.0, 2.0]), LogError, "action in row 1 is missing"),
    (lambda: hs.Log(["a", ["b"]], [1.0, 2.0]), LogError, r"action in row 1 must be hashable, got \['b'\]"),
    (
        lambda: hs.Log(np.zeros((2, 2)), [1.0, 2.0]),
        LogError,
        r"actions must be one label per row, got shape \(2, 2\)",
    ),
    (
        lambda: hs.Log(["a", "z"], [1.0, 2.0], action_names=["a"]),
        LogError,
        "action in row 1 is unknown: 'z'; known: 'a'",
    ),
    (lambda: hs.Log(["a"], [1.0], action_names=["a", "a"]), LogError, "action_names must differ, got 'a', 'a'"),
    (
        lambda: hs.Log(["a"], [1.0], action_names=["a"], n_actions=2),
        LogError,
        "n_actions is 2 but action_names has 1 names",
    ),
    (lambda: hs.Log([0, 2], [1.0, 2.0], n_actions=2), LogError, r"action in row 1 must be an index 0\.\.1, got 2"),
    (lambda: hs.Log([-1, 0], [1.0, 2.0], n_actions=2), LogError, r"action in row 0 must be an index 0\.\.1, got -1"),
    (lambda: hs.Log(["a"], [1.0], n_actions=2), LogError, "n_actions needs actions that are indices"),
    (lambda: hs.Log([0], [1.0], n_actions=2.5), OptionError, r"n_actions must be a whole number, got 2\.5"),
    (lambda: hs.Log([0], [1.0], n_actions=0), OptionError, "n_actions must be at least 1, got 0"),
    (lambda: hs.Log([0, 1], [1.0, np.nan]), LogError, "outcome in row 1 must be a finite number, got nan"),
    (lambda: hs.Log([0, 1], [-np.inf, 1.0]), LogError, "outcome in row 0 must be a finite number, got -inf"),
    (lambda: hs.Log([0, 1], [1.0, None]), LogError, "outcome in row 1 must be a finite number, got nan"),
    (lambda: hs.Log([0, 1], [1.0, "yes"]), LogError, "outcome in row 1 must be a number, got 'yes'"),
    (lambda: hs.Log([0, 1], [[1.0], [2.0]]), LogError, r"outcomes must be one number per row, got shape \(2, 1\)"),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], [[1.0]]),
        LogError,
        "contexts and outcomes must have the same length, got 1 and 2",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], [[1.0, 2.0], [3.0, np.nan]], context_names=["age", "height"]),
        LogError,
        "context in row 1, column 'height' must be finite, got nan",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], [[1.0, 2.0], [3.0, np.inf]]),
        LogError,
        "context in row 1, column 'x1' must be finite, got inf",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], {"age": [None, np.nan]}),
        LogError,
        "context column 'age' is missing in every row: leave it out",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], {"age": [1.0]}),
        LogError,
        r"context column 'age' must have 2 rows, got shape \(1,\)",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], np.zeros((2, 2, 2))),
        LogError,
        r"contexts must be a matrix of rows and columns, got shape \(2, 2, 2\)",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]], context_names=["age"]),
        LogError,
        "context_names has 1 names for 2 columns",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]], context_names=["a", "a"]),
        LogError,
        "context columns must have different names, got 'a' twice",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], {1: [1.0, 2.0], "1": [3.0, 4.0]}),
        LogError,
        "context columns must have different names, got '1' twice",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], propensities=[0.5, 0.0]),
        LogError,
        r"propensity in row 1 must be in \(0, 1\], got 0\.0",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], propensities=[1.5, 0.5]),
        LogError,
        r"propensity in row 0 must be in \(0, 1\], got 1\.5",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], propensities=[0.5, np.nan]),
        LogError,
        r"propensity in row 1 must be in \(0, 1\], got nan",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], propensities=[0.5]),
        LogError,
        r"propensities must have shape \(2,\) or \(2, 2\), got \(1,\)",
    ),
    (lambda: hs.Log([0, 1], [1.0, 2.0], propensities=["a", "b"]), LogError, "propensities must be numbers"),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], propensities=[[0.5, 0.5], [0.5, 0.6]]),
        LogError,
        r"propensities in row 1 must sum to 1, got 1\.1",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], propensities=[[0.5, 0.5], [0.5, 0.500002]]),
        LogError,
        r"propensities in row 1 must sum to 1, got 1\.000002",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], propensities=[[1.5, -0.5], [0.5, 0.5]]),
        LogError,
        r"propensity in row 0, action 0 must be in \[0, 1\], got 1\.5",
    ),
    (
        lambda: hs.Log([0, 1], [1.0, 2.0], propensities=[[0.5, 0.5], [1.0, 0.0]]),
        LogError,
        r"propensity in row 1 must be in \(0, 1\], got 0\.0",
    ),
]


@pytest.mark.parametrize(("make", "error", "text"), BAD, ids=[text for _, _, text in BAD])
def test_rejects_and_names_the_row_and_the_column(make: Any, error: type[Exception], text: str):
    with pytest.raises(error, match=text) as caught:
        make()
    assert isinstance(caught.value, HeadstartError)
    assert isinstance(caught.value, ValueError)


# --- outcomes and contexts


def test_an_outcome_of_zero_and_booleans_are_outcomes():
    log = hs.Log([0, 1, 0], [False, True, 0])
    assert log.outcomes.tolist() == [0.0, 1.0, 0.0]
    assert log.outcomes.dtype == np.float64


def test_a_matrix_of_contexts():
    log = hs.Log([0, 1], [1.0, 2.0], [[1, 2], [3, 4]])
    assert log.context_names == ("x0", "x1")
    np.testing.assert_array_equal(log.contexts, [[1.0, 2.0], [3.0, 4.0]])
    assert log.n_features == 2
    assert hs.Log([0, 1], [1.0, 2.0], [5.0, 6.0]).contexts.shape == (2, 1)
    assert hs.Log([0, 1], [1.0, 2.0]).contexts.shape == (2, 0)
    assert len(log) == 2


def test_arrays_are_read_only_and_the_user_s_own_stay_writable():
    actions, outcomes, contexts, propensities = np.array([0, 1]), np.ones(2), np.ones((2, 1)), np.full((2, 2), 0.5)
    log = hs.Log(actions, outcomes, contexts, propensities, n_actions=2)
    for array in (log.actions, log.outcomes, log.contexts, log.propensities, log.propensity_matrix):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    for array in (actions, outcomes, contexts, propensities):
        array[:] = 0
    assert log.outcomes.tolist() == [1.0, 1.0]
    assert log.contexts.tolist() == [[1.0], [1.0]]
    assert log.propensities.tolist() == [0.5, 0.5]


# --- propensities


def test_a_vector_is_of_the_actions_taken_and_a_matrix_of_all():
    vector = hs.Log([0, 1], [1.0, 2.0], propensities=[0.5, 1.0])
    assert vector.propensities.tolist() == [0.5, 1.0]
    assert vector.propensity_matrix is None
    assert vector.has_propensities
    matrix = hs.Log([0, 1], [1.0, 2.0], propensities=[[0.2, 0.8], [0.3, 0.7]])
    assert matrix.propensities.tolist() == [0.2, 0.7]
    np.testing.assert_array_equal(matrix.propensity_matrix, [[0.2, 0.8], [0.3, 0.7]])
    bare = hs.Log([0, 1], [1.0, 2.0])
    assert not bare.has_propensities
    assert bare.propensities is None


def test_with_propensities_is_another_log():
    bare = hs.Log(["a", "b"], [1.0, 2.0], [[1.0], [2.0]])
    known = bare.with_propensities([0.5, 0.25])
    assert known.propensities.tolist() == [0.5, 0.25]
    assert known.action_names == ("a", "b")
    assert not bare.has_propensities
    with pytest.raises(LogError, match=r"propensity in row 0 must be in \(0, 1\], got 2\.0"):
        known.with_propensities([2.0, 0.5])
    assert known.propensities.tolist() == [0.5, 0.25]


def test_take_keeps_every_action_and_column():
    log = hs.Log(["a", "b", "c"], [1.0, 2.0, 3.0], {"kind": ["u", "v", "u"]}, np.full((3, 3), 1 / 3))
    for rows in ([2, 0], np.array([2, 0])):
        taken = log.take(rows)
        assert taken.actions.tolist() == [2, 0]
        assert taken.outcomes.tolist() == [3.0, 1.0]
        assert taken.action_names == ("a", "b", "c")
        assert taken.context_names == ("kind=u", "kind=v")
        assert taken.propensity_matrix.shape == (2, 3)
    assert log.take([False, True, False]).outcomes.tolist() == [2.0]
    assert log.take(1).contexts.tolist() == [[0.0, 1.0]]
    with pytest.raises(ValueError, match="read-only"):
        log.take([0]).outcomes[0] = 1.0
    for nothing in ([], [False] * 3):
        with pytest.raises(LogError, match="the log is empty: no row was chosen"):
            log.take(nothing)


def test_repr_and_pickle():
    log = hs.Log([0, 1], [1.0, 2.0], [[1.0], [2.0]], propensities=[0.5, 0.5])
    assert repr(log) == "Log(2 rows, 2 actions, 1 context column, with propensities)"
    twin = pickle.loads(pickle.dumps(log))
    np.testing.assert_array_equal(twin.contexts, log.contexts)
    assert twin.action_index(1) == 1


LABELS = st.one_of(st.integers(-5, 5), st.text(max_size=2), st.tuples(st.integers(0, 2), st.text(max_size=1)))


@given(st.lists(LABELS, min_size=1, max_size=20))
def test_labels_go_in_and_come_out(labels: list[Any]):
    log = hs.Log(labels, np.zeros(len(labels)))
    assert [log.action_names[a] for a in log.actions] == labels
    assert len(set(log.action_names)) == log.n_actions == len(set(labels))


def test_units_are_numbered_and_kept_with_their_rows():
    log = hs.Log([0, 1, 0], [1.0, 2.0, 3.0], units=["ann", "bob", "ann"], n_actions=2)
    assert log.units[0] == log.units[2] != log.units[1]
    assert log.take([2, 1]).units.tolist() == [log.units[2], log.units[1]]
    assert log.with_units(None).units is None


def test_times_are_numbers_or_become_seconds():
    day = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
    assert np.diff(hs.Log([0, 1], [1.0, 2.0], times=day, n_actions=2).times).tolist() == [86400.0]
    stamps = [datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)]
    assert np.diff(hs.Log([0, 1], [1.0, 2.0], times=stamps, n_actions=2).times).tolist() == [0.0]
    assert hs.Log([0, 1], [1.0, 2.0], times=[5, 7], n_actions=2).take([1]).times.tolist() == [7.0]


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"units": ["a"]}, "units must be one label per row"),
        ({"units": ["a", None]}, "unit in row 1 is missing"),
        ({"times": [1.0, float("nan")]}, "time in row 1 must be a finite number"),
        ({"times": [1.0]}, "times and outcomes must have the same length"),
    ],
)
def test_wrong_units_and_times_are_refused(roles, message):
    with pytest.raises(LogError, match=message):
        hs.Log([0, 1], [1.0, 2.0], n_actions=2, **roles)
