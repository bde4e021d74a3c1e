"""Confidence sequences: by hand, and against simulated experiments with a look after every 20 users."""

import math

import numpy as np
import pytest
from benchmarks.sequences import ALPHA, Cell, measure
from scipy.stats import binom

from headstart.estimates.sequences import (
    BURN_IN,
    CLOCK,
    MomentSums,
    boundary,
    chance_beyond,
    differences,
    events,
    has_crossed,
    limits,
    p_values,
    project_sums,
    sequences,
)


def _sums(weights, outcomes):
    """One action's, from its rows."""
    w, y = np.asarray(weights, dtype=float), np.asarray(outcomes, dtype=float)
    e = (y != 0.0).astype(float)
    rows = [w * e, w, w * y, w * y**2, w**2, w**2 * y, w**2 * y**2, *(w**3 * y**j for j in range(4))]
    return MomentSums(*(np.array([row.sum()]) for row in rows))


def _join(*each):
    return MomentSums(*(np.concatenate(columns) for columns in zip(*each, strict=True)))


def test_the_boundary_by_hand():
    """At the clock's own time c = 1: b^2 = 2 ln(2 / 0.05^2) = 2 ln 800."""
    b = boundary(np.array([CLOCK]), 0.05)[0]
    assert b**2 == pytest.approx(2.0 * math.log(800.0))
    assert chance_beyond(np.array(CLOCK), b) == pytest.approx(0.05)
    assert chance_beyond(np.array(0.0), np.array(9.0)) == 1.0
    assert chance_beyond(np.array(CLOCK), np.array(0.0)) == pytest.approx(math.sqrt(2.0))
    assert boundary(np.array([1e-9]), 0.05)[0] > 1e5


def test_no_success_by_hand():
    """50 plays of one weight without a success: (1 - r)^50 = exp(-b^2 / 2), whatever the weight is."""
    for weight in (1.0, 40.0):
        found = limits(_sums([weight] * 50, [0.0] * 50), np.array([3.0]), is_binary=True)
        assert found.low[0] == 0.0
        assert found.high[0] == pytest.approx(1.0 - math.exp(-4.5 / 50), rel=1e-9)


def test_equal_weights_are_the_binomial_deviance():
    """7 of 20: both ends are where twice the log likelihood ratio is b^2 = 4."""
    found = limits(_sums([5.0] * 20, [1.0] * 7 + [0.0] * 13), np.array([2.0]), is_binary=True)
    for end in (found.low[0], found.high[0]):
        ratio = binom.logpmf(7, 20, 0.35) - binom.logpmf(7, 20, end)
        assert 2.0 * ratio == pytest.approx(4.0)
    assert found.low[0] < 0.35 < found.high[0]


def test_a_success_of_large_weight_proves_less_than_a_mean_of_as_many_plays():
    """100 failures of weight 10 and a success of 200: Kish's size is 28.8 and m = 1/6, but it is one success."""
    found = limits(_sums([10.0] * 100 + [200.0], [0.0] * 100 + [1.0]), np.array([3.5]), is_binary=True)
    kish = limits(_sums([1.0] * 29, [1.0] * 5 + [0.0] * 24), np.array([3.5]), is_binary=True)
    assert found.low[0] < 0.003
    assert kish.low[0] > 0.01


def test_symmetric_outcomes_have_the_normal_ends():
    """-1 and 1 in turn, 200 each: mean 0, no skewness; the standard error is drawn to the same scatter, so s b."""
    found = limits(_sums([1.0] * 400, [-1.0, 1.0] * 200), np.array([3.0]), is_binary=False)
    error = math.sqrt((400 / 399 + 10 / 400) / 410)
    assert found.high[0] == pytest.approx(3.0 * error)
    assert found.low[0] == pytest.approx(-3.0 * error)


def test_the_far_end_solves_its_equation():
    """Purchases of 1 by one in ten of 1,000: the deviance (v t - ln(1 + v t)) 2 / v^2 at the upper end is b^2."""
    b, found = 3.5, None
    found = limits(_sums([1.0] * 1000, [2.0] * 100 + [0.0] * 900), np.array([b]), is_binary=False)
    skewness = 0.8 / math.sqrt(0.09) / math.sqrt(1000)  # of a share of 0.1 among 1,000
    error = math.sqrt((1000 * 0.36 / 999 + 10 * 0.36 / 1000) / 1010)
    v, t = 1.5 * skewness, (found.high[0] - 0.2) / error
    assert (v * t - math.log1p(v * t)) * 2.0 / v**2 == pytest.approx(b * b)
    assert found.high[0] - 0.2 > 0.2 - found.low[0] > 0.0


def test_no_interval_before_the_burn_in_nor_where_nothing_varies():
    def ends(outcomes, weights=None):
        found = sequences(
            _sums([1.0] * len(outcomes) if weights is None else weights, outcomes), 0.05, is_binary=False
        )
        return found.low[0], found.high[0]

    n = int(BURN_IN)
    assert np.isnan(ends([2.0, 3.0] * (n // 2 - 1) + [0.0] * 500)).all()
    assert np.isfinite(ends([2.0, 3.0] * (n // 2) + [0.0] * 500)).all()
    assert np.isnan(ends([5.0] * 100)).all()
    heavy = [1000.0] * 3 + [1.0] * 97  # a hundred purchases that are worth three
    assert events(_sums(heavy, [2.0, 3.0] * 50))[0] == pytest.approx(3.1, abs=0.1)
    assert np.isnan(ends([2.0, 3.0] * 50, heavy)).all()


def test_no_outcomes_have_no_interval():
    empty = _join(_sums([], []), _sums([2.0] * 40, [0.0, 1.0] * 20))
    for is_binary in (True, False):
        found = sequences(empty, 0.05, is_binary=is_binary)
        assert np.isnan(found.low[0])
        assert np.isnan(found.high[0])
        assert found.means[1] == 0.5


def test_a_difference_is_made_of_the_ends_of_both():
    """MOVER: d - sqrt((m1 - low1)^2 + (high2 - m2)^2), all at the boundary of the pair's clock."""
    both = _join(_sums([2.0] * 100, [1.0] * 60 + [0.0] * 40), _sums([2.0] * 80, [1.0] * 30 + [0.0] * 50))
    found = differences(both, np.array(0), 0.05, is_binary=True)
    b = boundary(np.array([400.0 + 320.0]), 0.05)[0]
    ends = limits(both, np.full(2, b), is_binary=True)
    assert found.means.tolist() == pytest.approx([0.0, 0.6 - 0.375])
    assert found.low[1] == pytest.approx(0.225 - math.hypot(0.6 - ends.low[0], ends.high[1] - 0.375))
    assert found.high[1] == pytest.approx(0.225 + math.hypot(ends.high[0] - 0.6, 0.375 - ends.low[1]))


def test_crossing_and_p_value_say_the_same():
    for gap in (5, 20, 40):
        both = _join(_sums([2.0] * 100, [1.0] * (50 + gap // 2) + [0.0] * (50 - gap // 2)),
                     _sums([2.0] * 100, [1.0] * (50 - gap // 2) + [0.0] * (50 + gap // 2)))  # fmt: skip
        p = p_values(both, 0, is_binary=True)[1]
        for alpha in (0.5 * p, 2.0 * p):
            if alpha < 0.5:
                assert has_crossed(both, 0, 1, alpha, is_binary=True) == (p < alpha)
        assert p_values(both, 1, is_binary=True)[0] == 1.0


def test_a_unit_of_the_outcome_does_not_matter():
    rng = np.random.default_rng(3)
    weights, outcomes = rng.uniform(1.0, 20.0, 300), rng.lognormal(0.0, 1.0, 300)
    once = sequences(_sums(weights, outcomes), 0.05, is_binary=False)
    cents = sequences(_sums(weights, 100.0 * outcomes), 0.05, is_binary=False)
    assert cents.low[0] == pytest.approx(100.0 * once.low[0])
    assert cents.high[0] == pytest.approx(100.0 * once.high[0])


def test_foreseen_sums_are_those_of_as_many_users_more():
    """100 users at chance 0.5 and then 300 alike: the sums of 400."""
    few, many = _sums([2.0] * 50, [1.0, 0.0] * 25), _sums([2.0] * 200, [1.0, 0.0] * 100)
    later = project_sums(few, np.array([0.5]), 300.0)
    for one, other in zip(later, many, strict=True):
        assert one == pytest.approx(other)
    assert project_sums(few, np.array([0.0]), 300.0).w.tolist() == few.w.tolist()


@pytest.mark.parametrize("cell", [Cell("10%", "thompson", 2), Cell("revenue", "greedy", 2)])
def test_sequences_hold_at_every_look_while_a_policy_learns(cell):
    """40 runs of 3,000 users. If each sequence failed with a chance of 5 %, more than 10 of 80 would with 0.3 %, and
    winners would be wrong in more than 6 of 40 runs with 1 %; one-look intervals fail in 30 to 50 %."""
    found = measure(cell, runs=40, first=7_000, n_users=3_000)
    assert binom.sf(10, 80, ALPHA) < 0.003
    assert np.sum(found.failed) <= 10
    assert binom.sf(6, 40, ALPHA) < 0.01
    assert sum(found.is_wrong) <= 6
    assert sum(found.gain_failed) <= 6
    ratios = np.concatenate(found.ratios)
    assert np.nanmedian(ratios) <= 2.2
