"""Totals: whether rows that stand for 1/p users each stand for as many users as there are, judged without a normal
limit.

The rows of action a in a group of n users weigh W = sum of w, w = 1/p. If p is the chance that the action had, W has
mean n and variance sum of (1/p - 1) over the users, of which the sum of w (w - 1) over the action's rows is an
unbiased estimate. Where few rows are to be expected, W is far from normal: one row more may be worth thirty users.
Three ways to judge it, each an array at a time, each two-sided:

- `judge_totals` knows nothing but W, the estimated variance v and the largest weight m that the action has anywhere.
  The gamma intervals of Fay and Feuer (1997) for weighted sums of Poisson counts: W is too large for n users if a
  gamma variable of mean W and variance v hardly lies below n, too small if one of mean W + m and variance v + m^2
  hardly lies above it. With equal weights and v = sum of w^2 they are Garwood's exact limits. v is Bernoulli's
  instead. That a total is so small cannot be less likely than that all other rows have the actions that they have:
  the product of their chances is a floor (`least_chances`), which small logs of policies that explore little need.
- `judge_counts` has whole vectors of chances, so the expected number of rows E and its variance V are known. Of all
  sums of independent 0/1 draws with variance V, none is more skewed than a Poisson variable of mean V moved by E - V,
  and none has heavier tails than a binomial one of mean E (Hoeffding 1956): the smaller of the two tails.
- `judge_sums` is for any centred sum of independent terms, of which the variance V and a typical large step m (the
  third absolute moment over the second) are known: m times a Poisson variable of mean V / m^2, centred. It has that
  variance and that skewness, and is the law that Bennett's inequality is sharp for.

Rows of one unit are one draw: their weights are added first (`cluster_squares`).
"""

from __future__ import annotations

import numpy as np

from headstart.arrays import Floats, Integers

_STILL = 1e-9  # relative: sums of floats that differ by less are the same


def judge_totals(
    totals: Floats, variances: Floats, largest: Floats, fewest: Floats, most: Floats, floors: Floats | float = 0.0
) -> Floats:
    """Chances of totals as far off as these, if they should be between `fewest` and `most` users.

    `floors` are chances below which that of so few cannot lie. NaN where no weight is known.
    """
    from headstart.special import gammainc, gammaincc

    totals, variances, largest, fewest, most = np.broadcast_arrays(totals, variances, largest, fewest, most)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        v = np.maximum(variances, _STILL * np.maximum(totals, 1e-300) ** 2)
        too_many = np.where(totals > 0.0, gammainc(totals**2 / v, most * totals / v), 1.0)
        y, spread = totals + largest, np.maximum(variances, 0.0) + largest**2
        too_few = np.maximum(gammaincc(y**2 / spread, fewest * y / spread), floors)
    too_many = np.where(totals > most * (1.0 + _STILL), too_many, 1.0)
    too_few = np.where(totals < fewest * (1.0 - _STILL), too_few, 1.0)
    return np.where(np.isfinite(largest), np.minimum(1.0, 2.0 * np.minimum(too_many, too_few)), np.nan)


def least_chances(propensities: Floats, codes: Integers, shape: tuple[int, int]) -> Floats:
    """What the chance that an action's rows in a group of users weigh no more than they do is at least, (G, K).

    If no other row had had this action, they would not: and each of those had a chance 1 - p_a >= p not to have it, p
    that of its own action. So it is the product of p over the rows of other actions; `codes` are group K + action.
    """
    logs = np.bincount(codes, np.log(propensities), shape[0] * shape[1]).reshape(shape)
    return np.asarray(np.exp(logs.sum(axis=1, keepdims=True) - logs))


def judge_counts(observed: Floats, expected: Floats, variances: Floats, users: Floats) -> Floats:
    """Chances of counts as far from the expected ones as these, each a sum of `users` independent draws."""
    from headstart.special import betainc

    observed, expected, variances, users = np.broadcast_arrays(observed, expected, variances, users)
    skewed = judge_sums(observed - expected, variances, np.ones(observed.shape))
    share = np.clip(np.divide(expected, users, out=np.zeros(observed.shape), where=users > 0), 0.0, 1.0)
    above = betainc(np.maximum(observed, 1.0), np.maximum(users - observed + 1.0, 1e-9), share)
    below = betainc(np.maximum(users - observed, 1e-9), observed + 1.0, 1.0 - share)
    binomial = np.where(observed >= expected + 1.0, above, np.where(observed <= expected - 1.0, below, 1.0))
    binomial = np.where((observed <= 0) & (observed > expected), 1.0, binomial)
    return np.minimum(skewed, np.minimum(1.0, 2.0 * binomial))


def judge_sums(sums: Floats, variances: Floats, steps: Floats) -> Floats:
    """Chances of centred sums as far from 0 as these."""
    from headstart.special import gammainc

    sums, variances, steps = np.broadcast_arrays(sums, variances, steps)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = np.maximum(variances, 0.0) / steps**2
        tails = gammainc(np.abs(sums) / steps + mean, mean)
    is_still = np.abs(sums) <= _STILL * np.maximum(steps, 1e-300)
    return np.where(is_still | ~(steps > 0.0), 1.0, np.minimum(1.0, 2.0 * tails))


def worst_of_many(p_values: Floats) -> float:
    """The chance that the least of so many is as small (Bonferroni); 1 if none was judged."""
    known = p_values[np.isfinite(p_values)]
    return min(1.0, float(known.size * known.min())) if known.size else 1.0


def cluster_squares(
    units: Integers, actions: Integers, terms: Floats, centres: Floats, n_actions: int
) -> tuple[Floats, Floats]:
    """Per action the sum over units of (their terms of that action - their centres)^2, and the largest such total.

    A row has a term for its own action, and a centre, which is what its unit's terms of any action are to be expected
    to add up to: of weights 1, of weighted distances w z the distance z.
    """
    _, unit = np.unique(units, return_inverse=True)
    codes, cell = np.unique(unit * n_actions + actions, return_inverse=True)
    owner, action = np.divmod(codes, n_actions)
    total = np.bincount(cell, terms)
    centre = np.bincount(unit, centres)
    squares = np.bincount(action, total**2 - 2.0 * total * centre[owner], n_actions) + float(centre @ centre)
    largest = np.full(n_actions, np.nan)
    np.fmax.at(largest, action, np.abs(total))
    return np.maximum(squares, 0.0), largest
