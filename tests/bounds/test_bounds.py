"""Bounds: each formula by hand, its conditions, its shape, and the regret measured where its conditions hold.

Measured means are compared with 4 standard errors to spare: a false alarm in 30,000 for each comparison.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headstart as hs
from headstart import bounds
from headstart.errors import LogError, OptionError
from headstart.estimates.features import FeatureTable

RARE = 1 + math.pi**2 / 3  # 4.2899
e = math.e


# --- by hand -----------------------------------------------------------------------------------------------------


def test_ucb_by_hand():
    """T = e^2, gaps 0 and 1/2 would give 8 * 2 / 0.5 + 4.2899 / 2 = 34.145; T = 7 has ln 7 = 1.9459.

    8 * 1.9459 / 0.5 = 31.1346, and the constant 2.1449: 33.2795.
    """
    assert bounds.ucb_regret([0, 0.5], 7) == pytest.approx(33.2795, abs=1e-4)


def test_general_bounds_by_hand():
    """g(t) = 10 + t at T = 100 with N = 5 + 3 virtual plays, of gaps 0 and 0.5: 118 - 1.5; h(T) = 110 gives 108.5."""
    plays, gaps = [5, 3], [0, 0.5]
    assert bounds.general_upper(lambda t: 10 + t, 100, plays, gaps) == pytest.approx(116.5)
    assert bounds.general_lower(lambda t: 10 + t, 100, plays, gaps) == pytest.approx(116.5)
    assert bounds.general_lower_printed(lambda t: 10 + t, 100, plays, gaps) == pytest.approx(108.5)
    assert bounds.value_of_log_limit(plays, gaps) == pytest.approx(1.5)


def test_general_bounds_of_a_contextual_oracle_take_one_gap_per_virtual_play():
    """Three plays that missed 0.1, 0 and 0.3 at their own contexts: 0.4."""
    assert bounds.general_upper(lambda t: t, 10, [1, 1, 1], [0.1, 0, 0.3]) == pytest.approx(13 - 0.4)
    assert bounds.general_upper(lambda t: t, 10, [], []) == 10


def test_ips_weighting_by_hand():
    """Sizes 3.5 and 2.5 make 4 + 3 = 7 plays; T = 93: ln 100 = 4.6052. 8 * 4.6052 / 0.25 - 2 = 145.3655.

    0.5 (145.3655 + 4.2899) = 74.8277.
    """
    assert bounds.ips_weighting_upper([0, 0.5], 93, [3.5, 2.5]) == pytest.approx(74.8277, abs=1e-4)


def test_matching_as_printed_by_hand():
    """Two kinds of chance 1/4 and 3/4; the worse action (gap 1/2) has 2 and 3 rows, the better none: N = 5.

    min(2 / 0.25, 3 / 0.75) = 4 matches, 1 and 3 of them by kind. T = 95: nothing is beyond what UCB wants (147.4
    plays), so A = 5 and 8 ln 100 / 0.25 = 147.3655. 0.5 (4.2899 + 147.3655 - 4) = 73.8277.
    """
    counts, shares = [[0, 2], [0, 3]], [0.25, 0.75]
    assert bounds.exact_matching_upper_printed([0, 0.5], 95, counts, shares) == pytest.approx(73.8277, abs=1e-4)
    assert bounds.propensity_matching_upper_printed([0, 0.5], 95, counts, shares) == pytest.approx(73.8277, abs=1e-4)


def test_the_two_printed_theorems_on_matching_differ_in_a():
    """The worse action (gap 1, T = 2) has 100 and 4 rows of two equal kinds. N = 104, ln 106 = 4.6634.

    UCB wants w = 8 * 4.6634 + 4.2899 = 41.5973 plays, 20.7986 of each kind. Theorem 2: A = 104 - (100 - 20.7986)
    = 24.7986. Theorem 3 counts min(100, 4) = 4 rows of each kind: A = 104. Then 8 ln(2 + A) - 8 + 4.2899.
    """
    counts, shares = [[0, 100], [0, 4]], [0.5, 0.5]
    second = 8 * math.log(26.79865) - 8 + RARE
    third = 8 * math.log(106) - 8 + RARE
    assert bounds.exact_matching_upper_printed([0, 1], 2, counts, shares) == pytest.approx(second, abs=1e-4)
    assert bounds.propensity_matching_upper_printed([0, 1], 2, counts, shares) == pytest.approx(third, abs=1e-4)


def test_shortfall_of_two_rows_by_hand():
    """One row in each of two equal kinds. M = 1 if the first two draws agree (1/2), else 2. E max{0, 5 - M} = 3.5."""
    assert bounds.expected_shortfall(5, [1, 1], [0.5, 0.5]) == pytest.approx(3.5)
    assert bounds.expected_shortfall(1.5, [1, 1], [0.5, 0.5]) == pytest.approx(0.25)
    assert bounds.expected_shortfall(5, [0, 9], [1.0, 0.0]) == 5


def test_exact_matching_by_hand():
    """The same rows, of the worse action (gap 1); T = 5 and N = 2: 8 ln 7 = 15.5673 plays, less E M = 1.5."""
    value = bounds.exact_matching_upper([0, 1], 5, [[0, 1], [0, 1]], [0.5, 0.5])
    assert value == pytest.approx(15.5673 - 1.5 + RARE, abs=1e-4)
    assert bounds.propensity_matching_upper([0, 1], 5, [[0, 1], [0, 1]], [0.5, 0.5]) == value


def test_biased_log_as_printed_by_hand():
    """N = 10 plays of the worse action (gap 1/2), its bias 0.1 more than the best one's; T = 90.

    16 ln 100 / 0.25 = 294.7309; - 2 * 10 * (1 - 0.2) = -16; 0.5 (294.7309 - 16 + 4.2899) = 141.5104.
    """
    value = bounds.biased_log_upper_printed([0, 0.5], 90, [0, 10], [0.05, 0.15])
    assert value == pytest.approx(141.5104, abs=1e-4)


def test_biased_log_as_printed_is_negative_for_a_large_log_and_clipped_is_not():
    """N = 1000, gap 1/2, no bias, T = 1000: 16 ln 2000 / 0.25 - 2000 = -1513.5; clipped 0, plus 4.2899, by half."""
    case: Any = ([0, 0.5], 1000, [0, 1000], [0, 0])
    assert bounds.biased_log_upper_printed(*case) == pytest.approx(0.5 * (16 * math.log(2000) / 0.25 - 2000 + RARE))
    assert bounds.biased_log_upper_printed(*case) < 0
    assert bounds.biased_log_upper_printed(*case, is_clipped=True) == pytest.approx(RARE / 2)


def test_biased_log_by_hand():
    """Gap 1/2, delta = 0.25 on N = 40 plays, the best one's -0.1 on 10: D = 0.4, T = 950: u = 8 ln 1000 / 0.16.

    u = 345.3878; 4 * 40 * 0.25 / 0.4 = 100; (18.5846 + 21.1042)^2 / 4 = 393.8005; 0.5 (353.8005 + 4.2899) = 179.0452.
    """
    value = bounds.biased_log_upper([0, 0.5], 950, [10, 40], [-0.1, 0.25])
    assert value == pytest.approx(179.0452, abs=1e-3)


def test_a_best_action_that_looks_worse_than_the_next_leaves_no_bound_but_the_horizon():
    assert bounds.biased_log_upper([0, 0.3], 1000, [50, 50], [-0.3, 0]) == pytest.approx(300)
    assert bounds.biased_log_upper([0, 0.3], 1000, [0, 50], [-0.3, 0]) < 300  # a bias of no plays is none


def test_linucb_with_a_gap_by_hand():
    """d = 2, T = 100, gap 1/2, L = 1, lambda = 50: 8 * 4 (1 + 2 * 4.6052) / 0.5 = 653.4619.

    Printed: 653.4619 ln 3 + 1 = 718.9. Corrected: v = 1/51, c = 0.019608 / ln(1.019608) = 1.009772,
    653.4619 * 1.009772 * ln(1 + 100/51) + 1.
    """
    leading = 8 * 4 * (1 + 2 * math.log(100)) / 0.5
    assert bounds.linucb_upper_gap_printed(0.5, 100, 2, 1, 50) == pytest.approx(leading * math.log(3) + 1)
    v = 1 / 51
    factor = v / math.log1p(v)
    assert bounds.linucb_upper_gap(0.5, 100, 2, 1, 50) == pytest.approx(factor * leading * math.log(151 / 51) + 1)


def test_linucb_with_a_gap_and_no_log_is_finite_where_the_printed_form_is_not():
    assert bounds.linucb_upper_gap_printed(0.5, 100, 2, 1, 0) == math.inf
    assert bounds.linucb_upper_gap(0.5, 100, 2, 1, 0) < math.inf


def test_linucb_beyond_the_threshold_is_constant_in_the_horizon():
    """The paper: at most 16 d^2 / gap + 1 = 129 for d = 2, gap 1/2."""
    for horizon in (10, 1000, 10**6):
        enough = bounds.linucb_enough(horizon, 1.5)
        assert bounds.linucb_upper_gap_printed(0.5, horizon, 2, 1.5, enough) <= 129
        assert bounds.linucb_upper_gap(0.5, horizon, 2, 1.5, enough) <= 129


def test_linucb_without_a_gap_by_hand():
    """d = 2, L = l = 1, T = 91, N = 8, beta = 4: S = 2 (3 - 1) = 4; ln(2 + 99) = 4.6151.

    Printed: sqrt(8 * 99 * 4 * 4.6151) - sqrt(32) * 4 = 98.29. Corrected: sqrt(8 * 99 * 4 * 2 * 4.6151) - 16 = 155.0.
    """
    printed = bounds.linucb_upper_free_printed(91, 2, 1, 1, 8, 4)
    assert printed == pytest.approx(math.sqrt(3168 * math.log(101)) - 4 * math.sqrt(32))
    assert bounds.linucb_upper_free(91, 2, 1, 1, 8, 4) == pytest.approx(math.sqrt(6336 * math.log(101)) - 16)


def test_linucb_confidence_by_hand():
    """2 * 3 (1 + 2 ln e) = 18."""
    assert bounds.linucb_confidence(3, 1 / e) == pytest.approx(18)


def test_forest_exponent_by_hand():
    """d = 1, alpha = 0.2, pi = 1: A = ln 1.25 / ln 5 = 0.138647; beta = 1 - 0.277294 / 2.415940 = 0.885223.

    (1 + beta) / 2 = 0.942612, and the exploration is t^-0.057388.
    """
    assert bounds.forest_exponent(1) == pytest.approx(0.942612, abs=1e-6)
    assert bounds.forest_exploration(1) == pytest.approx(0.057388, abs=1e-6)
    assert bounds.forest_exponent(10) == pytest.approx(0.99321, abs=1e-5)


# --- conditions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: bounds.ucb_regret([0.1, 0.2], 10), "gaps must hold a 0"),
        (lambda: bounds.ucb_regret([0, -0.2], 10), "gaps must be at least 0"),
        (lambda: bounds.ucb_regret([0, 2.0], 10), r"outcomes in \[0, 1\], got 2"),
        (lambda: bounds.ucb_regret([0, math.nan], 10), "gaps must be a list of finite numbers"),
        (lambda: bounds.ucb_regret(["a"], 10), "gaps must be numbers"),
        (lambda: bounds.ucb_regret([0, 0.2], 0), "horizon must be at least 1"),
        (lambda: bounds.ucb_regret([0, 0.2], 1.5), "horizon must be a whole number"),
        (lambda: bounds.ips_weighting_upper([0, 0.2], 10, [1]), r"effective_sizes must be one number per action"),
        (lambda: bounds.ips_weighting_upper([0, 0.2], 10, [1, -1]), "effective_sizes must be at least 0"),
        (lambda: bounds.exact_matching_upper([0, 0.2], 10, [[1, 1]], [0.5]), "shares must be chances that sum to 1"),
        (lambda: bounds.exact_matching_upper([0, 0.2], 10, [[1]], [1.0]), r"counts must be strata x actions"),
        (lambda: bounds.exact_matching_upper([0, 0.2], 10, [[1, 0.5]], [1.0]), "counts must be whole numbers"),
        (lambda: bounds.biased_log_upper([0, 0.2], 10, [1, 1], [0, 2]), r"biases must be in \[-1, 1\]"),
        (lambda: bounds.general_upper(lambda t: -t, 10, [1, 1], [0, 1]), "bound must be non-decreasing"),
        (lambda: bounds.general_upper(lambda t: t, 10, [1, 1], [0, -1]), "gaps must be finite numbers of at least 0"),
        (lambda: bounds.linucb_upper_gap(0, 10, 2, 1, 0), "smallest_gap must be above 0"),
        (lambda: bounds.linucb_upper_gap(2, 10, 2, 1, 0), "smallest_gap must be at most 1"),
        (lambda: bounds.linucb_upper_gap(0.5, 10, 0, 1, 0), "n_features must be at least 1"),
        (lambda: bounds.linucb_upper_gap(0.5, 10, 2, 0, 0), "longest must be above 0"),
        (lambda: bounds.linucb_upper_gap(0.5, 10, 2, 1, -1), "smallest_eigenvalue must be a finite number in"),
        (lambda: bounds.linucb_upper_free(10, 2, 1, 2, 0, 8), "shortest must be at most longest"),
        (lambda: bounds.linucb_upper_free(10, 2, 1, 1, 0, 3), "confidence must be at least 2 d"),
        (lambda: bounds.linucb_confidence(2, 2), r"delta must be in \(0, 1\]"),
        (lambda: bounds.forest_exponent(2, alpha=0.3), "alpha must be at most 0.2"),
        (lambda: bounds.forest_exponent(2, pi=0), "pi must be above 0"),
        (lambda: bounds.forest_exponent(2, pi=2), r"pi must be in \(0, 1\]"),
    ],
)
def test_a_condition_that_fails_is_named(call, text):
    with pytest.raises(OptionError, match=text):
        call()


# --- properties --------------------------------------------------------------------------------------------------

some_gaps = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=4).map(lambda gaps: [0.0, *gaps])
horizons = st.integers(1, 10**6)


@settings(max_examples=50, deadline=None)  # the machine is shared
@given(some_gaps, horizons)
def test_no_log_is_the_plain_bound(gaps, horizon):
    plain = bounds.ucb_regret(gaps, horizon)
    nothing, none = np.zeros(len(gaps)), np.zeros((2, len(gaps)))
    assert bounds.ips_weighting_upper(gaps, horizon, nothing) == pytest.approx(plain)
    for upper in (bounds.exact_matching_upper, bounds.exact_matching_upper_printed):
        assert upper(gaps, horizon, none, [0.3, 0.7]) == pytest.approx(plain)
    assert bounds.propensity_matching_upper_printed(gaps, horizon, none, [0.3, 0.7]) == pytest.approx(plain)
    assert bounds.general_upper(lambda t: bounds.ucb_regret(gaps, int(t)), horizon, nothing, gaps) == plain
    biased = bounds.biased_log_upper(gaps, horizon, nothing, np.ones(len(gaps)))
    assert biased <= plain * (1 + 1e-12)
    if all(8 * math.log(horizon) / gap**2 + RARE <= horizon for gap in gaps[1:]):
        assert biased == pytest.approx(plain)


@settings(max_examples=50, deadline=None)  # the machine is shared
@given(st.floats(0.05, 1.0), st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 100), horizons)
def test_more_plays_of_the_worse_action_never_raise_the_bound(gap, size, more, best, horizon):
    """Beyond T = 8 / gap^2, where UCB's bound begins to say something; each play more adds 8 / (gap^2 n) to l."""
    horizon += math.ceil(8 / gap**2)
    before = bounds.ips_weighting_upper([0, gap], horizon, [best, size])
    assert bounds.ips_weighting_upper([0, gap], horizon, [best, size + more]) <= before * (1 + 1e-12)
    before = bounds.exact_matching_upper([0, gap], horizon, [[best, size]], [1.0])
    assert bounds.exact_matching_upper([0, gap], horizon, [[best, size + more]], [1.0]) <= before * (1 + 1e-12)


@settings(max_examples=50, deadline=None)  # the machine is shared
@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0.1, 1)), min_size=1, max_size=5), st.floats(0, 300))
def test_rows_only_lower_the_shortfall_and_plays_only_raise_it(strata, plays):
    rows = np.array([row for row, _ in strata])
    shares = np.array([share for _, share in strata])
    shares /= shares.sum()
    shortfall = bounds.expected_shortfall(plays, rows, shares)
    assert max(0.0, plays - rows.sum()) - 1e-9 <= shortfall <= plays + 1e-9
    assert bounds.expected_shortfall(plays, rows + 1, shares) <= shortfall + 1e-9
    assert bounds.expected_shortfall(plays + 1, rows, shares) >= shortfall - 1e-9


@settings(max_examples=50, deadline=None)  # the machine is shared
@given(some_gaps, horizons, st.integers(0, 1000))
def test_a_log_beyond_the_threshold_leaves_the_constant(gaps, horizon, best):
    sizes = np.array([best, *([10**9] * (len(gaps) - 1))])
    constant = RARE * sum(gaps)
    assert bounds.ips_weighting_upper(gaps, horizon, sizes) == pytest.approx(constant)
    assert bounds.exact_matching_upper(gaps, horizon, [sizes, sizes], [0.4, 0.6]) == pytest.approx(constant)
    assert bounds.exact_matching_upper_printed(gaps, horizon, [sizes, sizes], [0.4, 0.6]) == pytest.approx(constant)
    assert bounds.biased_log_upper(gaps, horizon, sizes, np.zeros(len(gaps))) <= constant * (1 + 1e-9)


@settings(max_examples=50, deadline=None)  # the machine is shared
@given(some_gaps, horizons, st.permutations(range(2)))
def test_the_order_of_actions_and_strata_does_not_matter(gaps, horizon, order):
    k = len(gaps)
    shuffle = np.random.default_rng(k).permutation(k)
    counts, shares, g = np.arange(2 * k).reshape(2, k), np.array([0.2, 0.8]), np.array(gaps)
    twin = counts[list(order)][:, shuffle]
    for upper in (bounds.exact_matching_upper, bounds.exact_matching_upper_printed):
        value = upper(gaps, horizon, counts, shares)
        assert upper(g[shuffle], horizon, twin, shares[list(order)]) == pytest.approx(value)


@settings(max_examples=50, deadline=None)  # the machine is shared
@given(st.floats(0.05, 0.5), st.integers(1, 3000), st.floats(0, 0.5), st.floats(-0.5, 0.5), horizons)
def test_bias_never_lowers_the_bound(gap, size, harm, other, horizon):
    fair = bounds.biased_log_upper([0, gap], horizon, [size, size], [0, 0])
    assert bounds.biased_log_upper([0, gap], horizon, [size, size], [other, harm]) >= fair * (1 - 1e-12)
    unbiased = min(gap * horizon, bounds.ips_weighting_upper([0, gap], horizon, [size, size]))
    assert fair == pytest.approx(unbiased)


def test_tiny_gaps_overflow_nothing():
    assert bounds.exact_matching_upper([0, 1e-200], 100, [[5, 5]], [1.0]) == math.inf
    assert bounds.exact_matching_upper([0, 1e-9], 100, [[5, 5]], [1.0]) == pytest.approx(8 * math.log(110) * 1e9)


def test_the_shortfall_holds_against_simulated_draws():
    """Birthdays: one row in each of 400 kinds. E M is 24.7 (sqrt(pi C / 2) - 1/3), where the paper has 400."""
    rng, kinds, runs = np.random.default_rng(0), 400, 4000
    draws = rng.integers(kinds, size=(runs, 150))
    matches = np.array([next(i for i in range(150) if row[i] in row[:i]) for row in draws.tolist()])
    assert matches.mean() == pytest.approx(24.7, abs=4 * matches.std() / math.sqrt(runs))
    for plays in (10.0, 20.5, 60.0):
        short = np.maximum(0, plays - matches)
        bound = bounds.expected_shortfall(plays, np.ones(kinds), np.full(kinds, 1 / kinds))
        assert bound >= short.mean() - 4 * short.std() / math.sqrt(runs)
        assert bound <= short.mean() + 0.3 * 24.7


# --- the value of a log ------------------------------------------------------------------------------------------


def make_log(n_best=60, n_worse=40, scale=1.0, shift=0.0, **more):
    """Action 0 has mean 0.75, action 1 has 0.25; both were logged with chance 1/2."""
    actions = [0] * n_best + [1] * n_worse
    outcomes = [1.0, 1.0, 1.0, 0.0] * (n_best // 4) + [0.0, 0.0, 0.0, 1.0] * (n_worse // 4)
    more = {"propensities": np.full(len(actions), 0.5), "n_actions": 2, **more}
    return hs.Log(actions, shift + scale * np.array(outcomes), **more)


def test_value_of_a_log_by_hand():
    """Gap 1/2, T = 9900, sizes 60 and 40: ln 10000 = 9.2103, threshold 8 * 9.2103 / 0.25 = 294.73.

    Without: 0.5 (8 ln 9900 / 0.25 + 4.2899); with: 0.5 (294.73 - 40 + 4.2899). In the end 40 * 0.5 = 20 are saved.
    """
    value = bounds.value_of_log(make_log(), 9900)
    assert value.gaps == pytest.approx([0, 0.5])
    assert value.effective_sizes.tolist() == value.rows.tolist() == [60, 40]
    assert value.thresholds == pytest.approx([0, 294.730], abs=1e-3)
    assert value.without_log == pytest.approx(0.5 * (32 * math.log(9900) + RARE))
    assert value.with_log == pytest.approx(0.5 * (32 * math.log(10000) - 40 + RARE))
    assert value.saves == pytest.approx(bounds.ucb_regret([0, 0.5], 9900) - value.with_log)
    assert value.limit == pytest.approx(20)
    assert (value.outcome_range, value.is_range_observed, value.is_vacuous) == ((0.0, 1.0), False, False)


@settings(max_examples=50, deadline=None)  # the machine is shared
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 10**6))
def test_the_missing_plays_leave_the_constant_and_one_less_does_not(n_best, n_worse, horizon):
    log = make_log(4 * n_best, 4 * n_worse)
    value = bounds.value_of_log(log, horizon)
    enough = value.effective_sizes + value.missing_plays
    assert bounds.ips_weighting_upper(value.gaps, horizon, enough) == pytest.approx(RARE * 0.5)
    assert value.missing_plays[0] == 0
    if value.missing_plays[1] > 0:
        enough[1] -= 1
        assert bounds.ips_weighting_upper(value.gaps, horizon, enough) > RARE * 0.5
        assert value.missing_rows[1] == value.missing_plays[1]  # equal propensities: a row is a play


def test_missing_rows_are_at_the_worth_of_the_rows_so_far():
    """Action 1's 8 rows have weights 2 and 10 in equal parts: 48^2 / (4 * 4 + 4 * 100) = 5.5385 plays."""
    log = make_log(8, 8, propensities=[0.5] * 8 + [0.5, 0.1] * 4)
    value = bounds.value_of_log(log, 1000)
    assert value.effective_sizes[1] == pytest.approx(48**2 / 416)
    assert value.missing_rows[1] == math.ceil(value.missing_plays[1] * 8 / (48**2 / 416))


def test_outcomes_are_mapped_to_the_unit_interval_and_back():
    plain = bounds.value_of_log(make_log(), 9900)
    euros = bounds.value_of_log(make_log(scale=40.0, shift=-10.0), 9900)
    assert (euros.outcome_range, euros.is_range_observed) == ((-10.0, 30.0), True)
    assert euros.thresholds == pytest.approx(plain.thresholds)
    assert euros.gaps == pytest.approx(40 * plain.gaps)
    assert euros.saves == pytest.approx(40 * plain.saves)
    given_range = bounds.value_of_log(make_log(scale=40.0, shift=-10.0), 9900, outcome_range=(-10, 70))
    assert not given_range.is_range_observed
    assert given_range.thresholds[1] == pytest.approx(4 * plain.thresholds[1])


def test_a_log_without_propensities_needs_an_evaluator_or_the_numbers():
    log = make_log(propensities=None)
    with pytest.raises(LogError, match=r"estimate_propensities.*evaluator.*gaps= and effective_sizes="):
        bounds.value_of_log(log, 100)
    with pytest.raises(OptionError, match=r"NoLog has no means.*gaps= and effective_sizes="):
        bounds.value_of_log(log, 100, hs.NoLog())
    known = bounds.value_of_log(log, 9900, gaps=[0, 0.5], effective_sizes=[60, 40])
    assert known.saves == pytest.approx(bounds.value_of_log(make_log(), 9900).saves)
    weighted = bounds.value_of_log(log, 9900, hs.IPSWeighting(make_log()))
    assert weighted.saves == pytest.approx(known.saves)


def test_gaps_that_are_given_replace_the_estimated_ones():
    value = bounds.value_of_log(make_log(), 9900, gaps=[0.25, 0])
    assert value.thresholds == pytest.approx([4 * 294.730, 0], abs=0.01)


def test_an_action_that_the_log_never_shows_has_no_gap_and_is_left_out():
    value = bounds.value_of_log(make_log(n_actions=3), 9900)
    assert np.isnan([value.gaps[2], value.thresholds[2], value.missing_plays[2], value.missing_rows[2]]).all()
    assert value.saves == pytest.approx(bounds.value_of_log(make_log(), 9900).saves)


def test_a_gap_too_small_for_the_horizon_is_vacuous_and_saves_nothing():
    """The introduction's gap of 3 percentage points over 10,000 users: the bound is 2456, no regret exceeds 300."""
    value = bounds.value_of_log(make_log(), 10_000, gaps=[0, 0.03])
    assert value.is_vacuous
    assert (value.without_log, value.with_log) == pytest.approx((300, 300))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"outcome_range": (1, 0)}, "low < high"),
        ({"outcome_range": (0.5, 1)}, "outcome_range must hold every outcome, 0 to 1"),
        ({"gaps": [0.1, 0.2]}, "gaps must hold a 0"),
        ({"effective_sizes": [1.0]}, r"effective_sizes must be one number per action \(2\)"),
    ],
)
def test_value_of_log_rejects(more, text):
    with pytest.raises(OptionError, match=text):
        bounds.value_of_log(make_log(), 100, **more)


def test_a_log_of_one_outcome_outside_the_unit_interval_has_no_range():
    log = hs.Log([0, 1], [7.0, 7.0], propensities=[0.5, 0.5])
    with pytest.raises(OptionError, match="every outcome is 7: give outcome_range"):
        bounds.value_of_log(log, 100)


# --- measured ----------------------------------------------------------------------------------------------------

ROUNDS = 5000
RATES, SHARES, GAPS = [[0.9, 0.5], [0.5, 0.1]], [0.5, 0.5], [0.0, 0.4]
COUNTS = [[60, 30], [30, 60]]
WORLD = hs.worlds.Cells(RATES, SHARES, COUNTS)
ONE_KIND = hs.worlds.Cells([[0.7, 0.3]], [1.0], [[10, 10]])


@dataclass
class Elsewhere:
    """A world whose log comes from somewhere else."""

    world: Any
    draw_log: Any

    def draw(self, rng):
        drawn = self.world.draw(rng)
        drawn.log = self.draw_log(rng)
        return drawn


def cold(world, log, rng):
    return hs.UCB(2)


def matched(world, log, rng):
    return hs.WarmStart(hs.UCB(2), hs.ExactMatching(log, rng=rng), contexts=world.population, rng=rng)


def weighted(world, log, rng):
    return hs.WarmStart(hs.UCB(2), hs.IPSWeighting(log), rng=rng)


def measure(world, policy, rounds=ROUNDS, runs=200):
    """The mean regret, 4 standard errors, and the mean virtual plays."""
    made = []

    def make(*arguments):
        made.append(policy(*arguments))
        return made[-1]

    curve = hs.simulate(world, {"": make}, rounds=rounds, runs=runs, seed=5)[""]
    plays = [getattr(one, "virtual_plays", np.zeros(2)) for one in made]
    return curve.mean, 4 * curve.se, np.mean(plays, axis=0)


def test_regret_of_ucb_alone_lies_below_its_bound():
    mean, margin, _ = measure(WORLD, cold)
    assert 10 < mean - margin < mean + margin < bounds.ucb_regret(GAPS, ROUNDS)


def test_regret_with_exact_matching_lies_below_theorem_2():
    mean, margin, _ = measure(WORLD, matched)
    assert mean + margin < bounds.exact_matching_upper(GAPS, ROUNDS, COUNTS, SHARES)
    enough = [[20, 800], [20, 800]]  # beyond the threshold: only the constant 1.7 is left
    mean, margin, _ = measure(hs.worlds.Cells(RATES, SHARES, enough), matched)
    constant = bounds.exact_matching_upper(GAPS, ROUNDS, enough, SHARES)
    assert mean + margin < constant == pytest.approx(RARE * 0.4)


def test_regret_with_propensity_matching_lies_below_theorem_3():
    """The design's propensities, 1/3 and 2/3, are the pivots; its model is fitted once, for the design is fixed."""
    model = hs.LogisticPropensity(WORLD.draw(np.random.default_rng(0)).log)

    def policy(world, log, rng):
        evaluator = hs.PropensityMatching(log, pivots=(1 / 3, 2 / 3), propensity=model, rng=rng)
        return hs.WarmStart(hs.UCB(2), evaluator, contexts=world.population, rng=rng)

    mean, margin, plays = measure(WORLD, policy)
    assert plays.min() > 50
    assert mean + margin < bounds.propensity_matching_upper(GAPS, ROUNDS, COUNTS, SHARES)


def test_regret_with_ips_weighting_lies_below_theorem_4():
    """In a fixed design with the users' shares the weights are no accident, and the theorem holds."""
    sizes = hs.IPSWeighting(WORLD.draw(np.random.default_rng(0)).log).effective_sizes
    mean, margin, _ = measure(WORLD, weighted)
    assert mean + margin < bounds.ips_weighting_upper(GAPS, ROUNDS, sizes)


def test_total_regret_is_online_plus_virtual():
    """Theorems 1 and 8 with the oracle's own regret for g and h: both are then equalities.

    One kind of users: every row is matched, N = 20, and 10 virtual plays of the worse action cost 4.
    """
    alone = hs.simulate(ONE_KIND, {"": cold}, rounds=520, runs=2000, seed=6)[""]
    mean, margin, plays = measure(ONE_KIND, matched, rounds=500, runs=2000)
    assert plays.tolist() == [10, 10]

    def regret(rounds):
        return np.interp(rounds, alone.rounds, alone.means)

    expected = bounds.general_upper(regret, 500, plays, GAPS)
    assert expected == bounds.general_lower(regret, 500, plays, GAPS)
    assert mean == pytest.approx(expected, abs=math.hypot(margin, 4 * alone.se))
    assert bounds.general_lower_printed(regret, 500, plays, GAPS) < mean + margin


@pytest.mark.parametrize(
    ("online", "logged", "counts"),
    [
        ((0.7, 0.3), (0.7, 0.3), (100, 100)),  # no bias
        ((0.7, 0.3), (0.7, 0.6), (100, 100)),  # the worse action looks better than it is
        ((0.7, 0.3), (0.6, 0.4), (100, 100)),
        ((0.7, 0.3), (0.7, 0.7), (1000, 1000)),  # both look the same
        ((0.4, 0.2), (0.9, 0.7), (5000, 5000)),  # both look better than they are, by the same
    ],
)
def test_regret_with_a_biased_log_lies_below_theorem_5(online, logged, counts):
    mean, margin, _ = measure_biased(online, logged, counts)
    assert mean + margin < biased_bound(bounds.biased_log_upper, online, logged, counts)


def measure_biased(online, logged, counts):
    past = hs.worlds.Cells([logged], [1.0], [counts])
    world = Elsewhere(hs.worlds.Cells([online], [1.0], [counts]), lambda rng: past.draw(rng).log)
    return measure(world, matched, rounds=10_000, runs=50)


def biased_bound(upper, online, logged, counts, **more):
    return upper(bounds.gaps_of(online), 10_000, counts, np.subtract(logged, online), **more)


PHI = FeatureTable(2, 1, [[1, 1], [1, 1]], [[1, 0], [0, 1]])  # phi(x, a) = e_a: d = 2, L = l = 1


def test_regret_of_linucb_lies_below_theorems_6_and_9():
    """V_N is diagonal, with the virtual plays of each action; the gap is 0.8 and 16,000 could be lost."""
    rounds, d = 20_000, 2
    confidence = bounds.linucb_confidence(d, 1 / rounds)

    def oracle():
        return hs.LinUCB(2, 1, beta=math.sqrt(confidence), features=PHI)

    def policy(world, log, rng):
        return hs.WarmStart(oracle(), hs.LinearModel(log, features=PHI), schedule="batch", rng=rng)

    world = hs.worlds.Cells([[0.9, 0.1]], [1.0], [[100, 100]], is_contextual=True)
    mean, margin, plays = measure(world, policy, rounds, runs=50)
    assert plays.min() > 90
    assert 0 < mean + margin < bounds.linucb_upper_gap(0.8, rounds, d, 1, plays.min()) < 5000
    assert mean + margin < bounds.linucb_upper_free(rounds, d, 1, 1, plays.sum(), confidence)
    alone, margin, _ = measure(world, lambda *_: oracle(), rounds, runs=50)
    assert alone + margin < bounds.linucb_upper_gap(0.8, rounds, d, 1, 0)


# --- where the printed theorems fail -----------------------------------------------------------------------------


def test_theorem_2_as_printed_fails_with_many_kinds():
    """10,000 kinds with a row of each action: the paper counts 10,000 matches, birthdays give about 125."""
    kinds, rounds = 10_000, 10_000
    counts, shares = [[1, 1]] * kinds, [1 / kinds] * kinds
    world = hs.worlds.Cells([[0.55, 0.45]] * kinds, shares, counts)
    mean, margin, plays = measure(world, matched, rounds, runs=20)
    assert plays.max() < 150
    assert mean - margin > 50 * bounds.exact_matching_upper_printed([0, 0.1], rounds, counts, shares)
    assert mean + margin < bounds.exact_matching_upper([0, 0.1], rounds, counts, shares)


def test_theorem_4_fails_where_a_rare_row_carries_a_mean():
    """Kind 1 makes up action 0's whole mean of 1/2 and got action 0 with chance 0.0005: one row is expected in 4,000.

    A third of the logs has none. Their mean is 0 and, all weights being equal, a thousand plays strong.
    """
    chances = np.array([[0.5, 0.5], [0.0005, 0.9995]])
    rates = np.array([[0.0, 0.25], [1.0, 0.25]])

    def draw_log(rng):
        kinds = rng.integers(2, size=4000)
        actions = (rng.random(4000) >= chances[kinds, 0]).astype(int)
        clicks = rng.random(4000) < rates[kinds, actions]
        return hs.Log(actions, clicks, kinds[:, None], chances[kinds], n_actions=2)

    world = Elsewhere(hs.worlds.Cells(rates.tolist(), [0.5, 0.5], [[1, 1], [1, 1]]), draw_log)
    mean, margin, _ = measure(world, weighted)
    rng = np.random.default_rng(0)
    promised = [
        bounds.ips_weighting_upper([0, 0.25], ROUNDS, hs.IPSWeighting(draw_log(rng)).effective_sizes)
        for _ in range(50)
    ]
    assert max(promised) < 1.1
    assert mean - margin > 200


@pytest.mark.parametrize(
    ("online", "logged", "counts"),
    [
        ((0.4, 0.2), (0.9, 0.7), (5000, 5000)),  # equal biases do not cancel: the best action's is played away
        ((0.7, 0.3), (0.1, 0.3), (5000, 0)),  # the best action's rows count, though N_a of the others is 0
    ],
)
def test_theorem_5_as_printed_and_clipped_fails(online, logged, counts):
    mean, margin, _ = measure_biased(online, logged, counts)
    for is_clipped in (False, True):
        assert mean - margin > biased_bound(
            bounds.biased_log_upper_printed, online, logged, counts, is_clipped=is_clipped
        )
    assert mean <= biased_bound(bounds.biased_log_upper, online, logged, counts) * (1 + 1e-9)
