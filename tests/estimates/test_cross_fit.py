"""Folds, and predictions by the others."""

import numpy as np
import pytest

from headstart.errors import OptionError
from headstart.estimates.cross_fit import check_folds, cross_fit, deal_folds


def test_folds_are_nearly_equal_and_by_lot():
    folds = deal_folds(23, 5, 0)
    assert sorted(np.bincount(folds).tolist()) == [4, 4, 5, 5, 5]
    assert (folds == deal_folds(23, 5, 0)).all()
    assert (folds != deal_folds(23, 5, 1)).any()


def test_every_row_is_predicted_by_the_others():
    """The mean of the rows outside, by hand: folds 0, 1, 0 of 1, 2, 6 are predicted by 2, 3.5, 2."""
    values = np.array([1.0, 2.0, 6.0])
    predicted = cross_fit(
        np.array([0, 1, 0]), 1, lambda inside, outside: np.full((inside.sum(), 1), values[outside].mean())
    )
    assert predicted[:, 0].tolist() == [2.0, 3.5, 2.0]


def test_a_single_row_is_predicted_by_itself():
    predicted = cross_fit(np.array([0]), 1, lambda inside, outside: np.array([[float(outside.sum())]]))
    assert predicted.tolist() == [[1.0]]


@pytest.mark.parametrize("n_folds", [1, 4])
def test_folds_must_have_rows(n_folds):
    with pytest.raises(OptionError, match=rf"n_folds must be in 2\.\.3 \(the rows of the log\), got {n_folds}"):
        check_folds(n_folds, 3)
