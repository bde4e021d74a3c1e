"""Missed curves: what curves that nobody found may have moved means by, where propensities were estimated.

Found is D_a, how far a mean is from what lines alone would have said: regressions that are lines, and rows that count
alike but for their linear imbalance. Where policy and outcomes are lines the two differ by chance; where they bend
together it is confounding. The sum over actions of D_a^2 / its noise^2 is then chi-squared, about, with as many
degrees of freedom as actions: up to its 95 % point c nothing was found, beyond it 1 - c / T^2 of every square, as
`population.find_shift` shrinks.

What was found is the measure of what was missed: in squares, rows / n_a of it, at most all of it, for two errors that
fall as n^(-1/4) have such a product. It is a guess of its size. Where an action has too few rows for that guess, an
interval may be short by any amount, and words say so (`doubtful`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.bending import MANY_ROWS
from headstart.estimates.ridge import predict_for, standardise
from headstart.estimates.shares import share_rows
from headstart.estimates.weighted import root_sum_square
from headstart.logs.log import Log

_CHANCE = 0.05  # that lines which are right are taken to have missed something
# Where the log has too few rows for trees to be tried wherever something bends, what bends otherwise is missed more
# often.
_MISSED_ROWS, _MISSED_BY_FEW = 50.0, 200.0
_ROUNDING = 1e-24  # of the outcomes' variance: what moves a mean by no more than this moves it by nothing
FEW_ROWS = 1500  # of an action, with which curves of two columns may not be seen: 1,300 of one of 20 were too few


class Missed(NamedTuple):
    """What may have been missed of the confounding by curves."""

    allowances: Floats  # (K,) for each mean
    doubtful: tuple[int, ...]  # actions whose intervals may be short all the same


def missed_by(log: Log, predicted: Floats, shares: Floats | None = None) -> Missed:
    """What doubly robust means of this log may have missed; nothing where propensities are logged or there are no
    contexts. `predicted` is m_a(x) by other rows, (n, K); `shares` are the rows' of the means, (n,), by 1/p unless
    given."""
    (contexts,) = standardise(log.contexts)
    if not log.is_estimated or not contexts.shape[1]:
        return Missed(np.zeros(log.n_actions), ())
    if shares is None:
        assert log.propensities is not None
        shares, _ = share_rows(log.actions, log.n_actions, 1.0 / log.propensities, contexts)
    found = _find_bent(log, contexts, shares, predicted)
    counts = np.bincount(log.actions, minlength=log.n_actions)
    rows_missed = _MISSED_ROWS if len(log) >= MANY_ROWS else _MISSED_BY_FEW
    part = np.minimum(1.0, rows_missed / np.maximum(counts, 1))
    is_doubtful = (found > 0.0) & (counts < FEW_ROWS)
    return Missed(np.sqrt(part * found), tuple(np.flatnonzero(is_doubtful).tolist()))


def _find_bent(log: Log, contexts: Floats, shares: Floats, predicted: Floats) -> Floats:
    """The squares of what curves were found to move each mean by, (K,), chance taken off. What all actions show
    together counts for each."""
    from headstart.special import chdtri

    actions, outcomes, k = log.actions, log.outcomes, log.n_actions
    plain, _ = share_rows(actions, k, np.ones(actions.size), contexts)
    lines, _ = predict_for(actions, outcomes, k, contexts)
    rows, apart = np.arange(actions.size), predicted - lines
    moved = shares * (outcomes - predicted[rows, actions]) - plain * (outcomes - lines[rows, actions])
    shown = np.flatnonzero(np.bincount(actions, minlength=k))
    squares, noises = np.zeros(k), np.ones(k)
    for a in shown:
        influence = (apart[:, a] - apart[:, a].mean()) / actions.size + np.where(actions == a, moved, 0.0)
        noises[a] = root_sum_square(influence, log.units) ** 2
        squares[a] = (apart[:, a].mean() + moved[actions == a].sum()) ** 2
    noises = np.maximum(noises, _ROUNDING * float(outcomes.var()))
    ratio = float((squares / np.maximum(noises, 1e-300)).sum())
    believed = max(0.0, 1.0 - float(chdtri(float(shown.size), _CHANCE)) / max(ratio, 1e-300))
    together = float(squares[shown].mean())
    found: Floats = np.zeros(k)
    found[shown] = believed * np.maximum(squares[shown], together)
    return found
