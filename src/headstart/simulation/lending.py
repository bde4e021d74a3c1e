"""Lending: what a user of a rare action would have done, answered by an earlier row of that action.

Where the log shows an action too seldom, rejection replay would have to thin every other action down to it. Instead,
rows of the action that have gone by without teaching the policy anything wait (the queues of Mandel et al. 2016), and
a choice of the action for a user who was shown something else is answered, in as many cases as are missing, by the
one among them whose predicted outcome is nearest (matching on the prognostic score: Hansen 2008). Each row lends
once, so that no luck of a few rows is met again and again, and only after it has gone by, so that an outcome has
valued the policy before the policy learns it. While nobody waits, such a choice is accepted too seldom; the event
then counts in the value by as much as its chance falls short, as the rounds do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels import kernel

MOST_WAITING = 256  # rows of an action that wait; of more the oldest give way


class Loans(NamedTuple):
    """The rare actions of a run: their chances, and who waits to lend."""

    columns: Integers  # (K,) where an action stands in what follows; -1: it is not rare
    chances: Floats  # (rows, rare actions) of the log
    waiting: Integers  # (rare actions, MOST_WAITING) rows of the log
    counts: Integers  # (rare actions,) how many wait


def open_loans(chances: Floats, wanted: float) -> Loans:
    """For a run in which every choice is to be accepted with the chance `wanted`, from the log's chances, (n, K)."""
    is_rare = (chances < wanted).any(axis=0)
    columns = np.where(is_rare, np.cumsum(is_rare) - 1, -1).astype(np.int64)
    n = int(is_rare.sum())
    waiting = np.zeros((n, MOST_WAITING), dtype=np.int64)
    return Loans(columns, chances[:, is_rare], waiting, np.zeros(n, dtype=np.int64))


def no_loans(n_actions: int) -> Loans:
    """No action is rare."""
    return open_loans(np.ones((1, n_actions)), 0.0)


@kernel
def wait_to_lend(waiting: Integers, counts: Integers, column: int, row: int) -> None:
    """Put a row at the end of its action's queue."""
    if counts[column] == waiting.shape[1]:
        for j in range(counts[column] - 1):
            waiting[column, j] = waiting[column, j + 1]
        counts[column] -= 1
    waiting[column, counts[column]] = row
    counts[column] += 1


@kernel
def take_lender(waiting: Integers, counts: Integers, column: int, scores: Floats, action: int, row: int) -> int:
    """The waiting row of the action whose score is nearest to this row's, the oldest of equals; it waits no more."""
    nearest, least = 0, np.inf
    for j in range(counts[column]):
        apart = abs(scores[waiting[column, j], action] - scores[row, action])
        if apart < least:
            nearest, least = j, apart
    lender = waiting[column, nearest]
    for j in range(nearest, counts[column] - 1):
        waiting[column, j] = waiting[column, j + 1]
    counts[column] -= 1
    return lender
