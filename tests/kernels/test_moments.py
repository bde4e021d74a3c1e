"""Running means and spreads, widths, and the divergence's bound, against numpy and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from headstart.checks import NO_CONTEXT
from headstart.kernels.bernoulli import divergence, divergence_upper
from headstart.kernels.moments import absorb_moments, new_moments, take_moments, update_moments
from headstart.kernels.widths import normal_width, worst_width
from headstart.oracles.ucb_normal import UCBNormalState


def _fresh(n_actions: int = 2) -> UCBNormalState:
    return UCBNormalState(new_moments(n_actions))


def test_spread_by_hand():
    """Outcomes 1, 2, 6: mean 3, squared deviations 4 + 1 + 9 = 14."""
    state = _fresh()
    for outcome in (1.0, 2.0, 6.0):
        update_moments(state, NO_CONTEXT, 1, outcome)
    assert (state.tally.counts[1], state.tally.sums[1], state.tally.means[1]) == (3.0, 9.0, 3.0)
    assert state.tally.squares[1] == pytest.approx(14.0, rel=1e-15)
    assert (state.tally.counts[0], state.tally.squares[0]) == (0.0, 0.0)


@given(st.lists(st.floats(-10.0, 10.0), min_size=1, max_size=50), st.sampled_from([0.0, 1e6]))
def test_spread_is_numpy_s_around_any_centre(outcomes: list[float], centre: float):
    state, moved = _fresh(), np.array(outcomes) + centre
    for outcome in moved:
        update_moments(state, NO_CONTEXT, 0, outcome)
    assert state.tally.means[0] == pytest.approx(moved.mean(), abs=1e-9)
    # Rounding of an outcome around 1e6 is 1e-10, of its squared deviation from up to 20 away 4e-9.
    assert state.tally.squares[0] == pytest.approx(((moved - moved.mean()) ** 2).sum(), rel=1e-9, abs=1e-6)
    assert state.tally.squares[0] >= 0.0


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_n_answers_of_a_mean_with_a_variance_leave_both_exactly(n: int):
    """n virtual outcomes of 0.25 that vary by 0.5: mean 0.25, squared deviations n / 2, whatever n."""
    state = _fresh()
    for _ in range(n):
        absorb_moments(state, NO_CONTEXT, 0, 0.25, 0.5)
    assert (state.tally.counts[0], state.tally.means[0], state.tally.squares[0]) == (n, 0.25, 0.5 * n)


def test_virtual_and_real_outcomes_pool_like_one_sample():
    """4 virtual outcomes of mean 1 and variance 2 are (1 -+ sqrt 2) twice each, as far as moments can tell."""
    state, rows = _fresh(), [1 - math.sqrt(2), 1 + math.sqrt(2)] * 2 + [3.0, 0.5]
    for _ in range(4):
        absorb_moments(state, NO_CONTEXT, 0, 1.0, 2.0)
    for outcome in (3.0, 0.5):
        update_moments(state, NO_CONTEXT, 0, outcome)
    assert state.tally.means[0] == pytest.approx(np.mean(rows), rel=1e-14)
    assert state.tally.squares[0] / 6 == pytest.approx(np.var(rows), rel=1e-14)


def test_taking_an_action_takes_all_of_it_and_nothing_else():
    state, other = _fresh(), _fresh()
    for action in (0, 1):
        for outcome in (1.0, 4.0):
            update_moments(state, NO_CONTEXT, action, outcome)
    update_moments(other, NO_CONTEXT, 0, 7.0)
    take_moments(state, other, 0)
    assert [values.tolist() for values in state.tally] == [[1, 2], [7, 5], [7, 2.5], [0, 4.5]]


def test_widths_by_hand():
    """ln n = 2: sqrt(2 * 2 / 8) = 0.7071; s = 3 and 10 plays: 3 sqrt(exp(4 / 8) - 1) = 2.4163."""
    assert worst_width(2.0, 8.0) == pytest.approx(math.sqrt(0.5))
    assert normal_width(2.0, 10.0, 9.0) == pytest.approx(3 * math.sqrt(math.exp(0.5) - 1))
    assert worst_width(2.0, 0.0) == math.inf
    assert normal_width(2.0, 2.0, 9.0) == math.inf
    assert normal_width(10.0, 2.000001, 9.0) == math.inf  # no overflow
    # Many plays: s sqrt(2 ln n / plays).
    assert normal_width(2.0, 1e6, 9.0) == pytest.approx(3 * math.sqrt(4e-6), rel=1e-5)


@given(st.floats(0.0, 1.0), st.floats(1e-9, 30.0))
def test_the_divergence_s_bound_is_its_root(p: float, level: float):
    q = divergence_upper(p, level)
    assert p <= q <= 1.0
    top = 1.0 - 1e-15
    if p >= top or divergence(p, top) <= level:
        assert q == pytest.approx(1.0, abs=1e-14)
        return
    slow = brentq(lambda x: divergence(p, x) - level, max(p, 1e-300), top, xtol=1e-15, rtol=1e-14)
    assert q == pytest.approx(slow, rel=1e-7, abs=1e-12)


def test_the_divergence_s_bound_at_the_ends():
    assert divergence_upper(0.0, 1.0) == pytest.approx(1.0 - math.exp(-1.0), rel=1e-15)
    assert divergence_upper(1.0, 1.0) == 1.0
    assert divergence_upper(0.3, 0.0) == 0.3
