"""Several logs as one: actions and columns by name, what is missing in some of them."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.errors import LogError
from headstart.logs.joined import has_columns, join_actions, join_logs
from headstart.logs.log import Log

OLD = Log(["b", "a"], [1.0, 2.0], {"age": [20.0, 40.0], "city": ["Rom", "Oslo"]}, [0.5, 0.5])
NEW = Log(["c", "b", "c"], [3.0, 4.0, 5.0], {"city": ["Rom", "Bern", "Bern"]}, [0.5, 0.25, 0.5])


def test_rows_stand_one_after_the_other():
    log, sources = join_logs([OLD, NEW])
    assert log.action_names == ("a", "b", "c")
    assert [log.action_names[a] for a in log.actions] == ["b", "a", "c", "b", "c"]
    np.testing.assert_array_equal(log.outcomes, [1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(log.propensities, [0.5, 0.5, 0.5, 0.25, 0.5])
    np.testing.assert_array_equal(sources, [0, 0, 1, 1, 1])


def test_a_category_that_a_log_never_shows_is_0_and_a_column_that_it_lacks_is_the_others_mean():
    log, _ = join_logs([OLD, NEW])
    assert log.context_names == ("age", "city=Bern", "city=Oslo", "city=Rom")
    expected = [[20, 0, 0, 1], [40, 0, 1, 0], [30, 0, 0, 1], [30, 1, 0, 0], [30, 1, 0, 0]]
    np.testing.assert_array_equal(log.contexts, expected)
    np.testing.assert_array_equal(has_columns(NEW, log.encoding), [False, True, True, True])


def test_names_that_are_alike_keep_their_order():
    one = Log(["b", "a"], [1.0, 2.0], action_names=["b", "a"], propensities=[0.5, 0.5])
    assert join_actions([one, one]) == ("b", "a")
    assert join_actions([one, NEW]) == join_actions([NEW, one]) == ("a", "b", "c")
    assert join_actions([one, Log(["a", 1], [1.0, 2.0], action_names=["a", 1])]) == (
        1,
        "a",
        "b",
    )  # they do not compare


def test_ids_of_two_logs_are_two_people():
    one = OLD.with_units(["ann", "ann"])
    log, _ = join_logs([one, NEW, one])
    assert log.units is not None
    np.testing.assert_array_equal(np.unique(log.units, return_inverse=True)[1], [0, 0, 1, 2, 3, 4, 4])


def test_a_log_of_other_actions_is_named():
    other = Log(["x", "y"], [1.0, 2.0], propensities=[0.5, 0.5])
    with pytest.raises(
        LogError, match=r"log 3 has no action in common with the other logs: it has 'x', 'y', they have"
    ):
        join_actions([OLD, NEW, other])


def test_a_column_of_two_kinds_is_named():
    number = Log(["a", "b"], [1.0, 2.0], {"city": [1.0, 2.0]}, [0.5, 0.5])
    with pytest.raises(LogError, match="column 'city' is a number in log 2 and has categories in log 1"):
        join_logs([OLD, number])
