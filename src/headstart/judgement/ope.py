"""Off-policy estimates: what a fixed policy would earn, from a log of another one, with intervals.

Letters: pi the policy in question, p the log's propensity of the action taken, w = pi(a | x) / p the weight of a row,
m_a(x) a regression of the outcome fitted to other rows. Every estimate but the direct method is a sum of terms over a
sum of divisors, so one rule gives all standard errors (`weigh_ratio`). For a policy that learns while it plays see
`compare`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats
from headstart.checks import check_number, check_whole
from headstart.errors import LogError, OptionError
from headstart.estimates.cross_fit import check_folds, deal_folds
from headstart.estimates.doubly_robust import robust_terms
from headstart.estimates.regression import Regressor, predict_from, predict_others
from headstart.estimates.weighted import kish_size, weigh_ratio
from headstart.evaluators.compiled import check_has_propensities
from headstart.logs.log import Log
from headstart.randomness import RNG, as_generator
from headstart.simulation.rejection import is_even

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


def estimate_values(
    log: Log, policy: Policy, *, level: float = 0.95, bootstrap: int = 0, rng: RNG = 0
) -> dict[str, Estimate]:
    """Every estimate that this log allows, by name: they should agree; where they do not, trust none of them blindly.

    Parameters
    ----------
    policy
        A function context -> chances or action, the chances of every row, or an action per row.
    level
        Of the intervals, which are Student's with `n_effective` - 1 degrees of freedom.
    bootstrap
        So many resamples of the rows, whose percentiles are the interval; 0 for Student's.
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
    return _ratio("replay", agreed * log.outcomes, agreed, agreed, level, bootstrap, rng)


def ips(log: Log, policy: Policy, *, level: float = 0.95, bootstrap: int = 0, rng: RNG = 0) -> Estimate:
    """Inverse propensity scoring: the mean of w y. Unbiased; unbounded where propensities are small."""
    weights = _weights(log, policy, "ips")
    return _ratio("ips", weights * log.outcomes, np.ones(len(log)), weights, level, bootstrap, rng)


def snips(log: Log, policy: Policy, *, level: float = 0.95, bootstrap: int = 0, rng: RNG = 0) -> Estimate:
    """Self-normalised: sum of w y / sum of w. Stays in the range of outcomes; bias of order 1 / n_effective."""
    weights = _weights(log, policy, "snips")
    return _ratio("snips", weights * log.outcomes, weights, weights, level, bootstrap, rng)


def doubly_robust(
    log: Log,
    policy: Policy,
    estimator: Regressor | None = None,
    *,
    n_folds: int = 5,
    level: float = 0.95,
    bootstrap: int = 0,
    rng: RNG = 0,
) -> Estimate:
    """The mean of sum_a pi(a | x) m_a(x) + w (y - m_a(x)): right if the propensities or the regression are.

    (Dudik et al. 2011.) `estimator` is any scikit-learn regressor, fitted per action to the other folds; by default
    ridge regressions that lean on slopes common to all actions, each row predicted by all others. Resamples keep the
    predictions.
    """
    chances = as_chances(policy, log)
    weights = _weights(log, chances, "doubly_robust")
    if estimator is not None:
        check_folds(n_folds, len(log))
    predicted, _ = predict_others(log, estimator, n_folds, rng)
    propensities = _propensities(log, "doubly_robust")
    terms = (chances * robust_terms(log.actions, log.outcomes, 1.0 / propensities, predicted)).sum(axis=1)
    return _ratio("doubly robust", terms, np.ones(len(log)), weights, level, bootstrap, rng)


def direct_method(
    log: Log, policy: Policy, estimator: Regressor | None = None, *, level: float = 0.95, rng: RNG = 0
) -> Estimate:
    """The mean of sum_a pi(a | x) m_a(x), m fitted to all rows: as right as the regression, without propensities.

    Its standard error is a jackknife's: 30 groups of rows, dealt by lot, are left out in turn and the regression is
    fitted anew. It knows nothing of a regression of the wrong shape.
    """
    from scipy.special import stdtrit

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


def _ratio(
    method: str, terms: Floats, divisors: Floats, weights: Floats, level: float, bootstrap: int, rng: RNG
) -> Estimate:
    """sum of terms / sum of divisors, its influence function's standard error, and an interval."""
    from scipy.special import stdtrit

    level = check_number("level", level, 0.0, 1.0)
    if not weights.any():
        raise LogError(f"{method}: the policy agrees with no row of the log")
    ratio, effective = weigh_ratio(terms, divisors), kish_size(weights)
    value, error = ratio.value, ratio.standard_error
    if bootstrap:
        values = _resample(terms, divisors, check_whole("bootstrap", bootstrap), as_generator(rng))
        low, high = np.quantile(values, [0.5 - level / 2.0, 0.5 + level / 2.0])
        return Estimate(value, float(values.std(ddof=1)), float(low), float(high), effective, method)
    half = float(stdtrit(max(effective - 1.0, 1.0), 0.5 + level / 2.0)) * error
    return Estimate(value, error, value - half, value + half, effective, method)


def _resample(terms: Floats, divisors: Floats, times: int, generator: np.random.Generator) -> Floats:
    values = np.empty(times)
    for b in range(times):
        rows = generator.integers(terms.size, size=terms.size)
        total = divisors[rows].sum()
        values[b] = terms[rows].sum() / total if total > 0.0 else np.nan
    return values[~np.isnan(values)]
