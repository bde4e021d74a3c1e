"""The boundary: what comes in is checked here once, and trusted inside."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.errors import ContextError, HeadstartError, LogError


def check_contexts(contexts: ArrayLike, n_features: int) -> Floats:
    """Contexts to be asked about, as a C-ordered (n, d) of finite numbers."""
    values = _as_floats(contexts, "contexts", ContextError)
    if values.ndim != 2 or values.shape[1] != n_features:
        raise ContextError(f"contexts must have shape (n, {n_features}), got {values.shape}")
    _check_finite(values, ContextError)
    return values


def check_one_context(context: ArrayLike, n_features: int) -> Floats:
    """One context, as a (d,) of finite numbers."""
    values = _as_floats(context, "context", ContextError)
    if values.shape != (n_features,):
        raise ContextError(f"context must have shape ({n_features},), got {values.shape}")
    if not np.isfinite(values).all():
        column = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ContextError(f"context in column {column} must be a finite number, got {values[column]}")
    return values


def check_rows(
    contexts: ArrayLike, actions: ArrayLike, outcomes: ArrayLike, n_actions: int
) -> tuple[Floats, Integers, Floats]:
    """Rows to learn from: contexts (n, d), actions (n,) in 0..K-1, outcomes (n,), all finite, n and d >= 1."""
    if n_actions < 1:
        raise LogError(f"n_actions must be at least 1, got {n_actions}")
    x = _as_floats(contexts, "contexts", LogError)
    y = _as_floats(outcomes, "outcomes", LogError)
    a = np.asarray(actions)
    if x.ndim != 2 or 0 in x.shape:
        raise LogError(f"contexts must have shape (n, d) with n and d at least 1, got {x.shape}")
    for name, values in (("actions", a), ("outcomes", y)):
        if values.shape != (x.shape[0],):
            raise LogError(f"{name} must have shape ({x.shape[0]},), got {values.shape}")
    _check_finite(x, LogError)
    wrong = np.flatnonzero(~np.isfinite(y))
    if wrong.size:
        raise LogError(f"outcome in row {wrong[0]} must be a finite number, got {y[wrong[0]]}")
    if a.dtype.kind not in "iu":
        raise LogError(f"actions must be whole numbers, got {a.dtype}")
    a = np.require(a, np.int64, ["C", "A", "W"])
    wrong = np.flatnonzero((a < 0) | (a >= n_actions))
    if wrong.size:
        raise LogError(f"action in row {wrong[0]} must be in 0..{n_actions - 1}, got {a[wrong[0]]}")
    return x, a, y


def _as_floats(values: ArrayLike, name: str, error: type[HeadstartError]) -> Floats:
    # numba compiles anew for each kind of array, read-only ones included, so all become of one kind here.
    try:
        return np.require(values, np.float64, ["C", "A", "W"])
    except (TypeError, ValueError) as cause:
        raise error(f"{name} must be numbers: {cause}") from cause


def _check_finite(contexts: Floats, error: type[HeadstartError]) -> None:
    # A finite sum proves finite terms, and needs no array of booleans; an overflowing one proves nothing.
    with np.errstate(all="ignore"):
        if np.isfinite(contexts.sum()):
            return
    wrong = np.argwhere(~np.isfinite(contexts))
    if wrong.size:
        row, column = wrong[0]
        raise error(f"context in row {row}, column {column} must be a finite number, got {contexts[row, column]}")
