"""Cells: the introduction's design, exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import headstart as hs
from headstart.errors import ActionError, OptionError
from headstart.worlds import Cells

INTRO = Cells(rates=[[0.11, 0.14], [0.01, 0.04]], shares=[0.5, 0.5], log_counts=[[150, 50], [50, 150]])


def test_the_design_is_exact_and_the_propensities_are_the_design_s():
    """150 / 50 / 50 / 150 of 400, so a kind's majority action has propensity 3/4 and the other 1/4."""
    log = INTRO.draw(np.random.default_rng(0)).log
    assert len(log) == 400
    kinds = log.contexts[:, 0]
    for kind, action, count, propensity in ((0, 0, 150, 0.75), (0, 1, 50, 0.25), (1, 0, 50, 0.25), (1, 1, 150, 0.75)):
        cell = (kinds == kind) & (log.actions == action)
        assert cell.sum() == count
        assert set(log.propensities[cell]) == {propensity}
    assert log.context_names == ("kind",)
    assert set(log.outcomes) <= {0.0, 1.0}


def test_clicks_come_at_the_cells_rates():
    """The clicks of 300 logs per cell: chi-square over 4 cells, false alarm 1e-6."""
    rates = np.array([[0.2, 0.5], [0.7, 0.4]])
    world = Cells(rates=rates.tolist(), shares=[0.5, 0.5], log_counts=[[15, 5], [5, 15]])
    clicks, shown = np.zeros(4), np.zeros(4)
    rng = np.random.default_rng(1)
    for _ in range(300):
        log = world.draw(rng).log
        cells = (2 * log.contexts[:, 0] + log.actions).astype(int)
        clicks += np.bincount(cells, log.outcomes, 4)
        shown += np.bincount(cells, minlength=4)
    p = rates.reshape(-1)
    assert ((clicks - shown * p) ** 2 / (shown * p * (1 - p))).sum() < stats.chi2.isf(1e-6, 4)


def test_the_truth_by_hand():
    """Shares 1/4 and 3/4: action 0 has 0.25 * 0.2 + 0.75 * 0.6 = 0.5, action 1 has 0.25 * 0.8 + 0.75 * 0.4 = 0.5."""
    settings = {"rates": [[0.2, 0.8], [0.6, 0.4]], "shares": [0.25, 0.75], "log_counts": [[1, 1], [1, 1]]}
    np.testing.assert_allclose(Cells(**settings).draw(np.random.default_rng(0)).expected_outcomes(), [0.5, 0.5])
    own = Cells(**settings, is_contextual=True).draw(np.random.default_rng(0))
    kind = int(own.draw_user()[0])
    np.testing.assert_array_equal(own.expected_outcomes(), settings["rates"][kind])
    assert Cells(**settings).n_actions == 2


def test_users_come_with_their_shares_and_click_at_their_rates():
    """4,000 users: kinds and clicks within 4.89 standard deviations (1e-6 each)."""
    world = Cells(rates=[[0.2], [0.9]], shares=[0.3, 0.7], log_counts=[[1], [1]]).draw(np.random.default_rng(2))
    kinds, clicks = [], []
    for _ in range(4000):
        kinds.append(world.draw_user()[0])
        clicks.append(world.draw_outcome(0))
    kinds, clicks = np.array(kinds), np.array(clicks)
    assert abs(kinds.mean() - 0.7) < 4.89 * np.sqrt(0.21 / 4000)
    for kind, rate in ((0, 0.2), (1, 0.9)):
        of_kind = clicks[kinds == kind]
        assert abs(of_kind.mean() - rate) < 4.89 * np.sqrt(rate * (1 - rate) / of_kind.size)


def test_a_kind_that_was_never_logged_is_a_user_all_the_same():
    world = Cells(rates=[[0.2, 0.3], [0.9, 0.1]], shares=[0.5, 0.5], log_counts=[[3, 1], [0, 0]])
    drawn = world.draw(np.random.default_rng(3))
    assert len(drawn.log) == 4
    assert {drawn.draw_user()[0] for _ in range(60)} == {0.0, 1.0}


def test_a_wrong_action_is_rejected_and_draws_nothing():
    world = INTRO.draw(np.random.default_rng(4))
    world.draw_user()
    before = world.kernel_state.rng.tolist()
    with pytest.raises(ActionError, match=r"action must be an index 0\.\.1, got 2"):
        world.draw_outcome(2)
    assert world.kernel_state.rng.tolist() == before


def test_averages_mislead_and_weights_do_not():
    """The stated rates over the whole design: averages are 0.085 and 0.065, the truth 0.06 and 0.09."""
    log = INTRO.draw(np.random.default_rng(5)).log
    expected = np.asarray(INTRO.rates)[log.contexts[:, 0].astype(int), log.actions]
    certain = hs.Log(log.actions, expected, log.contexts, log.propensities, n_actions=2)
    averages = [expected[log.actions == a].mean() for a in range(2)]
    np.testing.assert_allclose(averages, [0.085, 0.065])
    np.testing.assert_allclose(hs.IPSWeighting(certain).means, [0.06, 0.09])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"rates": [[0.1, 0.2]]}, "rates and log_counts must be kinds x actions, shares one per kind"),
        ({"shares": [1.0]}, "rates and log_counts must be kinds x actions, shares one per kind"),
        ({"log_counts": [[1], [1]]}, "rates and log_counts must be kinds x actions, shares one per kind"),
        ({"rates": [[0.1, 1.2], [0.1, 0.2]]}, r"rates must be in \[0, 1\]"),
        ({"rates": [[0.1, np.nan], [0.1, 0.2]]}, r"rates must be in \[0, 1\]"),
        ({"shares": [0.5, 0.6]}, r"shares must sum to 1, got \[0\.5, 0\.6\]"),
        ({"shares": [1.5, -0.5]}, r"shares must sum to 1, got \[1\.5, -0\.5\]"),
        ({"log_counts": [[0, 0], [0, 0]]}, "log_counts must be counts, at least one of them above 0"),
        ({"log_counts": [[1, -1], [1, 1]]}, "log_counts must be counts, at least one of them above 0"),
    ],
)
def test_rejects_settings_that_do_not_fit(change: dict, text: str):
    settings = {"rates": [[0.1, 0.2], [0.3, 0.4]], "shares": [0.5, 0.5], "log_counts": [[1, 1], [1, 1]], **change}
    with pytest.raises(OptionError, match=text):
        Cells(**settings)
