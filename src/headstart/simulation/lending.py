"""Lending: what a user of a rare action would have done, answered by an earlier row of that action.

Where the log shows an action too seldom, rejection replay would have to thin every other action down to it. Instead,
rows of the action that have gone by wait (the queues of Mandel et al. 2016), and a choice of the action for a user
who was shown something else is answered, in as many cases as are missing, by one of them: of those that have taught
the policy least often the one whose predicted outcome is nearest (matching on the prognostic score: Hansen 2008). A
row lends only after it has gone by, so that an outcome has valued the policy before the policy learns it.

Where a policy wants the action more often than the log has rows of it, all rows lend a second time before any lends
a third. Their luck is then met again, so that lives differ more from log to log, which the bootstrap logs see
(`judgement.compare.noise`). To let such a policy wait for rows instead keeps it from the action that it wants: where
that was the best one, values were too low by half a standard error, and lives too short. While no row has gone by,
the choice is accepted too seldom; the event then counts in the value by as much as its chance falls short, as the
rounds do.
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
    times: Integers  # (rare actions, MOST_WAITING) how often each of them has taught the policy


def open_loans(chances: Floats, wanted: float) -> Loans:
    """For a run in which every choice is to be accepted with the chance `wanted`, from the log's chances, (n, K)."""
    is_rare = (chances < wanted).any(axis=0)
    columns = np.where(is_rare, np.cumsum(is_rare) - 1, -1).astype(np.int64)
    n = int(is_rare.sum())
    waiting, times = (np.zeros((n, MOST_WAITING), dtype=np.int64) for _ in range(2))
    return Loans(columns, chances[:, is_rare], waiting, np.zeros(n, dtype=np.int64), times)


def no_loans(n_actions: int) -> Loans:
    """No action is rare."""
    return open_loans(np.ones((1, n_actions)), 0.0)


@kernel
def wait_to_lend(waiting: Integers, counts: Integers, times: Integers, column: int, row: int, taught: int) -> None:
    """Put a row at the end of its action's queue."""
    if counts[column] == waiting.shape[1]:
        for j in range(counts[column] - 1):
            waiting[column, j], times[column, j] = waiting[column, j + 1], times[column, j + 1]
        counts[column] -= 1
    waiting[column, counts[column]], times[column, counts[column]] = row, taught
    counts[column] += 1


@kernel
def take_lender(
    waiting: Integers, counts: Integers, times: Integers, column: int, scores: Floats, action: int, row: int
) -> tuple[int, bool]:
    """Of the rows that taught least often the one whose score is nearest to this row's, the oldest of equals; and
    whether it has taught before."""
    nearest, fewest, least = 0, times[column, 0], np.inf
    for j in range(counts[column]):
        apart = abs(scores[waiting[column, j], action] - scores[row, action])
        if times[column, j] < fewest or (times[column, j] == fewest and apart < least):
            nearest, fewest, least = j, times[column, j], apart
    times[column, nearest] += 1
    return waiting[column, nearest], fewest > 0
