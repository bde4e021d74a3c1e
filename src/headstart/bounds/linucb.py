"""Theorems 6 and 9: LinUCB with linear regression, with and without a gap between the best action and the next."""

from __future__ import annotations

import math

from headstart.bounds.conditions import check_positive, check_rounds
from headstart.checks import check_number, check_whole
from headstart.errors import OptionError


def linucb_confidence(n_features: int, delta: float) -> float:
    """The paper's beta_T(delta) = 2 d (1 + 2 ln(1 / delta)); the theorems are for `LinUCB` with beta = its root.

    It must be a squared confidence radius, which is more: (sqrt(2 ln(1/delta) + d ln(1 + (N + T) L^2 / d)) +
    norm of theta)^2 is one for 1-sub-Gaussian noise (Abbasi-Yadkori et al. 2011, Theorem 2). The paper's is smaller
    than that for d = 1, a large theta or N much larger than T.
    """
    d = check_whole("n_features", n_features)
    chance = check_positive("delta", delta)
    if chance > 1.0:
        raise OptionError(f"delta must be in (0, 1], got {delta!r}")
    return 2.0 * d * (1.0 + 2.0 * math.log(1.0 / chance))


def linucb_upper_gap(
    smallest_gap: float, horizon: int, n_features: int, longest: float, smallest_eigenvalue: float
) -> float:
    """Theorem 6, corrected: c 8 d^2 (1 + 2 ln T) / Delta_min log(1 + T L^2 / (1 + lambda)) + 1.

    c = v / log(1 + v), at most 1 / log 2, with v = min{1, L^2 / (1 + lambda)}.

    Parameters
    ----------
    smallest_gap
        Delta_min: the best action is better than the next by at least this, for every context.
    horizon
        T.
    n_features
        d, the length of phi(x, a).
    longest
        L, the largest Euclidean norm of phi.
    smallest_eigenvalue
        lambda of V_N = sum of phi phi' over the virtual plays; 0 without a log.

    Notes
    -----
    Supposes E[y] = theta'phi in an interval of length 1, 1-sub-Gaussian noise, all virtual plays before the first
    online one (the batch schedule) and `LinUCB` with ridge = 1 and beta the root of
    `linucb_confidence(d, 1 / T)`. What the paper prints (`linucb_upper_gap_printed`) has no identity in V, so it is
    infinite without a log, and takes the sum of v_t = phi'V^-1 phi for that of log(1 + v_t), which is smaller: c.
    """
    gap, rounds, d, length, value = _check_gap_case(smallest_gap, horizon, n_features, longest, smallest_eigenvalue)
    largest = min(1.0, length**2 / (1.0 + value))
    factor = largest / math.log1p(largest)
    leading = factor * 4.0 * linucb_confidence(d, 1.0 / rounds) * d / gap
    return leading * math.log1p(rounds * length**2 / (1.0 + value)) + 1.0


def linucb_upper_gap_printed(
    smallest_gap: float, horizon: int, n_features: int, longest: float, smallest_eigenvalue: float
) -> float:
    """Theorem 6 as printed: 8 d^2 (1 + 2 ln T) / Delta_min log(1 + T L^2 / lambda) + 1; infinite if lambda = 0.

    Arguments as in `linucb_upper_gap`. From lambda = `linucb_enough(T, L)` on it is at most 16 d^2 / Delta_min + 1.
    """
    gap, rounds, d, length, value = _check_gap_case(smallest_gap, horizon, n_features, longest, smallest_eigenvalue)
    if value == 0.0:
        return math.inf
    return 4.0 * linucb_confidence(d, 1.0 / rounds) * d / gap * math.log1p(rounds * length**2 / value) + 1.0


def linucb_enough(horizon: int, longest: float) -> float:
    """Theorem 6's threshold for lambda: (1/2 + ln T) T L^2."""
    rounds = check_rounds(horizon)
    return (0.5 + math.log(rounds)) * rounds * check_positive("longest", longest) ** 2


def linucb_upper_free(
    horizon: int, n_features: int, longest: float, shortest: float, n_virtual: int, confidence: float
) -> float:
    """Theorem 9, corrected: sqrt(8 (N + T) beta d log(d + (N + T) L^2)) - 2 sqrt(beta) S.

    S = min{1, l} (2 / L^2) (sqrt(1 + N L^2) - 1). With chance 1 - delta, whatever the gaps.

    Parameters
    ----------
    horizon, n_features
        T; d, the length of phi(x, a).
    longest, shortest
        L and l, the largest and smallest Euclidean norm of phi.
    n_virtual
        N, virtual plays.
    confidence
        beta: `linucb_confidence(d, delta)` or more, see there. `LinUCB` runs with its root and ridge = 1.

    Notes
    -----
    Twice wrong in print (`linucb_upper_free_printed`): log det V is at most d log(trace V), the d is missing;
    and the virtual plays' part of the sum that Cauchy's inequality bounds is 2 sqrt(beta) S, not sqrt(8 beta) S.
    """
    rounds, d, length, virtual, beta, spared = _check_free_case(
        horizon, n_features, longest, shortest, n_virtual, confidence
    )
    n = rounds + virtual
    return math.sqrt(8.0 * n * beta * d * math.log(d + n * length**2)) - 2.0 * math.sqrt(beta) * spared


def linucb_upper_free_printed(
    horizon: int, n_features: int, longest: float, shortest: float, n_virtual: int, confidence: float
) -> float:
    """Theorem 9 as printed: sqrt(8 (N + T) beta log(d + (N + T) L^2)) - sqrt(8 beta) S; see `linucb_upper_free`."""
    rounds, d, length, virtual, beta, spared = _check_free_case(
        horizon, n_features, longest, shortest, n_virtual, confidence
    )
    n = rounds + virtual
    return math.sqrt(8.0 * n * beta * math.log(d + n * length**2)) - math.sqrt(8.0 * beta) * spared


def _check_gap_case(
    smallest_gap: float, horizon: int, n_features: int, longest: float, smallest_eigenvalue: float
) -> tuple[float, int, int, float, float]:
    gap = check_positive("smallest_gap", smallest_gap)
    if gap > 1.0:
        raise OptionError(f"smallest_gap must be at most 1, for means lie in an interval of length 1, got {gap:g}")
    value = check_number("smallest_eigenvalue", smallest_eigenvalue, low=0.0)
    d, length = check_whole("n_features", n_features), check_positive("longest", longest)
    return gap, check_rounds(horizon), d, length, value


def _check_free_case(
    horizon: int, n_features: int, longest: float, shortest: float, n_virtual: int, confidence: float
) -> tuple[int, int, float, float, float, float]:
    d, length = check_whole("n_features", n_features), check_positive("longest", longest)
    least = check_number("shortest", shortest, low=0.0)
    if least > length:
        raise OptionError(f"shortest must be at most longest, got {least:g} and {length:g}")
    virtual = check_number("n_virtual", n_virtual, low=0.0)
    beta = check_number("confidence", confidence)
    if beta < linucb_confidence(d, 1.0):
        raise OptionError(f"confidence must be at least 2 d (1 + 2 ln(1/delta)) >= {2 * d}, got {beta:g}")
    spared = min(1.0, least) * 2.0 / length**2 * (math.sqrt(1.0 + virtual * length**2) - 1.0)
    return check_rounds(horizon), d, length, virtual, beta, spared
