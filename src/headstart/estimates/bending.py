"""Which regression of the outcome: lines, lines with squares, kinks and products of the columns, or boosted trees on
top.

By the squared errors of rows left out, weighted as the rows of a doubly robust mean are. The simpler stays unless the
other is better by more than a standard error of the difference: where lines are as good, trees are worse (K = 5,
N = 1,000, 0/1 outcomes: their m is off by four times as much). Lines and products leave a row out in closed form.
Trees are dear: they are tried where a look at the residuals in cells of two columns finds more than noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.boosting import Boosted, Model, Rows, boost, learn_trees
from headstart.estimates.cells import Residuals, every_so_many, find_steps, stands_out
from headstart.estimates.cross_fit import deal_folds
from headstart.estimates.curves import Curves, propose_curves
from headstart.estimates.ridge import (
    Regressions,
    StandardUnits,
    find_units,
    fit,
    predict_actions,
    predict_for,
    predict_left_out,
    predict_own_left_out,
    standardise,
    sum_rows,
)
from headstart.estimates.weighted import root_sum_square

LINES, CURVES, TREES = "lines", "curves", "boosted trees"
_FEWEST_ROWS = 100  # for anything but lines
MANY_ROWS = 2_000  # with which trees are tried wherever curves are better than lines
_TERMS = 20.0  # of a typical large residual behind a cell's sum, for it to be near normal
_FOLDS = 5


class Predicted(NamedTuple):
    """m_a(x) by rows other than the one in question."""

    inside: Floats  # (n, K) for the log's rows
    outside: Floats | None  # (m, K) for users, if there are any
    how: str = LINES
    curves: Curves | None = None  # of the columns, beside them
    rounds: int = 0  # of boosted trees, on top
    gain: float = 0.0  # the share of the squared errors of lines, for rows left out, that it takes off


class _Fit(NamedTuple):
    """Lines, of curves too unless they are None, and how far they are off at each row without it."""

    curves: Curves | None
    lines: Regressions
    errors: Floats  # (n,) residuals of the rows' own actions


def choose_regression(
    actions: Integers,
    outcomes: Floats,
    n_actions: int,
    propensities: Floats | None,
    contexts: Floats,
    users: Floats | None = None,
    units: Integers | None = None,
    *,
    tries_trees: bool = True,
) -> Predicted:
    """Predictions for every row by the others, and for users, by the simplest regression that is as good as any."""
    standard = standardise(contexts, *([] if users is None else [users]))
    n, d = standard[0].shape
    if n < _FEWEST_ROWS or d == 0:
        return Predicted(*predict_for(actions, outcomes, n_actions, *standard))
    weights = _weigh(actions, n_actions, propensities)
    proposed = (None, *propose_curves(standard[0]))
    tried = [_fit(curves, actions, outcomes, n_actions, standard[0]) for curves in proposed]
    lines = best = tried[0]
    for other in tried[1:]:
        best = other if _is_better(other.errors, best.errors, weights, units) else best
    is_bent = best.curves is not None and n >= MANY_ROWS  # what bends may bend more than curves can
    errors, found = best.errors, None
    if tries_trees and (is_bent or _looks_bent(standard[0], actions, n_actions, errors)):
        rows = Rows(actions, outcomes, n_actions, standard[0], _expand(best.curves, standard[:1])[0])
        boosted = boost(rows, weights, _deal(n, units))
        if _is_better(outcomes - boosted.own, errors, weights, units):
            errors, found = outcomes - boosted.own, _predict_boosted(boosted, rows, best.curves, standard[1:])
    left = float(weights @ errors**2) / max(float(weights @ lines.errors**2), 1e-300)
    return (found or _predict(best, actions, outcomes, standard))._replace(gain=1.0 - left)


def _fit(curves: Curves | None, actions: Integers, outcomes: Floats, n_actions: int, contexts: Floats) -> _Fit:
    (expanded,) = _expand(curves, (contexts,))
    lines = fit(sum_rows(expanded, outcomes, actions, n_actions))
    return _Fit(curves, lines, outcomes - predict_own_left_out(lines, expanded, actions, outcomes))


def _predict(best: _Fit, actions: Integers, outcomes: Floats, standard: tuple[Floats, ...]) -> Predicted:
    """Every action's predictions, by the lines that were chosen."""
    expanded = _expand(best.curves, standard)
    inside = predict_left_out(best.lines, expanded[0], actions, outcomes)
    outside = predict_actions(best.lines, expanded[1]) if len(standard) > 1 else None
    return Predicted(inside, outside, LINES if best.curves is None else CURVES, best.curves)


def _predict_boosted(boosted: Boosted, rows: Rows, curves: Curves | None, users: tuple[Floats, ...]) -> Predicted:
    outside = boosted.predict_users(users[0], _expand(curves, users)[0]) if users else None
    return Predicted(boosted.predict_rows(rows), outside, TREES, curves, boosted.rounds)


class FixedRegression(NamedTuple):
    """A regression that was chosen, learnt from rows, for anybody."""

    units: StandardUnits
    curves: Curves | None
    lines: Regressions
    trees: Model | None

    def predict(self, contexts: Floats) -> Floats:
        """m_a(x) of every action for these contexts, (m, K)."""
        (standard,) = own = (self.units.apply(contexts),)
        (expanded,) = _expand(self.curves, own)
        return predict_actions(self.lines, expanded) if self.trees is None else self.trees.predict(standard, expanded)


def learn_chosen(
    chosen: Predicted, actions: Integers, outcomes: Floats, n_actions: int, contexts: Floats
) -> FixedRegression:
    """The regression that was chosen on these rows, learnt from all of them."""
    units = find_units(contexts)
    own = (units.apply(contexts),)
    (expanded,) = _expand(chosen.curves, own)
    trees = learn_trees(Rows(actions, outcomes, n_actions, *own, expanded), chosen.rounds) if chosen.rounds else None
    lines = fit(sum_rows(expanded, outcomes, actions, n_actions)) if trees is None else trees.lines
    return FixedRegression(units, chosen.curves, lines, trees)


def _expand(curves: Curves | None, matrices: tuple[Floats, ...]) -> tuple[Floats, ...]:
    return matrices if curves is None else tuple(curves.expand(matrix) for matrix in matrices)


def _weigh(actions: Integers, n_actions: int, propensities: Floats | None) -> Floats:
    """What a row's squared error counts for: 1/p, mean 1 and at most sqrt(rows) over an action's rows."""
    if propensities is None:
        return np.ones(actions.size)
    weights = 1.0 / propensities
    counts = np.maximum(np.bincount(actions, minlength=n_actions), 1)
    weights *= (counts / np.maximum(np.bincount(actions, weights, n_actions), 1e-300))[actions]
    return np.minimum(weights, np.sqrt(counts)[actions])


def _is_better(ours: Floats, theirs: Floats, weights: Floats, units: Integers | None) -> bool:
    """Whether our squared errors are smaller by more than a standard error of the difference."""
    gains = weights * (theirs**2 - ours**2)
    mean = float(gains.mean())
    return mean > root_sum_square(gains - mean, units) / gains.size


def _looks_bent(contexts: Floats, actions: Integers, n_actions: int, errors: Floats) -> bool:
    """Whether residuals of all actions together, or of one, sum to more than noise in some cell of two columns."""
    part = every_so_many(errors.size)
    left, taken = errors[part], actions[part]
    squares = left * left
    typical = float(squares @ squares) / max(float(squares.sum()), 1e-300)
    groups: list[Integers | slice] = [slice(None), *(np.flatnonzero(taken == a) for a in range(n_actions))]
    terms = [Residuals(rows, left[rows], squares[rows]) for rows in groups if squares[rows].sum() >= _TERMS * typical]
    return stands_out(find_steps(contexts[part], left[:, None]), terms, _TERMS * typical)


def _deal(n_rows: int, units: Integers | None) -> Integers:
    """Folds of rows, or of whole units."""
    if units is None:
        return deal_folds(n_rows, _FOLDS, 0)
    found, unit = np.unique(units, return_inverse=True)
    return deal_folds(found.size, min(_FOLDS, found.size), 0)[unit]
