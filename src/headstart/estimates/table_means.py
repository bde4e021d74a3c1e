"""Doubly robust means of a table that does not fit: a regression from a sample, the correction over all rows.

With a regression m that is fixed, mean_a = average of m_a(x) + (sum w y - sum w m_a(x)) / sum w, the last three over
the rows of a. Where m is lines, m_a(x) = c + b'x, that needs only sums of w, w y, w x and x, which the database
gives. Where the sample says that outcomes bend, the rows come once more, a batch at a time, to be predicted.

At this size weights are neither cut nor calibrated. Each row's influence varies as in the sample, so the standard
errors are the sample's times sqrt(sampled rows / rows), and what the sample's regression and estimated propensities
may have missed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.bending import LINES, FixedRegression, choose_regression, learn_chosen
from headstart.estimates.cells import every_so_many
from headstart.estimates.doubly_robust import RobustMeans, shape_left
from headstart.estimates.missed import missed_by
from headstart.estimates.ridge import fit, predict_actions, predict_left_out, standardise, sum_rows
from headstart.estimates.summary import CorrectedMeans, correct_means
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log

# The share of squared errors that curves or trees must take off those of lines for another scan of all rows: the
# means are as right with lines, and their errors 1 % wider at most.
_WORTH_A_SCAN = 0.02
# A row, an action and a tree take 40 ns, and a hundred times what curves take: so many of them, some 16 s of one
# core, and no trees where that leaves fewer rounds than such a regression has at least.
_MOST_TREES, _FEWEST_ROUNDS = 4e8, 10
_BLOCK = 16_384  # rows whose curves are held at a time


class _Fixed(NamedTuple):
    """A regression, and what the correction needs of it."""

    inside: Floats  # (n, K) for the sample's rows, each by others
    averages: Floats  # (K,) of m_a(x) over all rows of the table
    theirs: Floats  # (K,) of m_a(x) over the rows of a, weighted by w
    how: str


def robust_table_means(table: AnyLog, sample: Log, *, tries_others: bool = True) -> RobustMeans:
    """The means of a table with propensities, and their errors. An action of which the sample has no row has none.

    Without `tries_others` lines stay, however much the sample's outcomes bend.
    """
    sums, k = table.action_sums(), table.n_actions
    rounds = int(_MOST_TREES / (float(sums.n.sum()) * k))
    bent = _choose_bent(sample, rounds) if tries_others else None
    fixed = _fix_lines(table, sample) if bent is None else _fix_bent(table, sample, *bent)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = fixed.averages + sums.wy / sums.w - fixed.theirs
    assert sample.propensities is not None
    weights = 1.0 / sample.propensities
    shares = weights / np.bincount(sample.actions, weights, k)[sample.actions]
    found = correct_means(sample.actions, sample.outcomes, shares, fixed.inside, units=sample.units)
    # Regression and estimated propensities are the sample's: all rows of the table make this no less.
    missed = missed_by(sample, fixed.inside, shares)
    shrink = np.sqrt(len(sample) / float(sums.n.sum()))
    residuals = sample.outcomes - fixed.inside[np.arange(len(sample)), sample.actions]
    wide = np.hypot(found.summary.standard_errors * shrink, missed.allowances)
    corrected = CorrectedMeans(
        replace(found.summary, means=np.where(sums.n > 0, means, np.nan), standard_errors=wide),
        np.hypot(found.errors * shrink, missed.allowances),
        found.scatters,
        found.sizes / shrink**2,
        found.tilts * shrink,
    )
    left = shape_left(sample.actions, sample.outcomes, residuals, k)
    return RobustMeans(corrected, left, fixed.how, missed.doubtful)


def _fix_lines(table: AnyLog, sample: Log) -> _Fixed:
    """Lines of the whole sample; over all rows by sums."""
    sums, contexts, k = table.action_sums(), table.context_sums(), table.n_actions
    with np.errstate(divide="ignore", invalid="ignore"):
        weighted = np.nan_to_num(contexts.wx / sums.w[:, None])
    centre = contexts.x.sum(axis=0) / sums.n.sum()
    known, everyone, theirs = standardise(sample.contexts, centre[None], weighted)
    fitted = fit(sum_rows(known, sample.outcomes, sample.actions, k))
    inside = predict_left_out(fitted, known, sample.actions, sample.outcomes)
    return _Fixed(inside, predict_actions(fitted, everyone)[0], predict_actions(fitted, theirs).diagonal(), LINES)


class _Bent(NamedTuple):
    """A regression that bends, and every row of the sample predicted by others."""

    learnt: FixedRegression
    inside: Floats  # (n, K)
    how: str


def _choose_bent(sample: Log, most_rounds: int) -> _Bent | None:
    """Curves or trees, chosen on and learnt from evenly spaced rows of the sample; None: lines do."""
    part, k = every_so_many(len(sample)), sample.n_actions
    assert sample.propensities is not None
    known = sample.actions[part], sample.outcomes[part], k
    units = None if sample.units is None else sample.units[part]
    seen, tries_trees = sample.contexts[part], most_rounds >= _FEWEST_ROUNDS
    chosen = choose_regression(*known, sample.propensities[part], seen, units=units, tries_trees=tries_trees)
    if chosen.gain < _WORTH_A_SCAN:
        return None
    learnt = learn_chosen(chosen._replace(rounds=min(chosen.rounds, most_rounds)), *known, seen)
    inside = np.concatenate([learnt.predict(block) for block in _in_blocks(sample.contexts)])
    inside[part] = chosen.inside
    return _Bent(learnt, inside, chosen.how)


def _fix_bent(table: AnyLog, sample: Log, learnt: FixedRegression, inside: Floats, how: str) -> _Fixed:
    """The same m for every row of the table, which come a batch at a time."""
    sums, k = table.action_sums(), table.n_actions
    totals, weighted = np.zeros(k), np.zeros(k)
    for batch in table.batches():
        assert batch.propensities is not None
        taken, weights = batch.actions, 1.0 / batch.propensities
        first = 0
        for block in _in_blocks(batch.contexts):
            rows = slice(first, first + len(block))
            predicted = learnt.predict(block)
            totals += predicted.sum(axis=0)
            own = predicted[np.arange(len(block)), taken[rows]]
            weighted += np.bincount(taken[rows], weights[rows] * own, k)
            first += len(block)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _Fixed(inside, totals / sums.n.sum(), np.nan_to_num(weighted / sums.w), how)


def _in_blocks(contexts: Floats) -> list[Floats]:
    return [contexts[first : first + _BLOCK] for first in range(0, len(contexts), _BLOCK)]
