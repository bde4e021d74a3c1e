"""Capped: another evaluator's answers, so many for each action and no more."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from tests.catalogue import BUILT_IN_EVALUATORS

LOG = hs.Log(
    [0, 0, 0, 1, 1, 1, 1], [1, 0, 1, 3, 5, 4, 4], propensities=[0.5] * 7, contexts=np.zeros((7, 1)), n_actions=3
)


def drain(evaluator: object, action: int) -> list[float]:
    answers: list[float] = []
    while (outcome := evaluator.get_outcome([0.0], action)) is not None:  # type: ignore[attr-defined]
        answers.append(outcome)
        assert len(answers) < 100
    return answers


def test_it_answers_at_most_as_often_as_the_cap_says():
    """Three rows of 0 and a cap of 2, four rows of 1 and a cap of 9, none of 2."""
    capped = hs.Capped(hs.IPSWeighting(LOG), [2, 9, 5])
    assert drain(capped, 0) == [pytest.approx(2 / 3)] * 2
    assert not capped.is_exhausted()
    assert drain(capped, 1) == [4.0] * 4
    assert drain(capped, 2) == []


@pytest.mark.parametrize("name", ["IPSWeighting", "ExactMatching", "HistoricalAverage", "DoublyRobust"])
def test_large_caps_change_nothing(name: str):
    make = BUILT_IN_EVALUATORS[name]
    plain, inner = (make.build({"log": LOG, "rng": 0}, {}) for _ in range(2))
    capped = hs.Capped(inner, [100, 100, 100])
    for action in range(3):
        assert drain(capped, action) == drain(plain, action)


def test_a_cap_of_zero_is_no_log():
    capped = hs.Capped(hs.IPSWeighting(LOG), [0, 0, 0])
    assert capped.is_exhausted()
    policy, bare = hs.WarmStart(hs.UCB(3), capped, rng=1), hs.WarmStart(hs.UCB(3), hs.NoLog(), rng=1)
    for i in range(20):
        action = policy.play([0.0])
        assert action == bare.play([0.0])
        policy.update([0.0], action, float(i % 2))
        bare.update([0.0], action, float(i % 2))
    assert policy.virtual_plays.tolist() == [0, 0, 0]


@pytest.mark.parametrize("schedule", ["each-round", "batch"])
def test_a_warm_start_plays_the_caps_and_no_more(schedule: str):
    policy = hs.WarmStart(hs.ABTest(3, rng=0), hs.Capped(hs.IPSWeighting(LOG), [1, 3, 5]), schedule=schedule, rng=1)
    for _ in range(60):
        policy.update([0.0], policy.play([0.0]), 0.5)
    assert policy.virtual_plays.tolist() == [1, 3, 0]


def test_a_summary_is_worth_the_caps():
    """Variance 1 and a standard error of 0.1 are worth 100 plays; a cap of 25 makes the error 0.2."""
    told = Summary(np.array([0.5, 0.5, 0.5]), np.array([0.1, 0.1, 0.1]), np.ones(3)).capped(
        np.array([25.0, 400.0, 0.0])
    )
    np.testing.assert_allclose(told.standard_errors, [0.2, 0.1, np.inf])
    np.testing.assert_allclose(told.effective_sizes, [25.0, 100.0, 0.0])
    inner = hs.IPSWeighting(LOG)
    summary = hs.Capped(inner, [1, 0, 3]).summary
    assert summary is not None
    np.testing.assert_allclose(summary().effective_sizes, np.minimum(inner.summary().effective_sizes, [1, 0, 3]))
    np.testing.assert_array_equal(np.isnan(summary().means), [False, True, True])


def test_what_the_evaluator_cannot_do_it_cannot():
    class Plain:
        def get_outcome(self, context: object, action: int) -> float | None:
            return 1.0

    capped = hs.Capped(Plain(), [3, 0])
    assert capped.summary is None
    assert capped.get_variance is None
    assert capped.kernel_state is None
    assert drain(capped, 0) == [1.0, 1.0, 1.0]
    assert drain(capped, 1) == []


@pytest.mark.parametrize("caps", [[1, 2], [1, 2, -1], [1.5, 2, 3], 4, [[1, 2, 3]]])
def test_caps_that_are_none_are_refused(caps: object):
    with pytest.raises(OptionError, match="caps must be"):
        hs.Capped(hs.IPSWeighting(LOG), caps)
