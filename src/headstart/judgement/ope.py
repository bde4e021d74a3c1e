"""Off-policy estimates: what a fixed policy would earn, from a log of another one, with intervals.

Letters: pi the policy in question, p the log's propensity of the action taken, w = pi(a | x) / p the weight of a row,
m_a(x) a regression of the outcome fitted to other rows. Replay, IPS and SNIPS are a sum of terms over a sum of
divisors, so one rule gives their standard errors (`weigh_ratio`); `estimates.intervals` makes all intervals.
Rows of one unit (`log.units`) are added up before they are squared. For a policy that learns while it plays see
`compare`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats, Integers
from headstart.checks import check_number, check_whole
from headstart.errors import LogError, OptionError
from headstart.estimates.cross_fit import check_folds, deal_folds
from headstart.estimates.intervals import MeanSpread, mean_intervals, shape_of_rows, skewness_of, tilt_of
from headstart.estimates.missed import Missed, missed_by
from headstart.estimates.regression import Regressor, predict_from, predict_others
from headstart.estimates.shares import cut
from headstart.estimates.summary import word_doubts
from headstart.estimates.weighted import Ratio, kish_size, root_sum_square, weigh_ratio
from headstart.evaluators.compiled import check_has_propensities
from headstart.logs.log import Log
from headstart.randomness import RNG, as_generator
from headstart.simulation.acceptance import is_even

Policy = Callable[[Floats], ArrayLike] | ArrayLike
"""A function context -> chances (K,) or an action; or chances of every row, (n, K); or an action per row, (n,)."""

_N_GROUPS = 30  # of rows, each left out in turn, for the direct method's error


@dataclass(frozen=True)
class Estimate:
    """The mean outcome per user under the policy."""

    value: float
    standard_error: float
    low: float
    high: float
    n_effective: float  # rows of the policy's own that would weigh as much: (sum w)^2 / sum w^2
    method: str
    note: str = ""  # what must be said of the interval, in words


def estimate_values(
    log: Log, policy: Policy, *, level: float = 0.95, bootstrap: int = 0, rng: RNG = 0
) -> dict[str, Estimate]:
    """Every estimate that this log allows, by name: they should agree; where they do not, trust none of them blindly.

    Parameters
    ----------
    policy
        A function context -> chances or action, the chances of every row, or an action per row.
    level
        Of the intervals: Wilson's for outcomes that are 0 or 1, Student's with the skewness undone for others.
    bootstrap
        So many resamples of the rows, whose percentiles are the interval; 0 for the rule above.
    rng
        Draws the resamples.
    """
    chances = as_chances(policy, log)

    def ask(method: Callable[..., Estimate]) -> Estimate:
        return method(log, chances, level=level, bootstrap=bootstrap, rng=rng)

    found = [ask(method) for method in ([replay] if is_even(log) else []) + [ips, snips]]
    found += [direct_method(log, chances, level=level), ask(doubly_robust)]
    return {estimate.method: estimate for estimate in found}


def replay(log: Log, policy: Policy, *, level: float = 0.95, bootstrap: int = 0, rng: RNG = 0) -> Estimate:
    """The mean outcome of the rows whose action is the policy's (Li et al. 2011); for logs of actions chosen by lot.

    A policy that draws its action counts a row by the chance of drawing the logged one.
    """
    if not is_even(log):
        raise LogError(
            "replay is for logs whose propensities are all 1 / n_actions, and this one's are not: use snips or "
            "doubly_robust"
        )
    agreed = _taken(as_chances(policy, log), log)
    return _weighted_mean("replay", log, agreed, level, bootstrap, rng)


def ips(log: Log, policy: Policy, *, level: float = 0.95, bootstrap: int = 0, rng: RNG = 0) -> Estimate:
    """Inverse propensity scoring: the mean of w y. Unbiased; unbounded where propensities are small."""
    weights = _weights(log, policy, "ips")
    _check_agrees("ips", weights)
    terms, level = weights * log.outcomes, check_number("level", level, 0.0, 1.0)
    found = _Found("ips", weigh_ratio(terms, np.ones(len(log))), weights, skewness_of(terms, np.ones(len(log))))
    return _tell(found, log, np.ones(len(log)), terms, level, _resample(terms, None, log, bootstrap, rng))


def snips(log: Log, policy: Policy, *, level: float = 0.95, bootstrap: int = 0, rng: RNG = 0) -> Estimate:
    """Self-normalised: sum of w y / sum of w. Stays in the range of outcomes; bias of order 1 / n_effective."""
    weights = _weights(log, policy, "snips")
    return _weighted_mean("snips", log, weights, level, bootstrap, rng)


def doubly_robust(
    log: Log,
    policy: Policy,
    estimator: Regressor | None = None,
    *,
    n_folds: int = 5,
    level: float = 0.95,
    bootstrap: int = 0,
    rng: RNG = 0,
    predicted: Floats | None = None,
) -> Estimate:
    """The mean of sum_a pi(a | x) m_a(x), plus the residuals y - m_a(x) weighted by w: right if the propensities or
    the regression are.

    (Dudik et al. 2011.) Weights are normalised to shares, and a share above 1 / sqrt(rows that agree) is cut, as in
    `estimates.doubly_robust`; what the cut moved is counted as error, and so is, with estimated propensities, what
    curves that nobody found may have moved (`estimates.missed`). `estimator` is any scikit-learn regressor,
    fitted per action to the other folds; by default lines, curves or boosted trees, as the rows left out advise
    (`estimates.bending`). Resamples keep the predictions. Who asks about several policies of one log may give what
    `predict_others` said of its rows, `predicted`, (n, K).
    """
    chances = as_chances(policy, log)
    weights, level = _weights(log, chances, "doubly_robust"), check_number("level", level, 0.0, 1.0)
    _check_agrees("doubly robust", weights)
    if estimator is not None:
        check_folds(n_folds, len(log))
    if predicted is None:
        predicted = predict_others(log, estimator, n_folds, rng).inside
    expected = (chances * predicted).sum(axis=1)
    residuals = log.outcomes - _taken(predicted, log)
    shares = _cut_shares(weights)
    correction, n = float(shares @ residuals), len(log)
    pulls = shares * (residuals - correction) / np.maximum(1.0 - shares, 0.5)  # without the row's own pull
    moved = (expected - expected.mean()) / max(n - 1, 1)
    allowance = float((weights / weights.sum() - shares) @ residuals)
    missed = missed_by(log, predicted) if estimator is None else Missed(np.zeros(log.n_actions), ())
    played = chances.mean(axis=0)
    # What the cut changed, and curves that nobody found may have: errors that no row answers for.
    influence = np.append(pulls + moved, [allowance, float(played @ missed.allowances)])
    found = _Found(
        "doubly robust",
        Ratio(float(expected.mean()) + correction, influence),
        weights,
        skewness_of(residuals, shares),
    )

    def value_of(rows: Integers) -> float:
        return float(expected[rows].mean() + _cut_shares(weights[rows]) @ residuals[rows])

    told = _tell(found, log, shares, residuals, level, _resample_values(value_of, n, bootstrap, rng))
    doubtful = [log.action_names[a] for a in missed.doubtful if played[a] > 0.0]
    return replace(told, note=word_doubts(doubtful)) if doubtful else told


def direct_method(
    log: Log, policy: Policy, estimator: Regressor | None = None, *, level: float = 0.95, rng: RNG = 0
) -> Estimate:
    """The mean of sum_a pi(a | x) m_a(x), m fitted to all rows: as right as the regression, without propensities.

    Its standard error is a jackknife's: 30 groups of rows, dealt by lot, are left out in turn and the regression is
    fitted anew. It knows nothing of a regression of the wrong shape.
    """
    from headstart.special import stdtrit

    level = check_number("level", level, 0.0, 1.0)
    chances = as_chances(policy, log)
    n_groups = min(_N_GROUPS, len(log))
    groups = deal_folds(len(log), n_groups, rng)

    def value_of(rows: Bools) -> float:
        kept = log.take(rows)
        return float((chances[rows] * predict_from(kept, kept.contexts, estimator)).sum(axis=1).mean())

    value = value_of(np.ones(len(log), dtype=np.bool_))
    without = np.array([value_of(groups != g) for g in range(n_groups)]) if n_groups > 1 else np.array([np.nan])
    error = float(np.sqrt((n_groups - 1) / n_groups * ((without - without.mean()) ** 2).sum()))
    half = float(stdtrit(max(n_groups - 1, 1), 0.5 + level / 2.0)) * error
    return Estimate(value, error, value - half, value + half, float(len(log)), "direct")


def as_chances(policy: Policy, log: Log) -> Floats:
    """The policy's chance of every action in every row, (n, K)."""
    shape = (len(log), log.n_actions)
    try:
        array = np.asarray([policy(row) for row in log.contexts] if callable(policy) else policy)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.shape == shape[:1] and array.dtype.kind in "iu":
        wrong = (array < 0) | (array >= log.n_actions)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise OptionError(f"the policy's action in row {row} must be 0..{log.n_actions - 1}, got {array[row]}")
        chances = np.zeros(shape)
        chances[np.arange(len(log)), array] = 1.0
        return chances
    if array.shape != shape or array.dtype.kind not in "fiub":
        raise OptionError(
            f"the policy must give {log.n_actions} chances or an action (a whole number) for each of {len(log)} "
            f"rows, got an array of shape {array.shape} of {array.dtype}"
        )
    chances = array.astype(np.float64)
    wrong = ~((chances >= 0.0).all(axis=1) & (np.abs(chances.sum(axis=1) - 1.0) <= 1e-6))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise OptionError(f"the policy's chances in row {row} must be at least 0 and sum to 1, got {array[row]}")
    return chances


def _taken(chances: Floats, log: Log) -> Floats:
    return chances[np.arange(len(log)), log.actions]


def _propensities(log: Log, who: str) -> Floats:
    check_has_propensities(log, who)
    assert log.propensities is not None
    return log.propensities


def _weights(log: Log, policy: Policy, who: str) -> Floats:
    chances, propensities = as_chances(policy, log), _propensities(log, who)
    matrix = log.propensity_matrix
    if matrix is not None and ((matrix == 0.0) & (chances > 0.0)).any():
        row, action = (int(i) for i in np.argwhere((matrix == 0.0) & (chances > 0.0))[0])
        raise LogError(
            f"the policy plays action {log.action_names[action]!r} in row {row}, where the log never would: no "
            "weight can stand for it (direct_method extrapolates)"
        )
    return _taken(chances, log) / propensities


def _check_agrees(method: str, weights: Floats) -> None:
    if not weights.any():
        raise LogError(f"{method}: the policy agrees with no row of the log")


class _Found(NamedTuple):
    """An estimate before it has an interval."""

    method: str
    ratio: Ratio
    weights: Floats
    skewness: float  # of what is averaged


def _weighted_mean(method: str, log: Log, weights: Floats, level: float, bootstrap: int, rng: RNG) -> Estimate:
    """sum of w y / sum of w."""
    level = check_number("level", level, 0.0, 1.0)
    _check_agrees(method, weights)
    terms = weights * log.outcomes
    found = _Found(method, weigh_ratio(terms, weights), weights, skewness_of(log.outcomes, weights))
    return _tell(found, log, weights, log.outcomes, level, _resample(terms, weights, log, bootstrap, rng))


def _tell(found: _Found, log: Log, shares: Floats, averaged: Floats, level: float, resampled: Floats) -> Estimate:
    """The estimate with its error and an interval; `shares` are what each of the values `averaged` counts."""
    value, effective, error = found.ratio.value, kish_size(found.weights), found.ratio.standard_error
    if log.units is not None and np.isfinite(error) and error > 0.0:
        clustered = root_sum_square(_by_unit(found.ratio.influence, log.units))
        effective *= min(1.0, (error / clustered) ** 2) if clustered > 0.0 else 1.0
        error = clustered
    if resampled.size:
        low, high = np.quantile(resampled, [0.5 - level / 2.0, 0.5 + level / 2.0])
        return Estimate(value, float(resampled.std(ddof=1)), float(low), float(high), effective, found.method)
    shape = shape_of_rows(log.actions, averaged, log.n_actions)
    shape = shape._replace(is_binary=bool(np.isin(log.outcomes, (0.0, 1.0)).all()))
    scatter = max(value * (1.0 - value), 0.0) if shape.is_binary else _scatter(averaged, shares)
    if found.method == "ips" and not shape.is_binary:
        # Terms that hold the weights say all that is known of their spread: no other rows are like them.
        scatter = error * error * effective
        shape = shape._replace(variance=scatter, skewness=found.skewness)
    tilt = tilt_of(shares)
    spread = MeanSpread(*(np.array([each]) for each in (value, error, effective, scatter, tilt)))
    ends = mean_intervals(spread, shape, np.array([found.skewness]), level)
    return Estimate(value, error, float(ends[0][0]), float(ends[1][0]), effective, found.method)


def _scatter(values: Floats, shares: Floats) -> float:
    """The weighted variance."""
    apart = values - (shares @ values) / shares.sum()
    return float(shares @ apart**2 / shares.sum())


def _by_unit(influence: Floats, units: Integers) -> Floats:
    """Influences added up within units; what comes after the rows stays as it is."""
    together = np.bincount(units, influence[: units.size]).astype(np.float64)
    return np.append(together, influence[units.size :])


def _cut_shares(weights: Floats) -> Floats:
    """Weights as shares of which none is above 1 / sqrt(rows with weight)."""
    shares, agrees = np.zeros(weights.size), weights > 0.0
    if agrees.any():
        shares[agrees] = cut(weights[agrees] / weights.sum(), 1.0 / np.sqrt(agrees.sum()))
    return shares


def _resample(terms: Floats, divisors: Floats | None, log: Log, bootstrap: int, rng: RNG) -> Floats:
    """Values of resamples of the rows; empty if none are asked for."""

    def value_of(rows: Integers) -> float:
        total = float(rows.size if divisors is None else divisors[rows].sum())
        return float(terms[rows].sum()) / total if total > 0.0 else np.nan

    return _resample_values(value_of, len(log), bootstrap, rng)


def _resample_values(value_of: Callable[[Integers], float], n: int, bootstrap: int, rng: RNG) -> Floats:
    if not bootstrap:
        return np.empty(0)
    generator = as_generator(rng)
    times = check_whole("bootstrap", bootstrap)
    values: Floats = np.array([value_of(generator.integers(n, size=n)) for _ in range(times)])
    return values[~np.isnan(values)]
