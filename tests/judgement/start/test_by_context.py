"""Deciding on some columns while others confound: levels whose posterior is as wide as it says."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.subset import draw, standardised_errors

import headstart as hs
from headstart.estimates.ridge import CentredSums
from headstart.judgement.start.by_context import at_average_user


@pytest.mark.parametrize("strength", [0.6, 1.5])
def test_levels_of_a_subset_are_calibrated(strength: float):
    """The standardised errors' deviation is 0.9 to 1.15 (`python -m benchmarks.subset`: 200 logs); here 40 logs of 2
    actions, whose errors go together: as 40, a deviation is known to 1 / sqrt(80) = 0.11, and 3.5 of that are 0.39.
    Before, it was 1.9 with the strong policy."""
    found = []
    for i in range(40):
        rng = np.random.default_rng([3, i])
        found.append(standardised_errors(*draw(rng, 500, 2, 4, strength, has_propensities=True))[0])
    assert 0.9 - 0.39 < np.std(found) < 1.15 + 0.39


def test_a_level_at_the_average_user_by_hand():
    """Four rows of one action at x = -1, 1, -1, 1, whose slope is 8 / (4 + 1) = 1.6: where x stands by chance
    moves their mean by 1.6^2 / 4 = 0.64 in squares. A standard error of 2 keeps 4 - 0.64; of
    one of 1, half stays, for slopes are estimated; what is not known stays unknown."""
    x = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    none, spread, moment = np.zeros((2, 1)), np.array([[[5.0]], [[0.0]]]), np.array([[8.0], [0.0]])
    sums = CentredSums(np.array([4.0, 0.0]), none, np.zeros(2), spread, moment, np.zeros(2))
    for error, kept in ((2.0, np.sqrt(4.0 - 0.64)), (1.0, np.sqrt(0.5))):
        levels = hs.Summary(np.array([0.0, np.nan]), np.array([error, np.inf]), np.ones(2), doubtful=(0,))
        found = at_average_user(levels, x, sums)
        np.testing.assert_allclose(found.standard_errors, [kept, np.inf])
        assert found.doubtful == (0,)
        assert levels.standard_errors[0] == error
