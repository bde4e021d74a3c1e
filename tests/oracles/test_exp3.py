"""Exp3 by hand and against its slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headstart as hs
from headstart.errors import OutcomeError


def test_one_step_by_hand():
    """K = 2, gamma = 0.5: p = 1/2 each. An outcome 1 of action 0 has gain 1 / (1/2) = 2, so that
    ln w_0 = 0.5 * 2 / 2 = 0.5 and p_0 = 0.5 e^0.5 / (e^0.5 + 1) + 0.25.
    """
    oracle = hs.Exp3(2, gamma=0.5, rng=1)
    np.testing.assert_allclose(oracle.probabilities(), [0.5, 0.5])
    oracle.update(None, 0, 1.0)
    p = 0.5 * math.exp(0.5) / (math.exp(0.5) + 1) + 0.25
    np.testing.assert_allclose(oracle.probabilities(), [p, 1 - p], rtol=1e-14)
    np.testing.assert_allclose(oracle.probabilities(None, [1]), [0.0, 1.0], rtol=1e-14)


def test_the_range_is_scaled_to_the_unit_interval():
    """3 in [-1, 7] is 1/2 of the way."""
    wide, unit = hs.Exp3(2, gamma=0.5, low=-1.0, high=7.0, rng=1), hs.Exp3(2, gamma=0.5, rng=1)
    wide.update(None, 1, 3.0)
    unit.update(None, 1, 0.5)
    np.testing.assert_allclose(wide.probabilities(), unit.probabilities(), rtol=1e-15)


def test_gamma_from_the_horizon_is_the_corollary_s():
    """sqrt(K ln K / ((e - 1) T)) with K = 4, T = 1000: 0.05681. Short horizons and one action give 1."""
    oracle = hs.Exp3(4, horizon=1000, rng=1)
    assert oracle.kernel_state.gamma == pytest.approx(math.sqrt(4 * math.log(4) / ((math.e - 1) * 1000)), rel=1e-15)
    assert hs.Exp3(4, horizon=1, rng=1).kernel_state.gamma == 1.0
    assert hs.Exp3(1, horizon=1, rng=1).kernel_state.gamma == 1.0
    assert hs.Exp3(4, rng=1).kernel_state.gamma == 0.1


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1)), max_size=50))
def test_chances_are_the_slow_twin_s(outcomes: list[tuple[int, float]]):
    oracle, gamma = hs.Exp3(3, gamma=0.2, rng=1), 0.2
    weights = np.ones(3)
    for action, outcome in outcomes:
        chances = (1 - gamma) * weights / weights.sum() + gamma / 3
        weights[action] *= math.exp(gamma * outcome / chances[action] / 3)
        oracle.update(None, action, outcome)
    expected = (1 - gamma) * weights / weights.sum() + gamma / 3
    np.testing.assert_allclose(oracle.probabilities(), expected, rtol=1e-10)


def test_a_long_life_does_not_overflow():
    oracle = hs.Exp3(2, gamma=0.5, rng=1)
    for _ in range(20_000):
        oracle.update(None, 1, 1.0)
    np.testing.assert_allclose(oracle.probabilities(), [0.25, 0.75], rtol=1e-12)


@pytest.mark.parametrize("outcome", [-0.01, 1.01, 5.0])
def test_an_outcome_outside_the_range_is_rejected(outcome: float):
    oracle = hs.Exp3(2, rng=1)
    with pytest.raises(OutcomeError, match=r"outcome must be in \[0, 1\] for Exp3 \(set low and high\), got"):
        oracle.update(None, 0, outcome)
    assert oracle.readings().counts.sum() == 0
