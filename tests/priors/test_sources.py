"""Which of several logs are right about an action: by hand, and against the likelihood itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import betabinom, multivariate_normal, norm

from headstart.estimates.summary import Summary
from headstart.priors.options import LevelOptions
from headstart.priors.shifts import NONE, find_level_shift
from headstart.priors.sources import (
    choose_sets,
    keep_chances,
    list_sets,
    pool_binary,
    pool_normal,
    weigh_sets,
    weigh_sources,
)

NOTHING_SAID = np.zeros(4)  # of two logs: the sets {}, {1}, {2}, {1, 2}


def test_sets_are_the_bits_of_their_numbers():
    np.testing.assert_array_equal(list_sets(2), [[False, False], [True, False], [False, True], [True, True]])


def test_one_log_is_right_with_its_trust():
    found = weigh_sets(np.array([0.8]), np.array([0]), np.array([0.0, 3.7]), 0.5)
    np.testing.assert_allclose(found, [0.2, 0.8])


def test_logs_of_two_kinds_are_right_each_by_itself():
    """0.8 and 0.5: neither 0.2 x 0.5, the first alone 0.8 x 0.5, the second 0.2 x 0.5, both 0.8 x 0.5."""
    found = weigh_sets(np.array([0.8, 0.5]), np.array([0, 1]), NOTHING_SAID, 0.5)
    np.testing.assert_allclose(found, [0.1, 0.4, 0.1, 0.4])


def test_logs_of_one_kind_share_half_of_their_doubt():
    """Both 0.81: with chance 0.9 their kind is right, and each of them with 0.9. Both: 0.9^3; one: 0.9 x 0.9 x 0.1;
    neither: the rest. Each is right with chance 0.81."""
    found = weigh_sets(np.array([0.81, 0.81]), np.array([1, 1]), NOTHING_SAID, 0.5)
    np.testing.assert_allclose(found, [0.1 + 0.9 * 0.01, 0.081, 0.081, 0.729])
    np.testing.assert_allclose(found[1] + found[3], 0.81)


def test_agreement_does_not_speak_for_what_logs_of_one_kind_share():
    """The odds of agreement A = e^50: only what has both logs agree is left, with 0.9^2 x (0.9 : 0.1)."""
    alike = np.array([0.0, 0.0, 0.0, 50.0])
    found = weigh_sets(np.array([0.81, 0.81]), np.array([1, 1]), alike, 0.5)
    np.testing.assert_allclose(found, [0.1, 0.0, 0.0, 0.9], atol=1e-9)
    of_two_kinds = weigh_sets(np.array([0.81, 0.81]), np.array([0, 1]), alike, 0.5)
    np.testing.assert_allclose(of_two_kinds, [0.0, 0.0, 0.0, 1.0], atol=1e-9)


def test_logs_that_contradict_each_other_are_not_right_together():
    """A = 0: 0.081 for each alone, 0.9 x 0.01 + 0.1 x (1 - 0.81) for neither; the shared fault has them agree too."""
    found = weigh_sets(np.array([0.81, 0.81]), np.array([1, 1]), np.array([0.0, 0.0, 0.0, -1e3]), 0.5)
    whole = 0.081 * 2 + 0.009 + 0.1 * 0.19
    np.testing.assert_allclose(found, np.array([0.028, 0.081, 0.081, 0.0]) / whole, atol=1e-12)


def test_a_log_that_does_not_show_the_action_says_nothing():
    """As if it were not there: the evidence of sets with it is that of sets without it."""
    found = weigh_sets(np.array([0.8, 0.0]), np.array([0, 0]), np.array([0.0, -2.0, 0.0, -2.0]), 0.5)
    np.testing.assert_allclose(found, [0.2, 0.8, 0.0, 0.0])


def test_full_trust_stays_full():
    found = weigh_sets(np.ones(2), np.array([0, 0]), np.array([0.0, 0.0, 0.0, -300.0]), 0.5)
    np.testing.assert_allclose(found, [0.0, 0.0, 0.0, 1.0])


def test_agreement_is_a_ratio_of_normal_densities():
    """Logs say 1.0 and 1.3 with variances 0.04 and 0.09, theta ~ N(0.5, 2): both are N(0.5, 2 + v) alone, and
    together they covary by 2."""
    said, variances = np.array([1.0, 1.3]), np.array([0.04, 0.09])
    found = pool_normal(
        (1.0 / variances)[:, None, None], (said / variances)[:, None], np.array([0.5]), np.array([[0.5]])
    )
    together = multivariate_normal([0.5, 0.5], np.diag(variances) + 2.0).logpdf(said)
    alone = norm(0.5, np.sqrt(2.0 + variances)).logpdf(said)
    agreement = found.evidences[3] - found.evidences[1] - found.evidences[2]
    assert agreement == pytest.approx(together - alone.sum())
    precision = 0.5 + (1.0 / variances).sum()
    assert found.inverses[3, 0, 0] == pytest.approx(1.0 / precision)
    assert found.centres[3, 0] == pytest.approx((0.5 * 0.5 + (said / variances).sum()) / precision)
    assert found.centres[0, 0] == 0.5
    assert found.evidences[0] == pytest.approx(0.0)


def test_agreement_of_counts_is_a_ratio_of_beta_binomials():
    """3 of 10 and 5 of 9 successes: together, the second is Beta-binomial after the first was counted."""
    found = pool_binary(np.array([3.0, 5.0]), np.array([7.0, 4.0]), 1.5, 2.5)
    after = betabinom(9, 1.5 + 3, 2.5 + 7).logpmf(5) - betabinom(9, 1.5, 2.5).logpmf(5)
    assert found[3] - found[1] - found[2] == pytest.approx(after)


def test_the_likeliest_sets_are_kept_and_take_the_others_chances():
    chances = np.array([0.1, 0.2, 0.3, 0.4])
    (kept,) = choose_sets(chances[None], np.zeros((1, 4)), most=2, least=0.0)
    np.testing.assert_array_equal(kept, [3, 2])
    np.testing.assert_allclose(keep_chances(chances, kept), [0.9 * 4 / 7, 0.9 * 3 / 7])
    (few,) = choose_sets(chances[None], np.zeros((1, 4)), most=6, least=0.25)
    np.testing.assert_array_equal(few, [3, 2])
    assert keep_chances(np.array([1.0, 0.0]), np.zeros(0, dtype=np.int64)).size == 0


def test_of_sets_as_likely_the_larger_stands_first():
    (kept,) = choose_sets(np.array([[0.1, 0.3, 0.3, 0.3]]), np.array([[0.0, 50.0, 80.0, 60.0]]), most=6, least=0.0)
    np.testing.assert_array_equal(kept, [2, 3, 1])


def test_a_log_is_right_where_a_set_with_it_is():
    believed = np.array([[[True, True], [True, False]]])
    np.testing.assert_allclose(weigh_sources(np.array([[0.5, 0.2, 0.3, 0.0]]), believed), [[0.7], [0.5]])
    np.testing.assert_allclose(weigh_sources(np.array([[0.5, 0.2, 0.3]]), None), [[0.5]])


def said(means: list[float], error: float) -> Summary:
    return Summary(np.array(means), np.full(len(means), error), np.ones(len(means)))


def test_a_shift_of_all_actions_is_found_and_undone():
    """Three actions, each known to 0.05 in either log: l is known to sqrt(2 x 0.05^2 / 3) = 0.041, pulled by a
    600th to 0 by N(0, 1). Undone, means are as the other's and errors have it too. That a log may be wrong about an
    action makes it known less well."""
    log, other = said([1.2, 1.5, 0.9], 0.05), said([0.2, 0.5, -0.1], 0.05)
    found = find_level_shift(log, other, np.ones(3), 1.0, LevelOptions())
    assert found.size == pytest.approx(1.0, abs=0.002)
    assert found.error == pytest.approx(np.sqrt(2 * 0.05**2 / 3), rel=0.01)
    moved = found.undo(log)
    np.testing.assert_allclose(moved.means, other.means, atol=0.002)
    np.testing.assert_allclose(moved.standard_errors, np.hypot(0.05, found.error))
    doubted = find_level_shift(log, other, np.full(3, 0.64), 1.0, LevelOptions())
    assert found.error < doubted.error < 1.5 * found.error


@pytest.mark.parametrize(
    ("means", "why"),
    [
        ([0.2, 0.5, -0.1], "they agree"),
        ([0.2, 0.5, 0.9], "one action is off, not all"),
        ([0.25, 0.45, -0.1], "noise"),
    ],
)
def test_what_is_no_shift_stays(means, why):
    other = said([0.2, 0.5, -0.1], 0.05)
    assert find_level_shift(said(means, 0.05), other, np.full(3, 0.64), 1.0, LevelOptions()) == NONE, why


def test_one_action_in_common_tells_no_shift():
    log, other = said([1.2, np.nan], 0.05), said([0.2, 0.5], 0.05)
    assert find_level_shift(log, other, np.full(2, 0.64), 1.0, LevelOptions()) == NONE
