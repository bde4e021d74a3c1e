"""Missed curves: found where outcomes and policy bend together, not where they are lines; and words where rows are
few."""

import numpy as np
import pytest
from benchmarks.robust_logs import REPORTED, draw_log

import headstart as hs
from headstart import ope
from headstart.estimates.missed import missed_by
from headstart.estimates.propensity.missing import fill_missing
from headstart.estimates.regression import predict_others


def draw(kind: str, k: int, n: int, number: int, *, names: list[str] | None = None) -> hs.Log:
    """A log whose propensities were estimated."""
    drawn = draw_log(np.random.default_rng([12, 9, number]), kind, REPORTED, k, n)
    labels = drawn.actions if names is None else [names[a] for a in drawn.actions]
    bare = hs.Log(labels, drawn.outcomes, drawn.contexts, action_names=names, n_actions=k)
    return fill_missing(bare).log


def test_logged_propensities_miss_nothing():
    log = draw_log(np.random.default_rng(1), "bent", REPORTED, 5, 1000)
    found = missed_by(log, predict_others(log).inside)
    assert not found.allowances.any()
    assert found.doubtful == ()
    assert hs.DoublyRobust(log).note == ""


def test_lines_are_doubted_in_one_log_of_twenty():
    """The chance is 5 % a log: of 20 logs, 6 or more have a chance of 1 in 3,000."""
    logs = [draw("linear", 5, 600, number) for number in range(20)]
    doubted = sum(bool(missed_by(log, predict_others(log).inside).doubtful) for log in logs)
    assert doubted < 6


def test_what_is_missed_goes_with_the_units_of_the_outcome():
    log = draw("bent", 5, 1000, 0)
    predicted = predict_others(log).inside
    ten = hs.Log(log.actions, 10.0 * log.outcomes + 7.0, log.contexts, n_actions=5)
    ten = ten.with_estimated_propensities(log.propensity_matrix)
    once, tenfold = missed_by(log, predicted), missed_by(ten, 10.0 * predicted + 7.0)
    np.testing.assert_allclose(tenfold.allowances, 10.0 * once.allowances, rtol=1e-6)
    assert (once.allowances > 0.0).all()


def test_few_rows_of_a_bent_log_are_doubted_by_all_who_print_intervals():
    """A board of two columns in five actions of 200 rows each: 0.78 of one action's intervals held the truth."""
    names = ["a", "b", "c", "d", "e"]
    log = draw("bent", 5, 1000, 0, names=names)
    evaluator = hs.DoublyRobust(log)
    words = "actions a, b, c, d, e have too few rows to follow it by: the intervals of these means may be too short"
    assert evaluator.note.endswith(words)
    with pytest.warns(hs.ShortIntervalWarning, match="may be too short"):
        evaluator.intervals()
    assert "Beware: outcomes and the policy bend together, and actions 0, 1, 2, 3, 4" in repr(evaluator.summary())
    assert evaluator.summary().capped(np.full(5, 10.0)).doubtful == (0, 1, 2, 3, 4)
    reasons = [each for each in hs.audit(log.without_propensities()).verdict.reasons if each.rule == "short interval"]
    assert [each.severity for each in reasons] == ["note"]
    assert reasons[0].text.endswith(words)
    played = ope.doubly_robust(log, np.full(len(log), 2))
    assert played.note.endswith(
        "action c has too few rows to follow it by: the interval of its mean may be too short"
    )


def test_many_rows_are_allowed_for_without_a_word():
    log = draw("bent", 2, 4000, 0)
    found = missed_by(log, predict_others(log).inside)
    assert (found.allowances > 0.0).all()
    assert found.doubtful == ()


def test_the_value_of_one_action_allows_for_what_its_mean_does():
    """`ope` of a policy that always plays an action, and the action's mean: the same rows, regression and allowance,
    but for weights that the mean calibrates."""
    log = draw("bent", 5, 1000, 3)
    evaluator = hs.DoublyRobust(log)
    for a in range(5):
        found = ope.doubly_robust(log, np.full(len(log), a))
        assert found.standard_error == pytest.approx(evaluator.standard_errors[a], rel=0.25)
