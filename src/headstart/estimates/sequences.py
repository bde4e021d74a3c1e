"""Confidence sequences: intervals of weighted means that hold at every look, from running sums.

A one-look interval holds the truth in 95 of 100 experiments at one moment that is fixed beforehand; who looks again
and again sees it fail in half of them. A sequence holds at all looks together, for any policy: an outcome of action a
that was drawn with chance p enters with weight w = 1 / p, and the sum of w (y - mean) over the action's outcomes is a
martingale whatever the policy learnt and did (MAD: Liang and Bojinov 2023, arXiv 2311.05794), as long as p is not 0.
With V its variance, Robbins' (1970) normal mixture, asymptotically for any martingale with finite variance
(Waudby-Smith et al. 2021, arXiv 2103.06476), is ever beyond

    b sqrt(V),    b^2 = (1 + 1 / c) ln((1 + c) / alpha^2),    c = sum(w^2) / CLOCK,

with a chance of at most alpha. So b takes the place of the normal quantile in an interval; how an interval is made of
it is what matters where outcomes are few, rare or skewed:

- Outcomes that are all 0 or 1. A rate r is within while 2 n KL(r + k (m - r), r) <= b^2, the binomial deviance of n =
  sum(w^2)^3 / sum(w^3)^2 plays of one weight that scatter and lean as these do, k = sum(w) sum(w^3) / sum(w^2)^2; k =
  1 with equal weights. A first success at a large weight moves the mean and proves little: so it has, with k > 1.
  Successes that are missing prove as much as with a normal sum, (r - m)^2 N <= b^2 r, N Kish's size, whatever the
  weights: the nearer of the two ends counts, and likewise for failures.
- Other outcomes. With s the standard error and u the skewness of the sum, drawn towards that of all actions, the
  end on the long tail's side is m + s t with (v t - ln(1 + v t)) 2 / v^2 = b^2, v = 1.5 u: the deviance of a gamma
  distribution, t = b without skewness and about v b^2 / 2 with much. The near end is Hall's (1992), as in
  `intervals`. There is none before the mean is worth `BURN_IN` outcomes other than 0, nor while nothing varies.

A difference of two means goes from their own ends at its own b (MOVER: Zou and Donner 2008): its lower end is
d - sqrt((m1 - low1)^2 + (high2 - m2)^2), its clock the sum of both. METHODS.md has how often these hold, and what the
constants were chosen on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.intervals import undo_skewness

CLOCK = 1000.0  # sum of squared weights at which a sequence is about tightest
BURN_IN = 20.0  # effective outcomes other than 0 before a mean of outcomes beyond 0 and 1 has an interval
_PRIOR_ROWS, _SKEWED_ROWS = 10.0, 300.0  # that the scatter and the skewness of all actions count for
_LEAN = 1.5  # times the skewness that was found: the largest outcomes have not come yet
_LOST = 1e-9  # a variance below this part of the mean square is rounding
_HALVINGS, _LOOKS = 34, 20  # steps to an end of an interval, and to the boundary that a p-value stands for


class MomentSums(NamedTuple):
    """Sums over the outcomes of each action, (..., K) each, w = 1 / propensity; `wwy` is that of w * w * y."""

    we: Floats  # over the outcomes other than 0
    w: Floats
    wy: Floats
    wyy: Floats
    ww: Floats
    wwy: Floats
    wwyy: Floats
    www: Floats
    wwwy: Floats
    wwwyy: Floats
    wwwyyy: Floats

    def as_groups(self) -> MomentSums:
        """Of groups whose outcomes have weight 1, (..., G) each: as if each had been drawn with its share of all."""
        with np.errstate(divide="ignore", invalid="ignore"):
            f = np.where(self.w > 0.0, self.w.sum(axis=-1, keepdims=True) / self.w, 0.0)
        orders = (1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3)
        return MomentSums(*(f**order * each for order, each in zip(orders, self, strict=True)))


class MeanLimits(NamedTuple):
    """Means and the ends of their intervals, (..., K); NaN where there is none."""

    means: Floats
    low: Floats
    high: Floats


def events(sums: MomentSums) -> Floats:
    """How many outcomes other than 0 the mean is worth, (..., K): their share times Kish's effective size."""
    return np.divide(sums.we * sums.w, sums.ww, out=np.zeros(sums.we.shape), where=sums.ww > 0.0)


def boundary(clock: Floats, alpha: float) -> Floats:
    """What takes the normal quantile's place in two-sided intervals that are ever wrong with a chance of alpha."""
    with np.errstate(divide="ignore"):
        c = clock / CLOCK
        return np.sqrt((1.0 + 1.0 / c) * (np.log1p(c) - 2.0 * np.log(alpha)))


def chance_beyond(clock: Floats, b: Floats) -> Floats:
    """The alpha whose boundary is b: the chance that a sequence ever reaches so far; beyond 1 it says nothing."""
    c = clock / CLOCK
    return np.exp(0.5 * (np.log1p(c) - b * b * c / (1.0 + c)))


def sequences(sums: MomentSums, alpha: float, *, is_binary: bool) -> MeanLimits:
    """Each action's mean, with an interval that ever fails to hold its truth with a chance of at most alpha."""
    return limits(sums, boundary(sums.ww, alpha), is_binary=is_binary)


def limits(sums: MomentSums, b: Floats, *, is_binary: bool) -> MeanLimits:
    """Means and intervals whose ends are at the deviance b^2, (..., K)."""
    shape = _shape(sums, is_binary=is_binary)
    return MeanLimits(shape.means, *_ends(shape, b))


def differences(sums: MomentSums, leaders: Integers, alpha: float, *, is_binary: bool) -> MeanLimits:
    """The leader's mean, (...) places of actions, less that of each action, (..., K).

    Two-sided: the sequence of a pair ever fails to hold the true difference with a chance of at most alpha.
    """
    clock = _take(sums.ww, leaders) + sums.ww
    return _subtract(sums, leaders, boundary(clock, alpha), is_binary=is_binary)


def has_crossed(sums: MomentSums, one: int, other: int, alpha: float, *, is_binary: bool) -> bool:
    """Whether one is above other: ever said wrongly with a chance of at most alpha (one-sided)."""
    return bool(differences(sums, np.array(one), 2.0 * alpha, is_binary=is_binary).low[other] > 0.0)


def p_values(sums: MomentSums, one: int, *, is_binary: bool) -> Floats:
    """Always-valid p-values of "one is not above it", (K,): if that is so, ever at most alpha with that chance."""
    inside, beyond = np.zeros(sums.w.shape), np.full(sums.w.shape, 64.0)
    for _ in range(_LOOKS):
        b = 0.5 * (inside + beyond)
        is_above = _subtract(sums, np.array(one), b, is_binary=is_binary).low > 0.0
        inside, beyond = np.where(is_above, b, inside), np.where(is_above, beyond, b)
    reached = 0.5 * chance_beyond(sums.ww[one] + sums.ww, inside)
    return np.where(inside > 0.0, np.minimum(1.0, reached), 1.0)


def _subtract(sums: MomentSums, leaders: Integers, b: Floats, *, is_binary: bool) -> MeanLimits:
    shape = _shape(sums, is_binary=is_binary)
    pairs = type(shape)(*(np.stack([np.broadcast_to(_take(each, leaders), b.shape), each]) for each in shape))
    (low, other_low), (high, other_high) = _ends(pairs, np.stack([b, b]))
    first, other = pairs.means
    apart = first - other
    return MeanLimits(
        apart, apart - np.hypot(first - low, other_high - other), apart + np.hypot(high - first, other - other_low)
    )


def _take(values: Floats, leaders: Integers) -> Floats:
    """The leader's, (..., 1)."""
    return np.take_along_axis(values, leaders[..., None], -1)


class _Rates(NamedTuple):
    """Outcomes 0 and 1, as if all plays had one weight, each (..., K)."""

    means: Floats
    sizes: Floats
    leans: Floats
    worths: Floats  # Kish's effective size


class _Skewed(NamedTuple):
    """Other outcomes, each (..., K)."""

    means: Floats
    errors: Floats  # NaN where there is no interval
    skewness: Floats  # of the sum


def _shape(sums: MomentSums, *, is_binary: bool) -> _Rates | _Skewed:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        means = sums.wy / sums.w
        if is_binary:
            return _Rates(means, sums.ww**3 / sums.www**2, sums.w * sums.www / sums.ww**2, sums.w**2 / sums.ww)
        return _Skewed(means, *_spread(sums, means))


def _ends(shape: _Rates | _Skewed, b: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return _ends_of_rates(shape, b) if isinstance(shape, _Rates) else _ends_of_skewed(shape, b)


def _ends_of_rates(shape: _Rates, b: Floats) -> tuple[Floats, Floats]:
    means, half = np.broadcast_to(shape.means, b.shape), 0.5 * b * b / shape.sizes
    inside, beyond = np.stack([means, means]), np.stack([np.zeros(b.shape), np.ones(b.shape)])  # both ends at once
    for _ in range(_HALVINGS):
        rates = 0.5 * (inside + beyond)
        is_beyond = _divergence(np.clip(rates + shape.leans * (means - rates), 0.0, 1.0), rates) > half
        inside, beyond = np.where(is_beyond, inside, rates), np.where(is_beyond, rates, beyond)
    low, high = np.where(np.isnan(means), np.nan, beyond)
    few, many = _most_missed(means, shape.worths, b), _most_missed(1.0 - means, shape.worths, b)
    return np.fmax(low, 1.0 - many), np.fmin(high, few)


def _most_missed(means: Floats, sizes: Floats, b: Floats) -> Floats:
    """The largest rate with (r - m)^2 N / r <= b^2: what is above 0 falls short no more than a normal sum does."""
    reach = 0.5 * b * b / sizes
    return means + reach + np.sqrt(reach * (reach + 2.0 * means))


def _divergence(seen: Floats, rates: Floats) -> Floats:
    """Kullback and Leibler's, of one Bernoulli distribution from another."""
    is_success = np.where(seen > 0.0, seen * np.log(seen / rates), 0.0)
    return is_success + np.where(seen < 1.0, (1.0 - seen) * np.log((1.0 - seen) / (1.0 - rates)), 0.0)


def _ends_of_skewed(shape: _Skewed, b: Floats) -> tuple[Floats, Floats]:
    skewness = np.abs(shape.skewness)
    near, far = undo_skewness(b, skewness), _far_end(b, _LEAN * skewness)
    leans_up = shape.skewness >= 0.0
    low = shape.means - shape.errors * np.where(leans_up, near, far)
    return low, shape.means + shape.errors * np.where(leans_up, far, near)


def _spread(sums: MomentSums, means: Floats) -> tuple[Floats, Floats]:
    """Standard errors and the skewness of each sum, both drawn towards those of all actions."""
    sizes = np.where(sums.w > 0.0, sums.w**2 / sums.ww, 0.0)
    squares = sums.wwyy - 2.0 * means * sums.wwy + means**2 * sums.ww
    cubes = sums.wwwyyy - 3.0 * means * sums.wwwyy + 3.0 * means**2 * sums.wwwy - means**3 * sums.www
    is_lost = ~(squares > _LOST * sums.wwyy) | ~np.isfinite(cubes)
    tilts = sums.www / sums.ww**1.5
    each = np.where(is_lost, 0.0, np.clip(cubes / squares**1.5, -1.0, 1.0) / tilts)
    scatters = np.where(sizes > 0.0, np.maximum(sums.wyy / sums.w - means**2, 0.0), 0.0)
    total = sizes.sum(axis=-1, keepdims=True)
    scatter, skewness = ((sizes * values).sum(axis=-1, keepdims=True) / total for values in (scatters, each))
    variances = squares / sums.w**2 * sizes / (sizes - 1.0)
    pooled = (sizes * variances + _PRIOR_ROWS * scatter / sizes) / (sizes + _PRIOR_ROWS)
    drawn = (sizes * each + _SKEWED_ROWS * skewness) / (sizes + _SKEWED_ROWS) * tilts
    has_interval = ~is_lost & (events(sums) >= BURN_IN)
    return np.where(has_interval, np.sqrt(pooled), np.nan), np.where(np.isfinite(drawn), drawn, 0.0)


def _far_end(b: Floats, v: Floats) -> Floats:
    """t with (v t - ln(1 + v t)) 2 / v^2 = b^2, by Newton's steps from above; b where v is 0."""
    is_straight = v * b < 1e-4
    q = np.where(is_straight, 1.0, 0.5 * (v * b) ** 2)
    s = q + np.sqrt(2.0 * q) + 1.0
    for _ in range(20):
        s = s - (s - np.log1p(s) - q) * (1.0 + s) / s
    return np.where(is_straight, b, s / np.where(is_straight, 1.0, v))


def project_sums(sums: MomentSums, chances: Floats, n_users: float) -> MomentSums:
    """The sums after so many more users, if outcomes go on as they were and actions are drawn with these chances."""
    with np.errstate(divide="ignore", invalid="ignore"):
        firsts, seconds, thirds = sums.wy / sums.w, sums.wyy / sums.w, sums.wwwyyy / sums.www
        shares, weights = sums.we / sums.w, 1.0 / chances
        w = np.where(chances > 0.0, n_users, 0.0)
        ww, www = w * weights, w * weights * weights
        added = (
            *(w * shares, w, w * firsts, w * seconds, ww, ww * firsts, ww * seconds),
            *(www, www * firsts, www * seconds, www * thirds),
        )
    is_drawn = (chances > 0.0) & (sums.w > 0.0)
    return MomentSums(*(each + np.where(is_drawn, new, 0.0) for each, new in zip(sums, added, strict=True)))
