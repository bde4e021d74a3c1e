"""What a log says as linear models of each action: one that believes it, one that doubts its level, one that does not.

Levels and slopes are hierarchical: y = level_a + x'(common + own_a) + noise, common ~ N(0, sigma^2 / c), own_a ~
N(0, sigma^2 / c_own). c and c_own are d (1 - s) / s with s the share of variance that such slopes explain, averaged
over its posterior on a grid (restricted likelihood, levels and noise integrated out, a flat prior on the grid).
Levels vary between actions by v_l, estimated by moments.

Three models of what users will do with action a, each a normal distribution of theta = (level, slopes):

- LOGGED: the posterior given all rows.
- SHIFTED: the same, but the action's logged outcomes are off by a constant ~ N(0, Var y).
- FRESH: the posterior given the rows of all other actions; those of a are about something else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.errors import OptionError

Floats = NDArray[np.float64]

LOGGED, SHIFTED, FRESH = range(3)
N_MODELS = 3
SHIFTED_SHARE = 0.5  # of the chance that the log is wrong about an action: that only its level is
SHIFT = 1.0  # the variance of a shift, of the outcomes' variance
LEAST_LEVELS = 0.25  # the levels' prior variance, of the outcomes', before the log's K of them are looked at
LEVELS_WORTH = 2.0  # levels that this is worth
FREEDOM = 30.0  # outcomes' worth of the log's noise at most: users correct a wrong one soon
LEAST_FREEDOM = 8.0
_SHARES = np.array([0.001, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99])


class LinearModels(NamedTuple):
    """J models of each action: theta ~ N(centre, sigma^2 inverse), and the chance of each before any user."""

    centres: Floats  # (K, J, m)
    inverses: Floats  # (K, J, m, m)
    chances: Floats  # (K, J)
    variance: float  # sigma^2; 0: not known
    freedoms: Floats  # (K,) outcomes that it is worth


class _Sums(NamedTuple):
    n: Floats  # (K,)
    centres: Floats  # (K, d) mean contexts
    levels: Floats  # (K,) mean outcomes
    spread: Floats  # (K, d, d) centred sums of xx'
    moment: Floats  # (K, d) of xy
    total: Floats  # (K,) of yy


def models_of_rows(
    contexts: ArrayLike,
    actions: ArrayLike,
    outcomes: ArrayLike,
    n_actions: int,
    trust: Floats,
    weights: ArrayLike | None = None,
) -> LinearModels:
    """The models of a log's rows; the first column of the contexts is the constant 1, the others in standard units."""
    x, which = np.asarray(contexts, dtype=np.float64), np.asarray(actions, dtype=np.int64)
    y = np.asarray(outcomes, dtype=np.float64)
    if x.ndim != 2 or not x.size or not (x[:, 0] == 1.0).all():
        raise OptionError("contexts must be a matrix of at least one row whose first column is 1")
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    sums = _sum_rows(x[:, 1:], which, y, w, n_actions)
    c, c_own, variance = _choose_penalties(sums)
    variance = max(variance, 1e-12 * float(y @ y) / len(y))
    scale = variance if variance > 0.0 else 1.0
    whole = max(float(np.average((y - np.average(y, weights=w)) ** 2, weights=w)) / scale, 1.0)
    d = x.shape[1] - 1
    own = np.linalg.inv(sums.spread + c_own * np.eye(d))
    kept = c_own * own  # how much of the common slopes an action keeps
    informs = kept @ sums.spread
    pulls = (kept @ sums.moment[..., None])[..., 0]
    centres, inverses = np.zeros((n_actions, N_MODELS, d + 1)), np.zeros((n_actions, N_MODELS, d + 1, d + 1))
    common = np.linalg.inv(informs.sum(axis=0) + c * np.eye(d))
    shared = common @ pulls.sum(axis=0)
    shown = np.flatnonzero(sums.n)
    for a in shown:
        slopes = kept[a] @ shared + own[a] @ sums.moment[a]
        about = own[a] + kept[a] @ common @ kept[a].T
        centres[a, LOGGED], inverses[a, LOGGED] = _at_zero(sums, a, slopes, about)
    for a in range(n_actions):
        others = shown[shown != a]
        level, between = _level_prior(centres[others, LOGGED, 0], inverses[others, LOGGED, 0, 0], sums, whole, scale)
        rest = np.linalg.inv(informs[others].sum(axis=0) + c * np.eye(d))
        centres[a, FRESH, 0], centres[a, FRESH, 1:] = level, rest @ pulls[others].sum(axis=0)
        inverses[a, FRESH, 0, 0] = between
        inverses[a, FRESH, 1:, 1:] = rest + np.eye(d) / c_own
    for a in shown:
        level, between = centres[a, FRESH, 0], inverses[a, FRESH, 0, 0]
        # The levels' prior is one more outcome, seen at x = 0 with their variance for noise.
        gain = inverses[a, LOGGED, :, 0] / (inverses[a, LOGGED, 0, 0] + between)
        centres[a, LOGGED] += gain * (level - centres[a, LOGGED, 0])
        inverses[a, LOGGED] -= np.outer(gain, inverses[a, LOGGED, 0])
        centres[a, SHIFTED], inverses[a, SHIFTED] = centres[a, LOGGED], inverses[a, LOGGED]
        inverses[a, SHIFTED, 0, 0] += SHIFT * whole
    never = np.flatnonzero(sums.n == 0)
    for j in (LOGGED, SHIFTED):  # of chance 0, but definite
        centres[never, j], inverses[never, j] = centres[never, FRESH], inverses[never, FRESH]
    chances = np.zeros((n_actions, N_MODELS))
    chances[:, LOGGED] = np.where(sums.n > 0.0, trust, 0.0)
    chances[:, SHIFTED] = np.where(sums.n > 0.0, SHIFTED_SHARE * (1.0 - trust), 0.0)
    chances[:, FRESH] = 1.0 - chances.sum(axis=1)
    freedoms = np.full(n_actions, np.clip(sums.n.sum() - shown.size, LEAST_FREEDOM, FREEDOM))
    return LinearModels(centres, inverses, chances, variance, freedoms)


def _sum_rows(x: Floats, actions: NDArray[np.int64], y: Floats, w: Floats, k: int) -> _Sums:
    d = x.shape[1]
    sums = _Sums(np.zeros(k), np.zeros((k, d)), np.zeros(k), np.zeros((k, d, d)), np.zeros((k, d)), np.zeros(k))
    for a in range(k):
        rows = np.flatnonzero(actions == a)
        if rows.size:
            n = w[rows].sum()
            centre, level = w[rows] @ x[rows] / n, w[rows] @ y[rows] / n
            apart, off = x[rows] - centre, y[rows] - level
            sums.n[a], sums.centres[a], sums.levels[a] = n, centre, level
            sums.spread[a], sums.moment[a] = (w[rows] * apart.T) @ apart, (w[rows] * off) @ apart
            sums.total[a] = w[rows] @ off**2
    return sums


def _choose_penalties(sums: _Sums, score=None) -> tuple[float, float, float]:
    """c, c_own and the noise's variance: averages over their posterior on the grid."""
    d = sums.moment.shape[1]
    freedom = float(np.maximum(sums.n - 1.0, 0.0).sum())
    grid = d * (1.0 - _SHARES) / _SHARES
    if d == 0 or freedom < 2.0 or sums.total.sum() <= 0.0:
        middle = float(max(d, 1))
        return middle, middle, float(sums.total.sum() / max(freedom, 1.0))
    values, vectors = np.linalg.eigh(sums.spread)
    values = np.maximum(values, 0.0)
    along = (vectors.transpose(0, 2, 1) @ sums.moment[..., None])[..., 0]
    size = (_SHARES.size, _SHARES.size)
    evidence, left = np.zeros(size), np.zeros(size)  # twice the log-likelihood; the sum of squares
    for i, c_own in enumerate(grid):
        shrunk = values + c_own
        keep = c_own / shrunk
        informs = ((vectors * (keep * values)[:, None, :]) @ vectors.transpose(0, 2, 1)).sum(axis=0)
        pulls = (vectors @ (keep * along)[..., None])[..., 0].sum(axis=0)
        unexplained = float(sums.total.sum() - (along**2 / shrunk).sum())
        common, axes = np.linalg.eigh(informs)
        common = np.maximum(common, 0.0)[None, :] + grid[:, None]
        left[i] = unexplained - ((axes.T @ pulls) ** 2 / common).sum(axis=1)
        evidence[i] = -np.log(shrunk / c_own).sum() - np.log(common / grid[:, None]).sum(axis=1)
    left = np.maximum(left, 1e-12 * sums.total.sum())
    evidence -= freedom * np.log(left)
    chances = np.exp(0.5 * (evidence - evidence.max()))
    if score is not None: score.append(0.5 * evidence.max() + np.log(chances.mean()))
    chances /= chances.sum()
    share_own, share = float(chances.sum(axis=1) @ _SHARES), float(chances.sum(axis=0) @ _SHARES)
    return d * (1.0 - share) / share, d * (1.0 - share_own) / share_own, float((chances * left).sum()) / freedom


def _at_zero(sums: _Sums, a: int, slopes: Floats, about: Floats) -> tuple[Floats, Floats]:
    """theta and its covariance at x = 0, from the level at the mean context and the slopes, which are independent."""
    centre = sums.centres[a]
    theta = np.concatenate([[sums.levels[a] - centre @ slopes], slopes])
    inverse = np.zeros((theta.size, theta.size))
    inverse[1:, 1:] = about
    inverse[0, 1:] = inverse[1:, 0] = -about @ centre
    inverse[0, 0] = 1.0 / sums.n[a] + centre @ about @ centre
    return theta, inverse


def _level_prior(levels: Floats, errors: Floats, sums: _Sums, whole: float, scale: float) -> tuple[float, float]:
    """Mean and variance (of sigma^2) of an action's level, by what the levels of others are."""
    least = LEAST_LEVELS * whole
    if levels.size == 0:
        return float(sums.n @ sums.levels / sums.n.sum()), least + whole
    weights = 1.0 / (errors + least)
    mean = float(weights @ levels / weights.sum())
    apart = float(((levels - mean) ** 2).sum() / scale - errors.sum() * (1.0 - 1.0 / levels.size))
    between = (max(apart, 0.0) + LEVELS_WORTH * least) / (levels.size - 1.0 + LEVELS_WORTH)
    return mean, between + 1.0 / float(weights.sum())
