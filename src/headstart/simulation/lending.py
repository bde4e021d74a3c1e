"""Lending: what a user of a rare action would have done, answered by an earlier row of that action.

Where the log shows an action too seldom, rejection replay would have to thin every other action down to it. Instead,
a choice of it for a user who was shown something else is answered, in as many cases as are missing, by the outcome of
a row of the action that has gone by: of a few, drawn by lot, the one whose predicted outcome is nearest (matching on
the prognostic score: Hansen 2008). Only rows that have gone by lend, so that a row's own outcome, which values the
policy, has never been learnt before it comes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers

FEWEST_LENDERS = 10  # rows of the action that must have gone by: fewer would be met again and again
_N_ASKED = 8  # rows drawn, of which the nearest lends


class Loans(NamedTuple):
    """For each event in its order and each rare action: the chance that a choice of it is answered, and by whom."""

    columns: Integers  # (K,) of the two matrices; -1: the action is never lent
    chances: Floats  # (events, rare actions)
    lenders: Integers  # (events, rare actions) rows of the log


def draw_loans(
    actions: Integers, order: Integers, chances: Floats, predicted: Floats, wanted: float, rng: np.random.Generator
) -> Loans:
    """Loans that make a choice of any action for any user accepted with the chance `wanted`.

    Parameters
    ----------
    actions, order
        Of all rows of the log, and the rows in the order in which they come.
    chances, predicted
        (n, K): the log's chance of each action and the outcome predicted for it, for every row of the log.
    """
    coming = chances[order]
    is_rare = (coming < wanted).any(axis=0)
    columns = np.where(is_rare, np.cumsum(is_rare) - 1, -1).astype(np.int64)
    lent = np.zeros((order.size, int(is_rare.sum())))
    lenders = np.zeros(lent.shape, dtype=np.int64)
    taken = actions[order]
    for action in np.flatnonzero(is_rare):
        column, places = columns[action], np.flatnonzero(taken == action)
        gone = np.searchsorted(places, np.arange(order.size))  # rows of the action before each event
        if places.size < FEWEST_LENDERS:
            continue
        p = coming[:, action]
        may_borrow = (gone >= FEWEST_LENDERS) & (p < wanted)
        lent[:, column] = np.where(may_borrow, (wanted - p) / (1.0 - np.minimum(p, wanted)), 0.0)
        lenders[:, column] = _nearest(order[places], gone, predicted[:, action], order, rng)
    return Loans(columns, lent, lenders)


def no_loans(n_actions: int) -> Loans:
    """Nothing is lent."""
    return Loans(np.full(n_actions, -1, dtype=np.int64), np.empty((0, 0)), np.empty((0, 0), dtype=np.int64))


def _nearest(rows: Integers, gone: Integers, scores: Floats, order: Integers, rng: np.random.Generator) -> Integers:
    """For each event, of a few among the first `gone` of these rows the one with the nearest score."""
    drawn = (rng.random((order.size, _N_ASKED)) * np.maximum(gone, 1)[:, None]).astype(np.int64)
    asked = rows[drawn]
    nearest = np.abs(scores[asked] - scores[order][:, None]).argmin(axis=1)
    return asked[np.arange(order.size), nearest]
