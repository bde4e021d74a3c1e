"""The tipping point: how much hidden bias would make the log's best action the wrong one.

With delta_a the bias of action a's mean, Theorem 5 says that a log helps while delta_a - delta_a* < Delta_a, a* the
best action. What the log shows is the lead D = Delta + (delta_best - delta_second) of its best over its second. If
the bias in favour of its best, delta_best - delta_second, is below D, its best is the best and the condition holds;
above D the second is better, and the condition fails. So D itself is the tipping point: it needs no knowledge of the
truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.confounding import OmittedColumns, omit_columns
from headstart.judgement.audit.checks.actions import ActionsFinding
from headstart.logs.log import Log


@dataclass(frozen=True)
class Rival:
    """The bias in favour of the best action beyond which this one is better."""

    name: object
    tipping: float
    low: float  # with the log's noise counted against it; 0: noise alone might do
    column: str  # the column that, left out, moves the difference to the best most; "" without any
    bias: float  # by how much: towards the best if positive


@dataclass(frozen=True)
class Benchmark:
    """What leaving out a column does to the lead: the bias that a hidden confounder as strong as it would cause."""

    column: str
    bias: float  # towards the best action if positive


@dataclass(frozen=True)
class SensitivityFinding:
    tipping: float  # harmful from here on: the smallest of the rivals' (the second's), in units of the outcome
    useless: float  # from here on bias and noise together could explain the lead; 0: noise alone could
    standardised: float  # tipping / standard deviation of the outcome
    rivals: tuple[Rival, ...]
    e_value: float  # NaN where it is not defined
    e_value_low: float  # of the lead's lower limit; 1: no confounder is needed
    e_value_scale: str  # "risk ratio" or "standardised difference"
    robustness: float  # Cinelli and Hazlett's robustness value
    observed_bias: float  # raw lead minus weighted lead: what the contexts' confounding amounted to
    benchmarks: tuple[Benchmark, ...]  # strongest first
    biases: tuple[float, ...]  # (K,) the most that leaving out a column moves each mean against those of the others

    @property
    def strongest(self) -> float:
        """The largest bias of the lead that leaving out one observed column causes."""
        return max((abs(benchmark.bias) for benchmark in self.benchmarks), default=0.0)

    @property
    def tipped(self) -> tuple[Rival, ...]:
        """The rivals whom a confounder no stronger than an observed column would put before the best."""
        return tuple(rival for rival in self.rivals if abs(rival.bias) >= rival.tipping > 0.0)


def find_tipping_point(actions: ActionsFinding, log: Log) -> SensitivityFinding | None:
    """None when fewer than two actions have rows. `log` is the sample that benchmarks come from."""
    if actions.best is None or actions.second is None:
        return None
    from headstart.special import stdtrit

    best, second = actions.actions[actions.best], actions.actions[actions.second]
    omitted = omit_columns(log)
    rivals = []
    for a, rival in enumerate(actions.actions):
        if a == actions.best or math.isnan(rival.mean):
            continue
        gap, error = best.mean - rival.mean, math.hypot(best.standard_error, rival.standard_error)
        degrees = max(1.0, min(best.effective_size, rival.effective_size) - 1.0)
        half = float(stdtrit(degrees, 0.5 + actions.level / 2.0)) * error
        strongest = _benchmarks(omitted, actions.best, a)[:1]
        column, bias = (strongest[0].column, strongest[0].bias) if strongest else ("", 0.0)
        rivals.append(Rival(rival.name, gap, max(0.0, gap - half) if math.isfinite(half) else 0.0, column, bias))
    rivals.sort(key=lambda rival: rival.tipping)
    spread = math.sqrt((best.variance + second.variance) / 2.0)
    e_value, e_low, scale = _e_values(actions, spread)
    return SensitivityFinding(
        tipping=actions.lead,
        useless=rivals[0].low,
        standardised=actions.lead / spread if spread > 0.0 else math.nan,
        rivals=tuple(rivals),
        e_value=e_value,
        e_value_low=e_low,
        e_value_scale=scale,
        robustness=_robustness_of(log, actions.best, actions.second),
        observed_bias=(best.raw_mean - second.raw_mean) - actions.lead,
        benchmarks=_benchmarks(omitted, actions.best, actions.second),
        biases=_against_others(omitted.biases),
    )


def e_value(risk_ratio: float) -> float:
    """VanderWeele and Ding (2017): how strongly, as a risk ratio, a hidden confounder must be tied to both the action
    and the outcome to explain a risk ratio away: RR + sqrt(RR (RR - 1))."""
    if not risk_ratio > 0.0 or math.isinf(risk_ratio):
        return math.nan
    ratio = max(risk_ratio, 1.0 / risk_ratio)
    return ratio + math.sqrt(ratio * (ratio - 1.0))


def _e_values(actions: ActionsFinding, spread: float) -> tuple[float, float, str]:
    """Of the lead and of its lower limit. A standardised difference d stands for RR = exp(0.91 d)."""
    from headstart.special import ndtri

    assert actions.best is not None
    assert actions.second is not None
    best, second = actions.actions[actions.best], actions.actions[actions.second]
    z = float(ndtri(0.5 + actions.level / 2.0))
    if actions.is_binary:
        scale = "risk ratio"
        if second.mean <= 0.0:
            return math.nan, math.nan, scale
        log_ratio = math.log(best.mean / second.mean)
        error = math.hypot(best.standard_error / best.mean, second.standard_error / second.mean)
    else:
        scale = "standardised difference"
        if spread <= 0.0:
            return math.nan, math.nan, scale
        log_ratio, error = 0.91 * actions.lead / spread, 0.91 * actions.lead_error / spread
    low = log_ratio - z * error if math.isfinite(error) else 0.0
    return e_value(math.exp(min(log_ratio, 700.0))), e_value(math.exp(max(0.0, min(low, 700.0)))), scale


def _against_others(biases: Floats) -> tuple[float, ...]:
    """Per action the largest move of its mean against the average of the others', (K,): what moves all of them alike
    turns no decision."""
    others = (biases.sum(axis=1, keepdims=True) - biases) / max(biases.shape[1] - 1, 1)
    return tuple(np.abs(biases - others).max(axis=0, initial=0.0).tolist())


def _benchmarks(omitted: OmittedColumns, best: int, second: int) -> tuple[Benchmark, ...]:
    """What each column left out does to the lead."""
    biases = omitted.biases[:, best] - omitted.biases[:, second]
    found = [Benchmark(name, float(bias)) for name, bias in zip(omitted.names, biases, strict=True)]
    return tuple(sorted(found, key=lambda benchmark: -abs(benchmark.bias)))


def _robustness_of(log: Log, best: int, second: int) -> float:
    """The robustness value of the lead, by least squares of the outcome on the action and the contexts."""
    kept = (log.actions == best) | (log.actions == second)
    is_best = (log.actions[kept] == best).astype(np.float64)
    if log.n_features == 0 or kept.sum() <= log.n_features + 2 or is_best.min() == is_best.max():
        return math.nan
    y, x = log.outcomes[kept], log.contexts[kept]
    spread = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    design = np.column_stack([is_best - is_best.mean(), x])
    gram, moments = design.T @ design, design.T @ (y - y.mean())
    return _robustness(gram, moments, float(np.sum((y - y.mean()) ** 2)), int(kept.sum()))


def _robustness(gram: Floats, moments: Floats, total: float, n: int) -> float:
    """How much of what is left of both action and outcome a hidden confounder must explain to bring the lead to 0."""
    # Categories of one column sum to 1, so the matrix may be singular: the slope of the action is still unique.
    inverse = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
    slopes = inverse @ moments
    degrees = n - 1 - int(np.linalg.matrix_rank(gram, hermitian=True, tol=1e-10 * float(np.abs(gram).max())))
    left = total - float(slopes @ moments)
    if degrees <= 0 or left <= 1e-12 * total or inverse[0, 0] <= 0.0:
        return math.nan
    return robustness_value(slopes[0] ** 2 / (inverse[0, 0] * left))


def robustness_value(f2: float) -> float:
    """(sqrt(f^4 + 4 f^2) - f^2) / 2, f^2 = t^2 / degrees of freedom (Cinelli and Hazlett 2020)."""
    return (math.sqrt(f2 * f2 + 4.0 * f2) - f2) / 2.0
