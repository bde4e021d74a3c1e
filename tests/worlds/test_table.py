"""PotentialOutcomes: users are rows of a table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headstart.errors import OptionError
from headstart.worlds import PotentialOutcomes

OUTCOMES = [[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]]


def test_the_log_and_the_stream_are_rows_of_the_table():
    world = PotentialOutcomes(OUTCOMES, [[10.0], [20.0], [30.0]], n_log=50).draw(np.random.default_rng(0))
    for x, a, y in zip(world.log.contexts[:, 0], world.log.actions, world.log.outcomes, strict=True):
        assert y == OUTCOMES[int(x / 10) - 1][a]
    for _ in range(20):
        row = int(world.draw_user()[0] / 10) - 1
        assert [world.draw_outcome(a) for a in range(2)] == OUTCOMES[row]
    np.testing.assert_array_equal(world.expected_outcomes(), [2.0, 4.0])


def test_contextual_regret_is_against_the_row_s_own_best():
    world = PotentialOutcomes(OUTCOMES, [[10.0], [20.0], [30.0]], is_contextual=True).draw(np.random.default_rng(0))
    row = int(world.draw_user()[0] / 10) - 1
    np.testing.assert_array_equal(world.expected_outcomes(), OUTCOMES[row])


def test_actions_are_logged_with_the_stated_propensities():
    """30,000 rows, 3 kinds with their own chances, one of them 0: chi-square per kind, false alarm 1e-6."""
    policy = np.array([[0.2, 0.3, 0.5], [0.0, 0.9, 0.1], [0.6, 0.4, 0.0]])
    world = PotentialOutcomes(np.zeros((3, 3)), [[0.0], [1.0], [2.0]], policy, n_log=30_000)
    log = world.draw(np.random.default_rng(1)).log
    kinds = log.contexts[:, 0].astype(int)
    np.testing.assert_array_equal(log.propensity_matrix, policy[kinds])
    for kind in range(3):
        counts = np.bincount(log.actions[kinds == kind], minlength=3)
        expected = counts.sum() * policy[kind]
        assert (counts[expected == 0] == 0).all()
        shown = expected > 0
        statistic = ((counts[shown] - expected[shown]) ** 2 / expected[shown]).sum()
        assert statistic < stats.chi2.isf(1e-6, shown.sum() - 1)


def test_without_contexts_and_propensities():
    world = PotentialOutcomes(OUTCOMES, n_log=10).draw(np.random.default_rng(2))
    assert world.log.n_features == 0
    assert world.draw_user().shape == (0,)
    np.testing.assert_array_equal(world.log.propensity_matrix, np.full((10, 2), 0.5))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"outcomes": [1.0, 2.0]}, "outcomes must be a finite table of rows x actions"),
        ({"outcomes": [[1.0, np.nan]]}, "outcomes must be a finite table of rows x actions"),
        ({"outcomes": np.empty((0, 2))}, "outcomes must be a finite table of rows x actions"),
        ({"outcomes": OUTCOMES, "contexts": [[1.0]]}, r"contexts must have one row per row of outcomes \(3\)"),
        ({"outcomes": OUTCOMES, "contexts": [[1.0], [np.nan], [0.0]]}, "contexts must be finite"),
        ({"outcomes": OUTCOMES, "propensities": [[0.5, 0.5]]}, "propensities must have the shape of outcomes"),
        ({"outcomes": OUTCOMES, "propensities": [[0.5, 0.6]] * 3}, "propensities must have the shape of outcomes"),
        ({"outcomes": OUTCOMES, "propensities": [[0.5, np.nan]] * 3}, "propensities must have the shape of outcomes"),
        ({"outcomes": OUTCOMES, "propensities": [[1.5, -0.5]] * 3}, r"propensities must be in \[0, 1\]"),
        ({"outcomes": OUTCOMES, "n_log": 0}, "n_log must be at least 1, got 0"),
    ],
)
def test_rejects_tables_that_do_not_fit(settings: dict, text: str):
    with pytest.raises(OptionError, match=text):
        PotentialOutcomes(**settings)
