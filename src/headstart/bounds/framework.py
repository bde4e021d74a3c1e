"""Theorems 1 and 8 and their corollary: online regret = total regret - regret of the virtual plays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.bounds.conditions import check_rounds, check_sizes
from headstart.errors import OptionError


def general_upper(bound: Callable[[float], float], horizon: int, virtual_plays: ArrayLike, gaps: ArrayLike) -> float:
    """Theorem 1: g(T + N) - sum over virtual plays of their regret.

    Parameters
    ----------
    bound
        g: an upper bound on the oracle's own regret after so many rounds; non-decreasing.
    horizon
        T, the online rounds.
    virtual_plays, gaps
        How often each action was played virtually, and max E[y | a'] - E[y | a] of each. For a contextual oracle,
        one entry per virtual play: ones, and the gap of each at its own context.

    Notes
    -----
    The paper asks that the evaluator be unbiased. Its proof needs more: that the answers be independent draws
    with the online outcomes' distribution, which matching gives (but for the one miss that ends it) and a
    weighted or predicted mean, answered many times over, does not.
    """
    plays, regret = _virtual_regret(virtual_plays, gaps)
    return _total_regret(bound, horizon, plays) - regret


def general_lower(bound: Callable[[float], float], horizon: int, virtual_plays: ArrayLike, gaps: ArrayLike) -> float:
    """Theorem 8: h(T + N) - sum over virtual plays of their regret; arguments as in `general_upper`.

    `bound` is h, a non-decreasing lower bound on the regret of every oracle one would use. This is what the
    proof reaches; the printed h(T) (`general_lower_printed`) gives away h(T + N) - h(T). Below 0 it says nothing.
    """
    plays, regret = _virtual_regret(virtual_plays, gaps)
    return _total_regret(bound, horizon, plays) - regret


def general_lower_printed(
    bound: Callable[[float], float], horizon: int, virtual_plays: ArrayLike, gaps: ArrayLike
) -> float:
    """Theorem 8 as printed: h(T) - sum over virtual plays of their regret. True, and weaker than `general_lower`."""
    return float(bound(check_rounds(horizon))) - _virtual_regret(virtual_plays, gaps)[1]


def value_of_log_limit(virtual_plays: ArrayLike, gaps: ArrayLike) -> float:
    """The corollary: what the log saves as T grows without end, at least sum of N_a Delta_a.

    For an oracle whose bound g is concave with g(T) / T -> 0, so that g(T + N) - g(T) -> 0. Arguments as in
    `general_upper`.
    """
    return _virtual_regret(virtual_plays, gaps)[1]


def _total_regret(bound: Callable[[float], float], horizon: int, n_virtual: float) -> float:
    rounds = check_rounds(horizon)
    before, after = float(bound(rounds)), float(bound(rounds + n_virtual))
    if after < before:
        raise OptionError(f"bound must be non-decreasing, got {before:g} at T = {rounds} and {after:g} at T + N")
    return after


def _virtual_regret(virtual_plays: ArrayLike, gaps: ArrayLike) -> tuple[float, float]:
    missed: Floats = np.atleast_1d(np.asarray(gaps, dtype=np.float64))
    if missed.ndim != 1 or not np.isfinite(missed).all() or (missed < 0.0).any():
        raise OptionError(f"gaps must be finite numbers of at least 0, got {gaps!r}")
    if missed.size == 0:
        return 0.0, 0.0
    plays = check_sizes("virtual_plays", virtual_plays, missed.size)
    return float(plays.sum()), float(plays @ missed)
