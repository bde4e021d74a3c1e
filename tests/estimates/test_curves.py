"""Curves of columns: kinks by hand, and what they are left out of."""

import numpy as np
import pytest

from headstart.estimates.cells import Residuals, find_steps, stands_out
from headstart.estimates.curves import propose_curves


def test_kinks_by_hand():
    """0..8 has quartiles 2, 4, 6; in these units nothing is cut. max(0, x - 1) of (0, 0.5, 1, 1.5, 2) is (0, 0, 0,
    0.5, 1): mean 0.3, and scaled so that its deviation is 0.3."""
    column = np.array([0.0, 0.5, 1.0, 1.5, 2.0])[:, None]
    (curves,) = propose_curves(column)
    np.testing.assert_allclose(curves.knots, [0.5, 1.0, 1.5])
    middle = curves.expand(column)[:, -2]
    raw = np.array([0.0, 0.0, 0.0, 0.5, 1.0])
    np.testing.assert_allclose(middle, (raw - 0.3) * 0.3 / raw.std())


def test_a_flag_has_no_kink_and_many_columns_have_none():
    rng = np.random.default_rng(0)
    flag = rng.integers(2, size=(50, 1)).astype(float)
    number = rng.standard_normal((50, 1))
    standard = np.column_stack([(flag - flag.mean()) / flag.std(), number])
    squares, products = propose_curves(standard)
    assert set(squares.columns.tolist()) == {1}
    assert [0, 1] in products.products.pairs.tolist()
    assert propose_curves(rng.standard_normal((60, 41))) == []


def test_a_cell_that_stands_out_by_hand():
    """100 rows, half of them beyond the column's median; residuals of +1 there and -1 elsewhere, of variance 1: the
    sum of 50 is 7 of its standard errors."""
    column = np.repeat([0.0, 1.0], 50)[:, None]
    steps = find_steps(column, column)
    left = np.repeat([-1.0, 1.0], 50)
    assert stands_out(steps, [Residuals(slice(None), left, np.ones(100))], 5.0)
    assert not stands_out(steps, [Residuals(slice(None), left, np.ones(100))], 101.0)
    assert not stands_out(steps, [Residuals(slice(None), np.tile([-1.0, 1.0], 50), np.ones(100))], 5.0)


@pytest.mark.parametrize("n_columns", [2, 40])
def test_noise_stands_out_no_more_often_than_stated(n_columns):
    """1 in 100 of 50: 4 or more have a chance of 0.2 %."""
    found = []
    for seed in range(50):
        rng = np.random.default_rng([seed, n_columns])
        x, left = rng.standard_normal((500, n_columns)), rng.standard_normal(500)
        found.append(stands_out(find_steps(x, left[:, None]), [Residuals(slice(None), left, left**2)], 30.0))
    assert sum(found) <= 3
