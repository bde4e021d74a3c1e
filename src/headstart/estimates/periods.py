"""Periods: the rows of a log in up to ten parts of equal numbers by time, and time as one more confounder.

Where the log says when its rows were decided, periods are of that time, and rows of one time are never parted. Where
it does not, a log in memory has an order of its own, and the number of a row stands for its time if adjacent rows
have no more to do with each other than rows of one period have anyway: a file that was sorted by action, outcome or
context is in no order of time, and a shuffled one shows nothing.

A policy whose shares moved while outcomes moved for other reasons confounds the action with time. Where propensities
have to be estimated, the period is then one more categorical column (`with_periods`), which the propensities and the
regressions see and decisions never do.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.logs.encoding import Encoding
from headstart.logs.log import Log

PERIOD = "period"  # the name of the column
MOST_PERIODS = 10
FEWEST_ROWS = 100  # of a period
CHANCE = 0.002  # of a false alarm, for each test of change
_RELATED = 0.1  # of a correlation of adjacent rows within periods: above it the order is that of a sort
_FEWEST_EXPECTED = 5.0  # rows of an action in a period, to be compared by itself


@dataclass(frozen=True, eq=False)
class Periods:
    """Which period each row is of."""

    labels: Integers  # (n,) 0 is the first
    starts: tuple[float, ...]  # the first time of each period

    @property
    def n_periods(self) -> int:
        return len(self.starts)

    @property
    def rows(self) -> Integers:
        """(P,)"""
        return np.bincount(self.labels, minlength=self.n_periods)


def find_periods(log: Log) -> Periods | None:
    """The periods of a log that has times; None if it has none, or too few rows or times for two periods."""
    if log.times is None:
        return None
    return cut_periods(log.times, min(MOST_PERIODS, len(log) // FEWEST_ROWS))


def cut_periods(times: Floats, n_periods: int) -> Periods | None:
    """At most `n_periods` parts of nearly equal numbers of rows; None if there are not two of a fair size."""
    if n_periods < 2:
        return None
    values, place, counts = np.unique(times, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - counts / 2.0
    periods = np.minimum((middles * n_periods / times.size).astype(np.int64), n_periods - 1)
    least = times.size / (2.0 * n_periods)
    found = np.zeros(values.size, dtype=np.int64)  # a period that many rows of one time left too small joins the next
    rows, label = 0, 0
    edges = [0, *(np.flatnonzero(np.diff(periods)) + 1).tolist(), values.size]
    for first, last in itertools.pairwise(edges):
        if rows >= least:
            rows, label = 0, label + 1
        rows += int(counts[first:last].sum())
        found[first:last] = label
    if rows < least:
        found[found == label] = max(label - 1, 0)
    n_found = int(found.max()) + 1
    if n_found < 2:
        return None
    firsts = np.searchsorted(found, np.arange(n_found))
    return Periods(found[place], tuple(values[firsts].tolist()))


def number_rows(log: Log) -> Log:
    """The log with times: its own or, where it has none and its order may be one of time, the numbers of its rows."""
    if log.times is not None or len(log) < 2 * FEWEST_ROWS or not _has_order_of_time(log):
        return log
    return log.with_times(np.arange(len(log), dtype=np.float64))


def _has_order_of_time(log: Log) -> bool:
    """Whether adjacent rows of a period are as unlike as any: in their actions, outcomes and every context."""
    n = len(log)
    periods = cut_periods(np.arange(n, dtype=np.float64), min(MOST_PERIODS, n // FEWEST_ROWS))
    if periods is None:
        return False
    limit = _RELATED + 4.0 / np.sqrt(n)
    if _relate_actions(periods, log) > limit:
        return False
    together = periods.labels[1:] == periods.labels[:-1]
    for column in (log.outcomes, *log.contexts.T):
        apart = column - (np.bincount(periods.labels, column) / periods.rows)[periods.labels]
        scatter = float(apart @ apart)
        if scatter <= 1e-12 * n * float(np.var(column)):
            if np.ptp(column) > 0.0:
                return False  # it changes from period to period and never within one
            continue
        if float((apart[1:] * apart[:-1])[together].sum()) > limit * scatter:
            return False
    return True


def _relate_actions(periods: Periods, log: Log) -> float:
    """The correlation of adjacent rows' actions within periods, over all actions; 1 if each period has but one."""
    labels, actions = periods.labels, log.actions
    counts = np.bincount(labels * log.n_actions + actions, minlength=periods.n_periods * log.n_actions)
    shares = counts.reshape(-1, log.n_actions) / periods.rows[:, None]
    squares = (shares**2).sum(axis=1)
    scatter = float(periods.rows @ (1.0 - squares))
    if scatter <= 0.0:
        return 0.0 if np.ptp(actions) == 0 else 1.0
    expected = shares[labels, actions]
    same = (actions[1:] == actions[:-1]) - expected[1:] - expected[:-1] + squares[labels[1:]]
    return float(same[labels[1:] == labels[:-1]].sum()) / scatter


def compare_shares(periods: Periods, actions: Integers, n_actions: int, units: Integers | None = None) -> float:
    """The chance that shares differ so much between periods if the policy's did not: a chi-square test.

    Actions of which fewer than five rows are to be expected in a period are taken together. The rows of one unit are
    not drawn one by one: the statistic is divided by how much that makes counts vary (Rao and Scott 1981).
    """
    from headstart.special import chdtrc

    n, rows = actions.size, periods.rows
    totals = np.bincount(actions, minlength=n_actions)
    is_rare = totals * (rows.min() / n) < _FEWEST_EXPECTED
    place = np.where(is_rare, n_actions, np.arange(n_actions))
    kept, merged = np.unique(place[actions], return_inverse=True)
    counts = np.bincount(periods.labels * kept.size + merged, minlength=periods.n_periods * kept.size)
    table = counts.reshape(periods.n_periods, kept.size)
    shares = table.sum(axis=0) / n
    if kept.size < 2 or shares.min() * rows.min() < 1.0:
        return 1.0
    expected = rows[:, None] * shares
    statistic = float(((table - expected) ** 2 / expected).sum())
    if units is not None:
        statistic /= max(1.0, _design_effect(periods.labels, merged, shares, units))
    return float(chdtrc((periods.n_periods - 1) * (kept.size - 1), statistic))


def _design_effect(labels: Integers, actions: Integers, shares: Floats, units: Integers) -> float:
    """How many times as much as of independent rows the counts of a period vary, on average over actions."""
    cells, place = np.unique(np.column_stack([labels, units]), axis=0, return_inverse=True)
    place = place.reshape(-1)
    clustered = independent = 0.0
    for a, share in enumerate(shares):
        apart = (actions == a) - share
        clustered += float((np.bincount(place, apart, len(cells)) ** 2).sum()) / share
        independent += float(apart @ apart) / share
    return clustered / independent


def needs_periods(log: Log) -> bool:
    """Whether time must be adjusted for: propensities are to be estimated, and the policy's shares moved.

    The rule: the log has no propensities, periods are known (`find_periods`), and the test of `compare_shares` says
    that shares moved, with a chance of 0.2 % of a false alarm.
    """
    if log.has_propensities or PERIOD in log.encoding.columns:
        return False
    periods = find_periods(log)
    return periods is not None and compare_shares(periods, log.actions, log.n_actions, log.units) < CHANCE


def with_periods(log: Log) -> Log:
    """The log with its period as one more categorical context, where time must be adjusted for (`needs_periods`).

    A log without times is given the numbers of its rows for that (`number_rows`), unless it was sorted. The column
    is called "period", comes last, and is left out as a whole by `log.without([PERIOD])`.
    """
    timed = number_rows(log)
    if not needs_periods(timed):
        return log
    periods = find_periods(timed)
    assert periods is not None
    dummies = (periods.labels[:, None] == np.arange(periods.n_periods)).astype(np.float64)
    known = log.encoding
    categories = {**known.categories, PERIOD: tuple(range(1, periods.n_periods + 1))}
    wider = Log.of_encoded(
        log.actions,
        log.outcomes,
        np.column_stack([log.contexts, dummies]),
        None,
        encoding=Encoding((*known.columns, PERIOD), categories),
        action_names=log.action_names,
        units=log.units,
        times=timed.times,
    )
    return wider if log.reading is None else wider.with_reading(log.reading)
