"""Cross-fitting: rows are dealt into folds, and each fold is predicted by what the others taught."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.errors import OptionError
from headstart.randomness import RNG, as_generator

Predict = Callable[[Bools, Bools], Floats]
"""(rows to predict, rows to learn from), masks (n,) each -> predictions for the first, (m, width)."""


def check_folds(n_folds: int, n_rows: int) -> int:
    """A number of folds that so many rows can be dealt into."""
    if not 2 <= n_folds <= n_rows:
        raise OptionError(f"n_folds must be in 2..{n_rows} (the rows of the log), got {n_folds}")
    return n_folds


def deal_folds(n_rows: int, n_folds: int, rng: RNG) -> Integers:
    """Which fold each row is in, by lot; folds differ by one row at most."""
    return as_generator(rng).permutation(np.arange(n_rows) % n_folds)


def cross_fit(folds: Integers, width: int, predict: Predict) -> Floats:
    """Every row's predictions by the other folds, (n, width)."""
    predicted = np.empty((folds.size, width))
    for fold in range(int(folds.max()) + 1):
        inside = folds == fold
        outside = ~inside if not inside.all() else inside  # a single row has no others to learn from
        predicted[inside] = predict(inside, outside)
    return predicted
