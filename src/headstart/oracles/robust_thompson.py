"""RobustThompson: Thompson sampling whose prior is the log, as far as the log is trusted."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.checks import check_action, check_n_actions
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

TRUST = 0.8
POOLING = 8.0  # outcomes' worth of the pooled variance in each action's own, as in ThompsonNormal
MOST_FREEDOM = 30.0  # outcomes' worth of the log's variance at most: users correct a wrong one soon


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
    centres: Floats  # (K, J) of the prior's components
    sizes: Floats  # (K, J) plays that they are worth
    log_priors: Floats  # (K, J) logarithms of their chances
    variances: Floats  # (K,) prior variance of an outcome; all 0: unknown, taken from the users
    freedoms: Floats  # (K,) outcomes that the prior variance is worth
    weights: Floats  # (K, J) chances of the components by now
    locations: Floats  # (K, J) their posterior means
    scales: Floats  # (K, J) and scales
    rng: NDArray[np.uint64]  # (4,)


@kernel
def _weigh(state: Any, a: int, variance: float) -> None:
    """Posterior of each component of action a: normal-inverse-gamma, weighed by its marginal likelihood."""
    n, mean = state.counts[a], state.means[a]
    freedom = state.freedoms[a] + n
    n_components = state.sizes.shape[1]
    top = -np.inf
    for j in range(n_components):
        size = state.sizes[a, j] + n
        apart = mean - state.centres[a, j]
        squares = state.freedoms[a] * variance + state.squares[a] + state.sizes[a, j] * n / size * apart * apart
        state.locations[a, j] = (state.sizes[a, j] * state.centres[a, j] + n * mean) / size
        state.scales[a, j] = math.sqrt(squares / (freedom * size))
        evidence = 0.5 * math.log(state.sizes[a, j] / size) - 0.5 * freedom * math.log(squares)
        state.weights[a, j] = state.log_priors[a, j] + evidence
        top = max(top, state.weights[a, j])
    total = 0.0
    for j in range(n_components):
        state.weights[a, j] = math.exp(state.weights[a, j] - top)
        total += state.weights[a, j]
    for j in range(n_components):
        state.weights[a, j] /= total


@kernel
def _refresh(state: Any, action: int) -> None:
    if state.variances[action] > 0.0:
        _weigh(state, action, state.variances[action])
        return
    variance = pooled_variance(state)  # the log shows no variance: that of the users so far stands in
    if variance > 0.0:
        for a in range(state.counts.size):
            _weigh(state, a, variance)


@implements(play, RobustThompsonState)
def _play(state: Any, context: Any, available: Any) -> Any:
    best = -1
    best_draw = -np.inf
    for a in range(available.size):
        if available[a]:
            if state.scales[a, 0] == 0.0:
                return draw_available(draw_uniform(state.rng), available)
            left = draw_uniform(state.rng)
            j = 0
            while j < state.weights.shape[1] - 1 and left >= state.weights[a, j]:
                left -= state.weights[a, j]
                j += 1
            freedom = state.freedoms[a] + state.counts[a]
            draw = state.locations[a, j] + state.scales[a, j] * draw_student(state.rng, freedom)
            if best < 0 or draw > best_draw:
                best = a
                best_draw = draw
    return best


@implements(probabilities, RobustThompsonState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    n_actions = available.size
    if state.scales[0, 0] == 0.0:
        out[:] = 0.0
        n_left = 0.0
        for a in range(n_actions):
            if available[a]:
                out[a] = 1.0
                n_left += 1.0
        out /= n_left
        return
    freedoms = np.empty(n_actions)
    for a in range(n_actions):
        freedoms[a] = state.freedoms[a] + state.counts[a]
    nothing = np.full(n_actions, np.inf)
    draws = Mixtures(state.weights, state.locations, state.scales, freedoms, nothing, nothing)
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
    for j in range(state.sizes.shape[1] - 1):
        state.log_priors[action, j] = -np.inf
    _refresh(state, action)


class RobustThompson(CompiledOracle):
    """Per action, with chance `trust` the log's mean and standard error, otherwise a vague prior; users re-weigh them.

    Parameters
    ----------
    summary
        What the log knows of each action (`evaluator.summary()`).
    trust
        The chance that the log is right about an action: one number in [0, 1], or one per action (`audit` suggests
        them).
    """

    def __init__(
        self, n_actions: int, summary: Summary, *, trust: ArrayLike = TRUST, rng: RNG = None
    ) -> None:
        n = check_n_actions(n_actions)
        chances = check_trust(trust, n)
        prior = _new_prior(_check_summary(summary, n), chances)
        shape = prior[0].shape
        state = RobustThompsonState(
            *new_moments(n), *prior, np.exp(prior[2]), prior[0].copy(), np.zeros(shape), as_words(rng)
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
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = np.where(freedom > 2.0, freedom / (freedom - 2.0), np.nan)
        means = (state.weights * state.locations).sum(axis=1)
        squares = state.weights * (state.scales**2 * spread + (state.locations - means[:, None]) ** 2)
        errors = np.sqrt(squares.sum(axis=1))
        trust = 1.0 - state.weights[:, -1]
        return TrustReadings(
            state.counts.copy(), means, means - 1.96 * errors, means + 1.96 * errors, errors, trust
        )


def check_trust(trust: ArrayLike, n_actions: int) -> Floats:
    """A chance per action, (K,), from one number or one for each."""
    try:
        chances = np.broadcast_to(np.asarray(trust, dtype=np.float64), (n_actions,)).copy()
    except (TypeError, ValueError):
        raise OptionError(f"trust must be a number or {n_actions} of them, got {trust!r}") from None
    if not ((chances >= 0.0) & (chances <= 1.0)).all():
        raise OptionError(f"trust must be in [0, 1], got {trust!r}")
    return chances


def _check_summary(summary: Summary, n_actions: int) -> tuple[Floats, Floats, Floats]:
    """Means, effective sizes and variances, (K,) each; size 0 for an action of which the log knows nothing."""
    if not isinstance(summary, Summary):
        raise OptionError(f"summary must be a Summary (evaluator.summary()), got {type(summary).__name__}")
    if summary.n_actions != n_actions:
        raise OptionError(f"summary must be of {n_actions} actions, got {summary.n_actions}")
    sizes = np.asarray(summary.effective_sizes, dtype=np.float64)
    is_known = (sizes > 0.0) & np.isfinite(summary.means) & np.isfinite(summary.variances)
    means, variances = np.where(is_known, summary.means, 0.0), np.where(is_known, summary.variances, 0.0)
    return means, np.where(is_known, sizes, 0.0), variances


def _new_prior(known: tuple[Floats, Floats, Floats], trust: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Centres, sizes, log chances (K, 2), prior variances and their freedoms (K,)."""
    means, sizes, variances = known
    n_actions = sizes.size
    is_known = sizes > 0.0
    centre = float(means[is_known].mean()) if is_known.any() else 0.0
    between = float(((means[is_known] - centre) ** 2).sum() / max(is_known.sum() - 1, 1))
    own = np.maximum(sizes - 1.0, 0.0)
    pooled = (float((own * variances).sum()) + between) / (float(own.sum()) + 1.0)
    variance = (own * variances + POOLING * pooled) / (own + POOLING)
    ratio = variance / (variance + between) if pooled > 0.0 else np.ones(n_actions)
    centres = np.stack([np.where(is_known, means, centre), np.full(n_actions, centre)], axis=1)
    components = np.stack([np.where(is_known, sizes, ratio), ratio], axis=1)
    chances = np.where(is_known, trust, 0.0)
    with np.errstate(divide="ignore"):
        log_priors = np.log(np.stack([chances, 1.0 - chances], axis=1))
    freedoms = np.clip(own, POOLING, MOST_FREEDOM) if pooled > 0.0 else np.full(n_actions, POOLING)
    return centres, components, log_priors, variance, freedoms
