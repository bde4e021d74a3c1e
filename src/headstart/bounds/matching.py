"""Theorems 2 and 3: UCB with exact matching on kinds of users, or on values of the propensity vector.

Both are one theorem about strata c with P_c their chance online and N(c, a) their rows in the log. Matching an
action ends at its first miss. The paper takes the number of matches M_a before it to be at least
min_c N(c, a) / P_c. By Wald's identity E M_a <= min_c (N(c, a) + 1) / P_c - 1, so that is, all but a constant, the
most that it can be on average, and with many small strata far too much: one row in each of C equal strata gives
sqrt(pi C / 2) matches (birthdays), not C. Hence the `_printed` forms are no bounds; the others are.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.bounds.conditions import RARE_PLAYS, check_gaps, check_rounds, check_strata
from headstart.bounds.ucb import enough_plays

_GRID = 4096  # points at which the chance of a miss is computed, at most
_CELLS = 1 << 21  # points x strata, at most


def exact_matching_upper(gaps: ArrayLike, horizon: int, counts: ArrayLike, shares: ArrayLike) -> float:
    """Theorem 2, corrected: sum of Delta_a (1 + pi^2/3 + E max{0, 8 ln(T + N) / Delta_a^2 - M_a}).

    Parameters
    ----------
    gaps, horizon
        Delta_a, (K,), of outcomes in [0, 1]; T. The oracle is `UCB` with beta = 1.
    counts
        N(c, a): rows of each kind and action, (C, K); N is their sum.
    shares
        P_c: how common each kind is among users, virtual and online, (C,).

    Notes
    -----
    E max{0, l - M} = sum over j <= l of P(M < j), and P(M < j) <= sum over c of P(Binomial(j, P_c) > N(c, a)),
    at most 1: nearly exact for a few large strata, some 25 % of E M too much for many small ones. It uses ln(T + N)
    where the paper has ln(T + A), A a bound on the expected number of matches: the proof needs one on the number
    itself. Left out: the context of the miss is drawn and lost, shifting an action's sum of outcomes by 1 at most.
    """
    missed, rounds = check_gaps(gaps), check_rounds(horizon)
    rows, chances = check_strata(counts, shares, missed.size)
    enough = enough_plays(missed, rounds + rows.sum())
    plays = [
        RARE_PLAYS + expected_shortfall(enough[a], rows[:, a], chances) if missed[a] > 0.0 else 0.0
        for a in range(missed.size)
    ]
    return float(missed @ np.array(plays))


def propensity_matching_upper(gaps: ArrayLike, horizon: int, counts: ArrayLike, shares: ArrayLike) -> float:
    """Theorem 3, corrected: `exact_matching_upper` with values of the propensity vector for kinds.

    Supposes that every propensity vector is one of finitely many values and the pivots are these.
    """
    return exact_matching_upper(gaps, horizon, counts, shares)


def exact_matching_upper_printed(gaps: ArrayLike, horizon: int, counts: ArrayLike, shares: ArrayLike) -> float:
    """Theorem 2 as printed, no bound when strata are small: see the module's first lines.

    sum of Delta_a (1 + pi^2/3 + sum_c max{0, 8 ln(T + A) / Delta_a^2 P_c - min_c' N(c', a) P_c / P_c'}), with
    A = N - sum over worse a and c of max{0, N(c, a) - (8 ln(T + N) / Delta_a^2 + 1 + pi^2/3) P_c}.
    """
    missed, rounds = check_gaps(gaps), check_rounds(horizon)
    rows, chances = check_strata(counts, shares, missed.size)
    return _printed(missed, rounds, rows, chances, rows)


def propensity_matching_upper_printed(gaps: ArrayLike, horizon: int, counts: ArrayLike, shares: ArrayLike) -> float:
    """Theorem 3 as printed: Theorem 2, but A has min_c' N(c', a) P_c / P_c' in the place of N(c, a)."""
    missed, rounds = check_gaps(gaps), check_rounds(horizon)
    rows, chances = check_strata(counts, shares, missed.size)
    return _printed(missed, rounds, rows, chances, _evened(rows, chances))


def _printed(gaps: Floats, horizon: int, rows: Floats, chances: Floats, matched: Floats) -> float:
    n = rows.sum()
    is_worse = gaps > 0.0
    wanted = (enough_plays(gaps, horizon + n) + RARE_PLAYS) * chances[:, None]
    at_most = n - np.maximum(0.0, matched - wanted)[:, is_worse].sum()  # A
    enough = enough_plays(gaps, horizon + at_most) * chances[:, None]
    online = np.maximum(0.0, enough - _evened(rows, chances)).sum(axis=0)
    return float(gaps @ (RARE_PLAYS + online))


def _evened(rows: Floats, chances: Floats) -> Floats:
    """min_c' N(c', a) P_c / P_c', (C, K)."""
    evened: Floats = (rows / chances[:, None]).min(axis=0) * chances[:, None]
    return evened


def expected_shortfall(plays: float, rows: ArrayLike, shares: ArrayLike) -> float:
    """At least E max{0, plays - M}, M the matches of one action before the first miss.

    `rows` and `shares` are N(c) and P_c of its strata, (C,).
    """
    from headstart.special import betainc

    strata, repeats = np.unique(np.column_stack([rows, shares]), axis=0, return_counts=True)
    n, p = strata[:, 0], strata[:, 1]
    in_reach = min(plays, float(n @ repeats))  # there are no more matches than rows
    last = math.ceil(in_reach)
    if last == 0:
        return plays
    points = min(last, max(64, min(_GRID, _CELLS // len(strata))))
    ends = np.unique(np.linspace(0, last, points + 1).astype(np.int64))[1:].astype(np.float64)
    widths = np.diff(ends, prepend=0.0)
    widths[-1] -= last - in_reach
    draws = ends[:, None]
    # P(Binomial(j, p) > n) = I_p(n + 1, j - n). It grows with j, so the end of a block stands for the block.
    overdrawn = np.where(draws > n, betainc(n + 1.0, np.maximum(draws - n, 1.0), p), 0.0)
    return plays - in_reach + float(widths @ np.minimum(1.0, overdrawn @ repeats))
