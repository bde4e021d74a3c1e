"""Shares: what each row of an action counts in its mean, 1/p normalised, none too large, contexts balanced."""

from __future__ import annotations

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.population import balancing_weights


def share_rows(
    actions: Integers,
    n_actions: int,
    weights: Floats,
    contexts: Floats,
    tilt: Floats | None = None,
) -> tuple[Floats, Floats]:
    """A share per row, which sum to 1 over an action's rows, and how far it is from the plain one, each (n,).

    `contexts` are standardised: their means belong at 0, the log's own, or are tilted to another population's. The
    tilt is no error: then only the cut counts as a move.
    """
    shares, moves = np.empty(actions.size), np.empty(actions.size)
    d = contexts.shape[1]
    for a in range(n_actions):
        rows = np.flatnonzero(actions == a)
        if rows.size == 0:
            continue
        plain = weights[rows] / weights[rows].sum()
        share = cut(plain, 1.0 / np.sqrt(rows.size))
        if d and tilt is None:
            share = calibrate(share, contexts[rows], np.zeros(d))
        moves[rows] = plain - share
        if d and tilt is not None:  # far from the rows' own means: weights that stay positive
            share = balancing_weights(contexts[rows], tilt, d * float(share @ share), share)
        shares[rows] = share
    return shares, moves


def move_beyond_chance(actions: Integers, terms: Floats, n_actions: int, units: Integers | None) -> Floats:
    """How far cut and calibration moved each mean, (K,), beyond chance.

    What they changed is the difference of two answers to one question: a sign of their error. The difference of two
    right answers is chance, whose square is the sum of the terms' squares; it is taken off as far as it can be told:
    a single row cannot tell its chance from what it moved, m rows of a kind can but for 1 / m of it.
    """
    allowances = np.zeros(n_actions)
    for a in range(n_actions):
        mine = np.flatnonzero(actions == a)
        moved = terms[mine] if units is None else np.bincount(units[mine], terms[mine])
        squares = float(moved @ moved)
        if squares > 0.0:
            untold = squares / float(np.abs(moved).sum()) ** 2
            allowances[a] = np.sqrt(max(float(moved.sum()) ** 2 - squares * (1.0 - untold), 0.0))
    return allowances


def cut(shares: Floats, most: float) -> Floats:
    """Shares of which none is above `most` (at least 1/n); what is cut off goes to the others in proportion."""
    while True:
        over = shares > most * (1.0 + 1e-12)
        if not over.any():
            return shares
        full = shares >= most
        rest = shares[~full].sum()
        if rest <= 0.0:
            return np.full(shares.size, 1.0 / shares.size)
        shares = np.where(full, most, shares * ((1.0 - most * full.sum()) / rest))


def calibrate(shares: Floats, contexts: Floats, target: Floats) -> Floats:
    """Shares moved, by as little as can be, so that the mean of the (standardised) contexts comes nearer to the
    target.

    v_i (1 + (x_i - mean)'l), l = (S + d sum(v^2) I)^-1 (target - mean), S the weighted covariance: the calibration of
    survey sampling (Deville and Sarndal 1992) with a ridge of the size that d chance imbalances of so many rows have.
    What the regression got wrong of a linear outcome is then mostly balanced away.
    """
    mean = shares @ contexts
    centred = contexts - mean
    spread = (centred * shares[:, None]).T @ centred
    spread.flat[:: spread.shape[0] + 1] += spread.shape[0] * (shares @ shares)
    moved: Floats = shares * (1.0 + centred @ np.linalg.solve(spread, target - mean))
    return moved
