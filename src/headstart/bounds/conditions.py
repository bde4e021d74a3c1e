"""What the theorems suppose, checked: each failure says which condition does not hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.checks import check_number, check_whole
from headstart.errors import OptionError

RARE_PLAYS = 1.0 + math.pi**2 / 3.0  # plays of a worse action that UCB makes however much it knows (Auer et al. 2002)


def gaps_of(means: ArrayLike) -> Floats:
    """Delta_a = the largest mean minus the mean of a, (K,)."""
    values = _as_vector("means", means)
    missed: Floats = values.max() - values
    return missed


def check_gaps(gaps: ArrayLike) -> Floats:
    """Delta_a of every action, the best one's 0 included; at most 1, for outcomes are in [0, 1]."""
    values = _as_vector("gaps", gaps)
    if (values < 0.0).any():
        raise OptionError(f"gaps must be at least 0, got {values.min():g}: max(means) - means")
    if values.min() > 0.0:
        raise OptionError(f"gaps must hold a 0, the best action's, got {values.tolist()}")
    if values.max() > 1.0:
        raise OptionError(f"gaps must be at most 1, for the theorem needs outcomes in [0, 1], got {values.max():g}")
    return values


def check_rounds(horizon: Any) -> int:
    """T, a whole number of at least one round."""
    return check_whole("horizon", horizon)


def check_sizes(name: str, sizes: ArrayLike, n_actions: int) -> Floats:
    """A number of plays of at least 0 per action."""
    values = _check_length(name, sizes, n_actions)
    if (values < 0.0).any():
        raise OptionError(f"{name} must be at least 0, got {values.min():g}")
    return values


def check_biases(biases: ArrayLike, n_actions: int) -> Floats:
    """delta_a per action, in [-1, 1], for outcomes are in [0, 1]."""
    values = _check_length("biases", biases, n_actions)
    if (np.abs(values) > 1.0).any():
        raise OptionError(f"biases must be in [-1, 1], for outcomes are in [0, 1], got {values.tolist()}")
    return values


def check_strata(counts: ArrayLike, shares: ArrayLike, n_actions: int) -> tuple[Floats, Floats]:
    """Rows per stratum and action, (C, K), and each stratum's chance online, (C,); those of chance 0 are left out."""
    chances = _as_vector("shares", shares)
    if (chances < 0.0).any() or abs(chances.sum() - 1.0) > 1e-6:
        raise OptionError(f"shares must be chances that sum to 1, got the sum {chances.sum():g}")
    rows = np.asarray(counts, dtype=np.float64)
    if rows.shape != (chances.size, n_actions):
        raise OptionError(f"counts must be strata x actions, ({chances.size}, {n_actions}), got shape {rows.shape}")
    if not np.isfinite(rows).all() or (rows < 0.0).any() or (rows != np.floor(rows)).any():
        raise OptionError("counts must be whole numbers of rows, at least 0")
    return rows[chances > 0.0], chances[chances > 0.0]


def check_positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    number = check_number(name, value, low=0.0)
    if number == 0.0:
        raise OptionError(f"{name} must be above 0, got 0")
    return number


def _check_length(name: str, values: ArrayLike, n_actions: int) -> Floats:
    vector = _as_vector(name, values)
    if vector.size != n_actions:
        raise OptionError(f"{name} must be one number per action ({n_actions}), got {vector.size}")
    return vector


def _as_vector(name: str, values: ArrayLike) -> Floats:
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be numbers, got {values!r}") from None
    if vector.ndim != 1 or vector.size == 0 or not np.isfinite(vector).all():
        raise OptionError(f"{name} must be a list of finite numbers, got {values!r}")
    return vector
