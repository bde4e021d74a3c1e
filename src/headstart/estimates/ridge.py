"""Regressions of the outcome on the context, one per action, that lean on each other: ridge around common slopes.

The regression of doubly robust means: y = intercept_a + x'(common + own_a), fitted by least squares plus the
penalties c |common|^2 + sum over actions of c_a |own_a|^2. With few rows of an action its slopes are the common
ones, with many they are its own. The penalties maximise the restricted likelihood (REML) of slopes ~ N(0, tau^2 I),
first of the common ones alone, then of each action's own in what those leave, over a grid of the share of variance
that slopes explain.

All of it is a function of sums over rows, so a log of any size needs one pass; and it is one penalised least squares,
so the prediction for a row by the regression without that row has a closed form: cross-fitting with a fold for each
row, without a refit and without chance (Wu and Gagnon-Bartsch 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers

# Shares of variance explained that the penalty is chosen from: penalty = d (1 - share) / share in standard units.
_SHARES = np.array([0.001, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99, 0.999])
_ODDS = (1.0 - _SHARES) / _SHARES
_BLOCK = 4096  # rows that are looked at together: what they need stays in the cache
_ROUNDING = 1e-12  # of a sum of squares: what is left below it is nothing


class CentredSums(NamedTuple):
    """Rows per action, and their sums around the action's own means."""

    n: Floats  # (K,) rows, or their weight
    centres: Floats  # (K, d) mean contexts
    levels: Floats  # (K,) mean outcomes
    spread: Floats  # (K, d, d) sums of xx'
    moment: Floats  # (K, d) of xy
    total: Floats  # (K,) of yy


class Pooling(NamedTuple):
    """How slopes common to all actions come out of each action's rows."""

    own: Floats  # (K, d, d) (S_a + c_a I)^-1, S_a the spread
    shrinks: Floats  # (K, d, d) c_a (S_a + c_a I)^-1: how much of the common slopes an action keeps
    informs: Floats  # (K, d, d) shrinks_a S_a: what the action's rows tell of the common slopes
    pulls: Floats  # (K, d) shrinks_a times the moment: where they pull them
    common: Floats  # (d, d) (sum of informs_a + c I)^-1
    shared: Floats  # (d,) the common slopes


def pool(sums: CentredSums, own: Floats, c: Floats | float, c_own: Floats | float) -> Pooling:
    """The common slopes, from each action's (S_a + c_a I)^-1, (K, d, d), and the penalties c and c_a, (K,) or one.

    Several such penalties at once, c (P,) and c_a (P, K) or (P, 1), give all of it with a first axis more.
    """
    shrinks = np.asarray(c_own)[..., None, None] * own
    informs, pulls = shrinks @ sums.spread, (shrinks @ sums.moment[..., None])[..., 0]
    return Pooling(own, shrinks, informs, pulls, *tell_common(informs, pulls, c))


def tell_common(informs: Floats, pulls: Floats, c: Floats | float) -> tuple[Floats, Floats]:
    """What these actions tell of the common slopes, (d, d) and (d,): their covariance, in units of the noise, and
    themselves. Of several penalties, c (P,), with a first axis more."""
    covariance = np.linalg.inv(informs.sum(axis=-3) + np.asarray(c)[..., None, None] * np.eye(pulls.shape[-1]))
    return covariance, (covariance @ pulls.sum(axis=-2)[..., None])[..., 0]


class Regressions(NamedTuple):
    """Predictions intercepts + x'slopes, of contexts in the units they were fitted in."""

    slopes: Floats  # (K, d)
    intercepts: Floats  # (K,)
    counts: Floats  # (K,) rows
    centres: Floats  # (K, d) their mean contexts
    own: Floats  # (K, d, d) (S_a + c_a I)^-1, S_a the centred sum of xx' of the action's rows
    shrinks: Floats  # (K, d, d) c_a (S_a + c_a I)^-1: how much of the common slopes an action keeps
    common: Floats  # (d, d) (sum of shrinks_a S_a + c I)^-1

    @property
    def covariances(self) -> Floats:
        """Of each action's slopes, in units of the noise's variance, (K, d, d)."""
        covariances: Floats = self.own + self.shrinks @ self.common @ self.shrinks.transpose(0, 2, 1)
        return covariances


def centre_rows(
    contexts: Floats, actions: Integers, outcomes: Floats, weights: Floats, n_actions: int
) -> CentredSums:
    """The sums of rows that count `weights` times each, around means that are taken first: no digits are lost."""
    k, d = n_actions, contexts.shape[1]
    sums = CentredSums(np.zeros(k), np.zeros((k, d)), np.zeros(k), np.zeros((k, d, d)), np.zeros((k, d)), np.zeros(k))
    for a in range(k):
        rows = np.flatnonzero(actions == a)
        if rows.size:
            x, y, w = contexts[rows], outcomes[rows], weights[rows]
            n = w.sum()
            centre, level = w @ x / n, w @ y / n
            apart, off = x - centre, y - level
            sums.n[a], sums.centres[a], sums.levels[a] = n, centre, level
            sums.spread[a], sums.moment[a] = (w * apart.T) @ apart, (w * off) @ apart
            sums.total[a] = w @ off**2
    return sums


def moving_columns(contexts: Floats) -> Bools:
    """Which columns have more than one value, (d,)."""
    return _moves(contexts.mean(axis=0), contexts.std(axis=0))


def _moves(centre: Floats, spread: Floats) -> Bools:
    # A column of one value may come out of the mean with a spread of rounding errors.
    moves: Bools = spread > 1e-12 * np.maximum(np.abs(centre), 1e-300)
    return moves


class StandardUnits(NamedTuple):
    """The columns that move, and what centres and scales them."""

    moving: Bools  # (d,) of all columns
    centres: Floats  # (m,)
    scales: Floats  # (m,)

    def apply(self, contexts: Floats) -> Floats:
        """These columns of other rows in the same units, (n, m)."""
        standard: Floats = (contexts[:, self.moving] - self.centres) / self.scales
        return standard


def find_units(contexts: Floats) -> StandardUnits:
    """The units in which these rows' columns have mean 0 and spread 1."""
    centre, spread = contexts.mean(axis=0), contexts.std(axis=0)
    moving = _moves(centre, spread)
    return StandardUnits(moving, centre[moving], spread[moving])


def standardise(contexts: Floats, *others: Floats) -> tuple[Floats, ...]:
    """The columns that move, centred and scaled by the first matrix's mean and spread, in every matrix."""
    units = find_units(contexts)
    return tuple(units.apply(matrix) for matrix in (contexts, *others))


def sum_rows(contexts: Floats, outcomes: Floats, groups: Integers, n_groups: int) -> Floats:
    """Sums of (1, x, y)(1, x, y)' over the rows of each group, (n_groups, d + 2, d + 2)."""
    n, d = contexts.shape
    rows = np.empty((n, d + 2))
    rows[:, 0], rows[:, 1:-1], rows[:, -1] = 1.0, contexts, outcomes
    order = np.argsort(groups, kind="stable")
    rows = rows[order]
    ends = np.searchsorted(groups[order], np.arange(n_groups + 1))
    sums = np.zeros((n_groups, d + 2, d + 2))
    for g in range(n_groups):
        part = rows[ends[g] : ends[g + 1]]
        np.matmul(part.T, part, out=sums[g])
    return sums


def fit(sums: Floats, penalties: tuple[float, Floats] | None = None) -> Regressions:
    """The regressions of these sums per action, (K, d + 2, d + 2), by `sum_rows` or by a database.

    `penalties` (c and (K,) c_a) are chosen unless given. An action without rows has the common slopes through the
    mean of all rows.
    """
    centred = _centre(sums)
    n = centred.n
    values, vectors = np.linalg.eigh(centred.spread)
    values = np.maximum(values, 0.0)
    c, c_own = _choose_penalties(centred, values, vectors) if penalties is None else penalties
    own = (vectors / (values + c_own[:, None])[:, None, :]) @ vectors.transpose(0, 2, 1)
    pooled = pool(centred, own, c, c_own)
    slopes = pooled.shrinks @ pooled.shared + (own @ centred.moment[..., None])[..., 0]
    is_shown = n > 0
    everyone = sums[:, 0].sum(axis=0) / max(n.sum(), 1.0)
    centres = np.where(is_shown[:, None], centred.centres, everyone[1:-1])
    levels = np.where(is_shown, centred.levels, everyone[-1])
    intercepts = levels - (centres * slopes).sum(axis=1)
    return Regressions(slopes, intercepts, n, centres, own, pooled.shrinks, pooled.common)


def predict_actions(fitted: Regressions, contexts: Floats) -> Floats:
    """Every action's prediction for every row, (m, K)."""
    predicted: Floats = contexts @ fitted.slopes.T + fitted.intercepts
    return predicted


def predict_left_out(fitted: Regressions, contexts: Floats, actions: Integers, outcomes: Floats) -> Floats:
    """Every action's prediction for every row the regressions were fitted to, each without that row, (n, K).

    Leaving row i out moves its own prediction by -h e / (1 - h), e its residual, h its leverage, and the slopes of
    the other actions through the common ones. An action's only row is predicted by the others' mean.
    """
    predicted = predict_actions(fitted, contexts)
    for block in _blocks(len(outcomes)):
        _leave_out(fitted, contexts[block], actions[block], outcomes[block], predicted[block])
    for i in np.flatnonzero(fitted.counts[actions] == 1.0).tolist():
        predicted[i, actions[i]] = _mean_without(outcomes, i)
    return predicted


def predict_own_left_out(fitted: Regressions, contexts: Floats, actions: Integers, outcomes: Floats) -> Floats:
    """What `predict_left_out` says of each row's own action, number for number, (n,): a K-th of the work or less."""
    predicted = predict_actions(fitted, contexts)[np.arange(len(outcomes)), actions]
    for block in _blocks(len(outcomes)):
        moved = _move_own(fitted, contexts[block], actions[block], outcomes[block], predicted[block])
        predicted[block] -= moved.leverages * moved.left
    for i in np.flatnonzero(fitted.counts[actions] == 1.0).tolist():
        predicted[i] = _mean_without(outcomes, i)
    return predicted


def _blocks(n: int) -> Iterator[slice]:
    return (slice(first, first + _BLOCK) for first in range(0, n, _BLOCK))


def _mean_without(outcomes: Floats, i: int) -> float:
    """Of all rows but one; of none, that one's."""
    return float((outcomes.sum() - outcomes[i]) / (len(outcomes) - 1) if len(outcomes) > 1 else outcomes[i])


class _Moved(NamedTuple):
    """By how much leaving each row out moves predictions at that row."""

    leverages: Floats  # (n,) times `left`: its own action's
    left: Floats  # (n,) e / (1 - h); 0 for an action's only row
    through: Floats  # (n, d) how it pulls the common slopes


def _move_own(fitted: Regressions, rows: Floats, taken: Integers, outcomes: Floats, own: Floats) -> _Moved:
    """`own` are the predictions of each row's own action by all rows, (n,)."""
    apart = rows - fitted.centres[taken]  # from the row's own action's centre
    kept = np.empty_like(apart)  # shrinks_a apart
    leverages = 1.0 / fitted.counts[taken]
    for a in range(fitted.counts.size):
        mine = np.flatnonzero(taken == a)
        theirs = apart[mine]
        kept[mine] = theirs @ fitted.shrinks[a]
        leverages[mine] += np.einsum("ij,ij->i", theirs @ fitted.own[a], theirs)
    through = kept @ fitted.common
    leverages += np.einsum("ij,ij->i", through, kept)
    left = (outcomes - own) / np.maximum(1.0 - leverages, 1e-9)
    left[fitted.counts[taken] == 1.0] = 0.0
    return _Moved(leverages, left, through)


def _leave_out(fitted: Regressions, rows: Floats, taken: Integers, outcomes: Floats, predicted: Floats) -> None:
    """Take each row's pull off every action's prediction for it, (n, K); an action's only row is left as it is."""
    moved = _move_own(fitted, rows, taken, outcomes, predicted[np.arange(len(rows)), taken])
    for a in range(fitted.counts.size):
        # The row's pull on the prediction of action a at the row itself, all of it through the common slopes ...
        pull = np.einsum("ij,ij->i", moved.through @ fitted.shrinks[a], rows - fitted.centres[a])
        # ... but for its own action's.
        predicted[:, a] -= np.where(taken == a, moved.leverages, pull) * moved.left


def predict_for(
    actions: Integers, outcomes: Floats, n_actions: int, contexts: Floats, users: Floats | None = None
) -> tuple[Floats, Floats | None]:
    """Predictions for the rows, each by all others, (n, K), and for users, (m, K); contexts are standardised."""
    fitted = fit(sum_rows(contexts, outcomes, actions, n_actions))
    return predict_left_out(fitted, contexts, actions, outcomes), None if users is None else predict_actions(
        fitted, users
    )


def _centre(sums: Floats) -> CentredSums:
    n = sums[:, 0, 0]
    safe = np.maximum(n, 1.0)
    centres, levels = sums[:, 0, 1:-1] / safe[:, None], sums[:, 0, -1] / safe
    spread = sums[:, 1:-1, 1:-1] - n[:, None, None] * centres[:, :, None] * centres[:, None, :]
    moment = sums[:, 1:-1, -1] - (n * levels)[:, None] * centres
    total = np.maximum(sums[:, -1, -1] - n * levels * levels, 0.0)
    return CentredSums(n, centres, levels, spread, moment, total)


def _choose_penalties(sums: CentredSums, values: Floats, vectors: Floats) -> tuple[float, Floats]:
    n, spread, moment, total = sums.n, sums.spread, sums.moment, sums.total
    whole, together, freedom = spread.sum(axis=0), moment.sum(axis=0), float(n.sum() - (n > 0).sum())
    whole_values, whole_vectors = np.linalg.eigh(whole)
    along = whole_vectors.T @ together
    c = _choose(np.maximum(whole_values, 0.0)[None], along[None], total.sum()[None], np.array([freedom]))
    shared = whole_vectors @ (along / (np.maximum(whole_values, 0.0) + c[0]))
    rest = moment - spread @ shared
    left = np.maximum(total - 2.0 * moment @ shared + shared @ (spread @ shared).T, 0.0)
    along_own = (vectors.transpose(0, 2, 1) @ rest[..., None])[..., 0]
    return float(c[0]), _choose(values, along_own, left, np.maximum(n - 1.0, 0.0))


def _choose(values: Floats, along: Floats, total: Floats, freedom: Floats) -> Floats:
    """Per problem the penalty of the largest restricted likelihood; the largest one where nothing can be told."""
    d = values.shape[1]
    if d == 0:
        return np.ones(total.size)
    evidence = _evidence(values, along, total, freedom)
    grid = d * _ODDS
    return np.where((freedom >= 2.0) & (total > 0.0), grid[np.argmax(evidence, axis=1)], grid[0])


def _evidence(values: Floats, along: Floats, total: Floats, freedom: Floats) -> Floats:
    """Per problem and penalty, twice the restricted log-likelihood.

    `values` are the eigenvalues of the sum of xx', `along` the sum of xy along its eigenvectors, `total` that of yy.
    """
    grid = values.shape[1] * _ODDS
    shrunk = values[:, None, :] + grid[:, None]
    left = total[:, None] - (along[:, None, :] ** 2 / shrunk).sum(axis=-1)
    left = np.maximum(left, np.maximum(_ROUNDING * total[:, None], np.finfo(np.float64).tiny))
    evidence: Floats = -freedom[:, None] * np.log(left) - np.log(shrunk / grid[:, None]).sum(axis=-1)
    return evidence
