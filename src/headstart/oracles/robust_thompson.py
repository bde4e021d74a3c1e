"""RobustThompson: Thompson sampling whose prior is the log, as far as the log is trusted."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.checks import check_action, check_n_actions, check_number
from headstart.errors import OptionError
from headstart.kernels import absorb, implements, kernel, play, probabilities, update, withdraw
from headstart.kernels.best import draw_available
from headstart.kernels.mixtures import Mixtures, probability_of_best_mixture
from headstart.kernels.moments import absorb_moments, new_moments, pooled_variance, update_moments
from headstart.kernels.random import draw_student, draw_uniform
from headstart.oracles.compiled import CompiledOracle
from headstart.randomness import RNG, as_words
from headstart.summary import Summary

Floats = NDArray[np.float64]

TRUST = 0.7
RIVAL_SHARE = 0.8
RIVAL_WIDTH = 0.35  # of the spread S: how far from the best action's mean a rival's may be
# Standard errors by which the cap is above a draw from users alone: little for an action that the log holds for
# inferior, more for its best one, which a few bad outcomes should not end.
ALLOWANCE, TOP_ALLOWANCE = 0.5, 1.5
POOLING = 8.0  # outcomes' worth of the pooled variance in each action's own, as in ThompsonNormal
MOST_FREEDOM = 30.0  # outcomes' worth of the log's variance at most: users correct a wrong one soon

LOGGED, RIVAL, VAGUE = range(3)  # the prior's components


class TrustReadings(NamedTuple):
    """What RobustThompson believes, per action, (K,) each, for people and pages."""

    counts: Floats  # online plays
    means: Floats  # of the posterior
    lower: Floats  # means - 1.96 standard errors
    upper: Floats
    standard_errors: Floats  # the posterior's standard deviation
    trust: Floats  # the chance, by now, that the log is right about the action


class RobustThompsonState(NamedTuple):
    counts: Floats  # (K,) online plays
    sums: Floats  # (K,)
    means: Floats  # (K,)
    squares: Floats  # (K,) squared deviations from the mean
    centres: Floats  # (K, 3) of the prior's components
    sizes: Floats  # (K, 3) plays that they are worth
    log_priors: Floats  # (K, 3) logarithms of their chances
    log_others: Floats  # (3,) the same without the log
    variances: Floats  # (K,) prior variance of an outcome; 0: unknown, the users' so far stands in
    freedoms: Floats  # (K,) outcomes that the prior variance is worth
    weights: Floats  # (K, 3) chances of the components by now
    locations: Floats  # (K, 3) their posterior means
    scales: Floats  # (K, 3) and scales; 0: all outcomes were equal so far
    caps: Floats  # (K,) the scale of the cap above the users' mean; infinite: none
    allowances: Floats  # (K,) of the cap, in its scales
    is_capped: NDArray[np.bool_]  # (K,)
    rng: NDArray[np.uint64]  # (4,)


@kernel
def _weigh(state: Any, a: int, variance: float) -> None:
    """Posterior of each component of action a: normal-inverse-gamma, weighed by its marginal likelihood."""
    n, mean = state.counts[a], state.means[a]
    freedom = state.freedoms[a] + n
    top = -np.inf
    for j in range(3):
        size = state.sizes[a, j] + n
        apart = mean - state.centres[a, j]
        squares = state.freedoms[a] * variance + state.squares[a] + state.sizes[a, j] * n / size * apart * apart
        state.locations[a, j] = (state.sizes[a, j] * state.centres[a, j] + n * mean) / size
        state.scales[a, j] = math.sqrt(squares / (freedom * size))
        evidence = 0.5 * math.log(state.sizes[a, j] / size) - 0.5 * freedom * math.log(squares)
        state.weights[a, j] = state.log_priors[a, j] + evidence
        top = max(top, state.weights[a, j])
    total = 0.0
    for j in range(3):
        state.weights[a, j] = math.exp(state.weights[a, j] - top)
        total += state.weights[a, j]
    for j in range(3):
        state.weights[a, j] /= total
    if state.is_capped[a] and n > 0.0:
        state.caps[a] = math.sqrt((state.freedoms[a] * variance + state.squares[a]) / (freedom * n))


@kernel
def _refresh(state: Any, action: int) -> None:
    if state.variances[action] > 0.0:
        _weigh(state, action, state.variances[action])
        return
    variance = pooled_variance(state)
    if variance > 0.0:
        for a in range(state.counts.size):
            _weigh(state, a, variance)


@implements(play, RobustThompsonState)
def _play(state: Any, context: Any, available: Any) -> Any:
    if state.scales[0, 0] == 0.0:  # all outcomes so far are one number
        return draw_available(draw_uniform(state.rng), available)
    best = -1
    best_draw = -np.inf
    for a in range(available.size):
        if available[a]:
            left = draw_uniform(state.rng)
            j = LOGGED
            while j < VAGUE and left >= state.weights[a, j]:
                left -= state.weights[a, j]
                j += 1
            freedom = state.freedoms[a] + state.counts[a]
            draw = state.locations[a, j] + state.scales[a, j] * draw_student(state.rng, freedom)
            if state.caps[a] < np.inf:
                above = state.allowances[a] + abs(draw_student(state.rng, freedom))
                draw = min(draw, state.means[a] + state.caps[a] * above)
            if best < 0 or draw > best_draw:
                best = a
                best_draw = draw
    return best


@implements(probabilities, RobustThompsonState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    if state.scales[0, 0] == 0.0:
        n_left = 0.0
        for a in range(available.size):
            out[a] = 1.0 if available[a] else 0.0
            n_left += out[a]
        out /= n_left
        return
    freedoms = state.freedoms + state.counts
    cap_centres = state.means + state.allowances * state.caps
    draws = Mixtures(state.weights, state.locations, state.scales, freedoms, cap_centres, state.caps)
    probability_of_best_mixture(draws, available, out)


@implements(update, RobustThompsonState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    update_moments(state, context, action, outcome)
    _refresh(state, action)


@implements(absorb, RobustThompsonState)
def _absorb(state: Any, context: Any, action: Any, outcome: Any, variance: Any) -> None:
    absorb_moments(state, context, action, outcome, variance)
    _refresh(state, action)


@implements(withdraw, RobustThompsonState)
def _withdraw(state: Any, action: Any) -> None:
    for j in range(3):
        state.log_priors[action, j] = state.log_others[j]
    _refresh(state, action)


class RobustThompson(CompiledOracle):
    """Thompson sampling that starts from a log and lets users overrule it (after Schmidli et al. 2014).

    Before any user, the mean of an action is, with chance `trust`, what the log says: N(m_a, s_a^2). Otherwise the
    log is wrong about it: it is a rival, N(M, (0.35 S)^2) around the largest mean M of the log, or anything,
    N(centre, S^2) around their average; S^2 = the outcomes' variance + the variance of the log's means between
    actions. Each outcome re-weighs the three by their marginal likelihood, so a log in conflict with users fades by
    itself. A play draws a component, then a mean from its posterior, per action; no draw exceeds an optimistic one of
    the users alone, ȳ_a + sqrt(v_a / n_a) (1/2 + |t|): a log can make an action look better than its users do only
    for as long as they are few.

    The rival is what protects a best action that the log makes look bad: the one mistake that no outcome reveals
    unless the action is played. METHODS.md has the measured frontier and where the default trust stands on it.

    `probabilities` are computed by quadrature, to 1e-8, not sampled.

    Parameters
    ----------
    summary
        What the log knows of each action (`evaluator.summary()`). An action it does not show has no logged component.
        Outcomes are normal with the log's variance, which counts as 30 outcomes at most and is corrected by users.
    trust
        The chance that the log is right about an action: one number in [0, 1], or one per action (the audit suggests
        them). 1: nothing but the log, without a cap. 0: the log serves only for the scale.
    rival_share
        Of the distrust, how much goes to the rival; the rest is vague. 0 is the mixture of Schmidli et al.
    is_capped
        False leaves the cap out.
    """

    def __init__(
        self,
        n_actions: int,
        summary: Summary,
        *,
        trust: ArrayLike = TRUST,
        rival_share: float = RIVAL_SHARE,
        is_capped: bool = True,
        rng: RNG = None,
    ) -> None:
        n = check_n_actions(n_actions)
        chances = check_trust(trust, n)
        share = check_number("rival_share", rival_share, low=0.0, high=1.0)
        with np.errstate(divide="ignore"):
            others = np.log([0.0, share, 1.0 - share])
        prior = _new_prior(check_known(summary, n), chances, share)
        shape = prior[0].shape
        state = RobustThompsonState(
            *new_moments(n),
            *prior[:3],
            others,
            *prior[3:],
            np.exp(prior[2]),
            prior[0].copy(),
            np.zeros(shape),
            np.full(n, np.inf),
            np.where(prior[0][:, LOGGED] >= prior[0][:, RIVAL], TOP_ALLOWANCE, ALLOWANCE),
            (chances < 1.0) & bool(is_capped),
            as_words(rng),
        )
        super().__init__(n, state)
        for a in range(n):
            _refresh(state, a)

    def withdraw(self, action: int) -> None:
        """Forget what the log said of an action; what users did stays."""
        _withdraw(self._state, check_action(action, self.n_actions))

    def readings(self) -> TrustReadings:  # type: ignore[override]
        """Posterior mean and standard error per action, and how far the log is still trusted."""
        state = self._state
        freedom = (state.freedoms + state.counts)[:, None]
        means = (state.weights * state.locations).sum(axis=1)
        around = (state.locations - means[:, None]) ** 2
        errors = np.sqrt((state.weights * (state.scales**2 * freedom / (freedom - 2.0) + around)).sum(axis=1))
        half = 1.959963984540054 * errors
        trust = state.weights[:, LOGGED].copy()
        return TrustReadings(state.counts.copy(), means, means - half, means + half, errors, trust)


def check_trust(trust: ArrayLike, n_actions: int) -> Floats:
    """A chance per action, (K,), from one number or one for each."""
    try:
        chances = np.broadcast_to(np.asarray(trust, dtype=np.float64), (n_actions,)).copy()
    except (TypeError, ValueError):
        raise OptionError(f"trust must be a number or {n_actions} of them, got {trust!r}") from None
    if not ((chances >= 0.0) & (chances <= 1.0)).all():
        raise OptionError(f"trust must be in [0, 1], got {trust!r}")
    return chances


def check_known(summary: Summary, n_actions: int) -> tuple[Floats, Floats, Floats]:
    """Means, effective sizes and variances, (K,) each; size 0 for an action of which the log knows nothing."""
    if not isinstance(summary, Summary):
        raise OptionError(f"summary must be a Summary (evaluator.summary()), got {type(summary).__name__}")
    if summary.n_actions != n_actions:
        raise OptionError(f"summary must be of {n_actions} actions, got {summary.n_actions}")
    sizes = np.asarray(summary.effective_sizes, dtype=np.float64)
    is_known = (sizes > 0.0) & np.isfinite(summary.means) & np.isfinite(summary.variances)
    means, variances = np.where(is_known, summary.means, 0.0), np.where(is_known, summary.variances, 0.0)
    return means, np.where(is_known, sizes, 0.0), variances


def _new_prior(
    known: tuple[Floats, Floats, Floats], trust: Floats, rival_share: float
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Centres, sizes, log chances (K, 3), prior variances and their freedoms (K,)."""
    means, sizes, variances = known
    n = sizes.size
    is_known = sizes > 0.0
    centre, top, between = 0.0, 0.0, 0.0
    if is_known.any():
        centre, top = float(means[is_known].mean()), float(means[is_known].max())
        between = float(((means[is_known] - centre) ** 2).sum() / max(is_known.sum() - 1, 1))
    own = np.maximum(sizes - 1.0, 0.0)
    pooled = (float((own * variances).sum()) + between) / (float(own.sum()) + 1.0)
    variance = (own * variances + POOLING * pooled) / (own + POOLING)
    unit = variance / (pooled + between) if pooled > 0.0 else np.ones(n)  # plays that N(., S^2) is worth
    wrong = 1.0 - np.where(is_known, trust, 0.0)
    chances = np.stack([1.0 - wrong, wrong * rival_share, wrong * (1.0 - rival_share)], axis=1)
    with np.errstate(divide="ignore"):
        log_priors = np.log(chances)
    centres = np.stack([np.where(is_known, means, centre), np.full(n, top), np.full(n, centre)], axis=1)
    plays = np.stack([np.where(is_known, sizes, unit), unit / RIVAL_WIDTH**2, unit], axis=1)
    freedoms = np.clip(own, POOLING, MOST_FREEDOM) if pooled > 0.0 else np.full(n, POOLING)
    return centres, plays, log_priors, variance, freedoms
