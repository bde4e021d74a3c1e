"""LinKnowledgeGradient: deciding by context from a log that may be wrong, exploring as far as users to come gain."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats, Integers, Scratch, Words
from headstart.checks import check_action, check_number, check_whole
from headstart.errors import ContextError
from headstart.estimates.features import disjoint
from headstart.kernels import implements, kernel, play, probabilities, update, withdraw
from headstart.kernels.arrays import make_chances
from headstart.kernels.choice import best_available, draw_available, fill_uniform
from headstart.kernels.random import draw_uniform
from headstart.kernels.ridge import (
    GAIN,
    N_SCRATCH,
    PHI,
    WHITENED,
    add_row,
    dot,
    fill_features,
    padded,
    whiten,
)
from headstart.kernels.tally import Tally, new_tally, update_tally
from headstart.kernels.worth import gain_above
from headstart.oracles.knowledge_gradient import HORIZON
from headstart.oracles.linear import ContextOracle
from headstart.priors.interactions import Interactions
from headstart.priors.linear import LOGGED, LinearPrior, check_models, find_roots, models_of_rows
from headstart.priors.logged import check_trust
from headstart.randomness import RNG, as_words

_LONGEST = 10  # plays that exploring is thought to take: 1, 2, 4, ... 512
_LEAST = 1e-9  # models of a smaller chance are left out


@dataclass(frozen=True)
class LinKnowledgeGradientOptions:
    """How far what is not known yet is explored (docs/reference.md)."""

    reach: float = 0.2  # of the users to come: those to whom what is learnt here is worth what it is to the average
    exploring: float = 0.5  # the chance of exploring where that is worth its price
    last: float = 0.05  # of the horizon, or of the users so far: those to come at least, for a stream that goes on

    def __post_init__(self) -> None:
        for name in ("reach", "exploring", "last"):
            check_number(name, vars(self)[name], 0.0, 1.0)


class LinKnowledgeGradientState(NamedTuple):
    tally: Tally  # users' plays
    theta: Floats  # (K, J, p) centres of the models
    factors: Floats  # (K, J, p, p) S, lower triangular, with V^-1 = S S'
    columns: Integers  # (1, m) phi's columns of x
    weights: Floats  # (1, m)
    scratch: Scratch  # (N_SCRATCH, p)
    pairs: Integers  # (q, 2) phi's products
    pair_centres: Floats  # (q,)
    pair_scales: Floats  # (q,)
    bound: float  # of a column before it is multiplied
    squares: Floats  # (K, J) sums of squared one-step errors, each divided by its 1 + phi'V^-1 phi
    volumes: Floats  # (K, J) sums of ln(1 + phi'V^-1 phi) / 2
    log_priors: Floats  # (K, J) logarithms of the models' chances before any user
    chances: Floats  # (K, J) and now
    variance: float  # of the log's noise; 0: not known, the users' so far stands in
    freedoms: Floats  # (K,) outcomes that it is worth
    horizon: float
    reach: float
    exploring: float
    last: float
    scratch_centres: Scratch  # (K, J) phi'theta
    scratch_squared: Scratch  # (K, J) phi'V^-1 phi
    scratch_crossed: Scratch  # (K, J) |phi'V^-1 e|, e the average user
    scratch_values: Scratch  # (K,) the models' average of phi'theta
    rng: Words  # (4,)


@kernel
def _fill(state: LinKnowledgeGradientState, context: Floats) -> None:
    """phi: the columns of x, then their products."""
    fill_features(state, context, 0)
    phi, m = state.scratch[PHI], state.columns.shape[1]
    for i in range(state.pairs.shape[0]):
        first = max(-state.bound, min(state.bound, context[state.pairs[i, 0]]))
        second = max(-state.bound, min(state.bound, context[state.pairs[i, 1]]))
        phi[m + i] = (first * second - state.pair_centres[i]) * state.pair_scales[i]


@kernel
def _noise(state: LinKnowledgeGradientState) -> float:
    """The prior variance of the noise: the log's, or what the last models left unexplained so far."""
    if state.variance > 0.0:
        return state.variance
    n, unexplained = 0.0, 0.0
    for a in range(state.tally.counts.size):
        n += state.tally.counts[a]
        unexplained += state.squares[a, state.squares.shape[1] - 1]
    return unexplained / n if n > 0.0 else 0.0


@kernel
def _learn(state: LinKnowledgeGradientState, a: int, j: int, outcome: float) -> None:
    """One more row of phi in the scratch for one model, and what it says of the model."""
    phi, gain, theta = state.scratch[PHI], state.scratch[GAIN], state.theta[a, j]
    spread = 1.0 + whiten(state.factors[a, j], phi, state.scratch[WHITENED])
    add_row(state.factors[a, j], state.scratch)
    error = outcome - dot(phi, theta)
    for i in range(theta.size):
        theta[i] += gain[i] * (error / spread)
    state.squares[a, j] += error * error / spread
    state.volumes[a, j] += 0.5 * math.log(spread)


@kernel
def _weigh(state: LinKnowledgeGradientState, a: int, noise: float) -> None:
    """The models' chances: priors times marginal likelihoods with unknown noise (normal-inverse-gamma)."""
    if noise <= 0.0:
        return
    freedom = state.freedoms[a] + state.tally.counts[a]
    chances = state.chances[a]
    top = -np.inf
    for j in range(chances.size):
        squares = state.freedoms[a] * noise + state.squares[a, j]
        chances[j] = state.log_priors[a, j] - state.volumes[a, j] - 0.5 * freedom * math.log(squares)
        top = max(top, chances[j])
    make_chances(chances, top)


@kernel
def _describe(state: LinKnowledgeGradientState, context: Floats, available: Bools) -> None:
    """What every model expects of every action for this user, and how sure it is, into the scratch."""
    _fill(state, context)
    phi, whitened = state.scratch[PHI], state.scratch[WHITENED]
    for a in range(available.size):
        state.scratch_values[a] = 0.0
        if available[a]:
            for j in range(state.chances.shape[1]):
                if state.chances[a, j] > _LEAST:
                    state.scratch_centres[a, j] = dot(phi, state.theta[a, j])
                    state.scratch_squared[a, j] = whiten(state.factors[a, j], phi, whitened)
                    state.scratch_crossed[a, j] = abs(whitened[0] * state.factors[a, j, 0, 0])
                    state.scratch_values[a] += state.chances[a, j] * state.scratch_centres[a, j]


@kernel
def _gain(state: LinKnowledgeGradientState, a: int, best: float, noise: float) -> float:
    """What playing a is worth, per play, to one later user, as far as it may turn out to be better than `best`.

    After m plays the centre of a model will have moved by s Z, s = sigma cross / sqrt(square + 1/m), Z normal, and
    the user gets what it exceeds `best` by: E max(centre + s Z - best, 0). The largest such gain / m.
    """
    freedom = state.freedoms[a] + state.tally.counts[a]
    most, m = 0.0, 1.0
    for _ in range(_LONGEST):
        gain = 0.0
        for j in range(state.chances.shape[1]):
            if state.chances[a, j] > _LEAST:
                variance = (state.freedoms[a] * noise + state.squares[a, j]) / freedom
                s = math.sqrt(variance / (state.scratch_squared[a, j] + 1.0 / m)) * state.scratch_crossed[a, j]
                gain += state.chances[a, j] * gain_above(state.scratch_centres[a, j], s, best)
        most = max(most, gain / m)
        m *= 2.0
    return most


@kernel
def _choose(state: LinKnowledgeGradientState, context: Floats, available: Bools, noise: float) -> tuple[int, int]:
    """The action that looks best for this user, and the one that is worth most with what it teaches."""
    _describe(state, context, available)
    greedy = best_available(state.scratch_values, available)
    n = 0.0
    for a in range(state.tally.counts.size):
        n += state.tally.counts[a]
    users = state.reach * max(state.horizon - n, state.last * max(state.horizon, n))
    chosen, most = greedy, state.scratch_values[greedy]
    for a in range(available.size):
        if available[a] and a != greedy:
            worth = state.scratch_values[a] + users * _gain(state, a, state.scratch_values[greedy], noise)
            if worth > most:
                chosen, most = a, worth
    return greedy, chosen


@implements(play, LinKnowledgeGradientState)
def _play(state: LinKnowledgeGradientState, context: Floats, available: Bools) -> int:
    noise = _noise(state)
    if noise == 0.0:  # no outcome, or none that was not foreseen: nothing tells the actions apart
        return draw_available(draw_uniform(state.rng), available)
    greedy, chosen = _choose(state, context, available, noise)
    return chosen if draw_uniform(state.rng) < state.exploring else greedy


@implements(probabilities, LinKnowledgeGradientState)
def _probabilities(state: LinKnowledgeGradientState, context: Floats, available: Bools, out: Floats) -> None:
    noise = _noise(state)
    if noise == 0.0:
        fill_uniform(available, out)
        return
    out[:] = 0.0
    greedy, chosen = _choose(state, context, available, noise)
    out[greedy] += 1.0 - state.exploring
    out[chosen] += state.exploring


@implements(update, LinKnowledgeGradientState)
def _update(state: LinKnowledgeGradientState, context: Floats, action: int, outcome: float) -> None:
    _fill(state, context)
    for j in range(state.chances.shape[1]):
        _learn(state, action, j, outcome)
    update_tally(state, context, action, outcome)
    _weigh(state, action, _noise(state))


@implements(withdraw, LinKnowledgeGradientState)
def _withdraw(state: LinKnowledgeGradientState, action: int) -> None:
    last = state.chances.shape[1] - 1
    for j in range(last + 1):
        state.log_priors[action, j] = 0.0 if j == last else -np.inf
        state.chances[action, j] = 1.0 if j == last else 0.0


class LinKnowledgeGradient(ContextOracle[LinKnowledgeGradientState]):
    """Several Bayesian linear models per action, from one that believes the log to one that does not, weighed by
    evidence; the average decides, and what is worth learning is tried.

    Each outcome updates every model of its action and re-weighs them by their marginal likelihood, the noise's
    variance unknown: a log in conflict with users fades by itself, as far as it is wrong (`priors.linear`). A user
    gets the action of the largest expected outcome or, with chance 1/2 where it is another, the one of the largest
    expected outcome + users x gain: what a few plays of it would be worth to the average user (the knowledge gradient
    per play, as in KnowledgeGradient), counted for a fifth of the users to come. Users differ and so explore by
    themselves: Thompson sampling was measured to explore too much here.

    `probabilities` are exact by construction: 1, or 1/2 and 1/2. Cost: O(J m^2) an action.

    Parameters
    ----------
    models
        What is known before any user. The last model is the one that does without the log.
    horizon
        Users to come; once they have come, a twentieth of those so far.
    options
        How far to explore.

    See also `from_rows`. The first column of a context is the constant 1; the others should be in standard units.
    """

    def __init__(
        self,
        models: LinearPrior,
        *,
        horizon: int = HORIZON,
        options: LinKnowledgeGradientOptions = LinKnowledgeGradientOptions(),
        rng: RNG = None,
    ) -> None:
        k, n_models, m = check_models(models)
        products = models.interactions
        features = disjoint(k, check_whole("columns without interactions", m - len(products.pairs)))
        p = padded(m)
        theta, factors = np.zeros((k, n_models, p)), np.zeros((k, n_models, p, p))
        theta[..., :m], factors[..., :m, :m] = models.centres, find_roots(models)
        with np.errstate(divide="ignore"):
            log_priors = np.log(np.array(models.chances, dtype=np.float64))
        state = LinKnowledgeGradientState(
            new_tally(k),
            theta,
            factors,
            features.columns.copy(),
            features.weights.copy(),
            np.zeros((N_SCRATCH, p)),
            np.array(products.pairs, dtype=np.int64),
            np.array(products.centres, dtype=np.float64),
            np.array(products.scales, dtype=np.float64),
            float(products.bound),
            np.zeros((k, n_models)),
            np.zeros((k, n_models)),
            log_priors,
            np.exp(log_priors),
            float(models.variance),
            np.array(models.freedoms, dtype=np.float64),
            float(check_whole("horizon", horizon)),
            options.reach,
            options.exploring,
            options.last,
            np.zeros((k, n_models)),
            np.zeros((k, n_models)),
            np.zeros((k, n_models)),
            np.zeros(k),
            as_words(rng),
        )
        super().__init__(features, state)

    @classmethod
    def from_rows(
        cls,
        contexts: ArrayLike,
        actions: ArrayLike,
        outcomes: ArrayLike,
        n_actions: int,
        *,
        trust: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        interactions: Interactions | None = None,
        horizon: int = HORIZON,
        rng: RNG = None,
    ) -> Self:
        """From a log's rows in memory.

        Parameters
        ----------
        contexts
            (n, d + 1): a constant 1, then columns in standard units.
        trust
            The chance that the log is right about an action: one number in [0, 1], or one per action; 1 - 0.4 / K by
            default.
        weights
            How often each row counts; once by default.
        interactions
            Products of columns to add to them.
        """
        x = np.asarray(contexts, dtype=np.float64)
        seen = x if interactions is None else interactions.expand(x)
        models = models_of_rows(seen, actions, outcomes, n_actions, check_trust(trust, n_actions), weights)
        if interactions is not None:
            models = replace(models, interactions=interactions)
        return cls(models, horizon=horizon, rng=rng)

    @property
    def trust(self) -> Floats:
        """The chance, by now, that the log is right about each action, (K,)."""
        return np.array(self._state.chances[:, LOGGED])

    @property
    def chances(self) -> Floats:
        """The chance of each model of each action by now, (K, J)."""
        return np.array(self._state.chances)

    @property
    def theta(self) -> Floats:
        """The models' average of the parameters, (K, m + q)."""
        m = self._length
        return np.array(np.einsum("kj,kjm->km", self._state.chances, self._state.theta[..., :m]))

    @property
    def inverses(self) -> Floats:
        """V^-1 of each model, (K, J, m + q, m + q)."""
        factors = self._state.factors[..., : self._length, : self._length]
        return np.array(factors @ factors.transpose(0, 1, 3, 2))

    def predict(self, contexts: ArrayLike) -> tuple[Floats, Floats]:
        """Per context and action, (n, K) each: the expected outcome and its standard deviation, models averaged."""
        rows = np.ascontiguousarray(contexts, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features or not np.isfinite(rows).all():
            raise ContextError(f"contexts must be a finite matrix of {self.n_features} columns, got {rows.shape}")
        state = self._state
        phi = Interactions(state.pairs, state.pair_centres, state.pair_scales, state.bound).expand(rows)
        centres = np.einsum("nm,kjm->nkj", phi, state.theta[..., : self._length])
        squares = np.einsum("nm,kjml,nl->nkj", phi, self.inverses, phi, optimize=True)
        freedoms = (state.freedoms + state.tally.counts)[:, None]
        variances = (state.freedoms[:, None] * _noise(state) + state.squares) / freedoms
        means = (state.chances * centres).sum(axis=2)
        spread = (state.chances * (variances * squares + (centres - means[..., None]) ** 2)).sum(axis=2)
        return means, np.sqrt(spread)

    def withdraw(self, action: int) -> None:
        """Forget what the log said of an action; what users did stays."""
        _withdraw(self._state, check_action(action, self.n_actions))

    @property
    def _length(self) -> int:
        return int(self._state.columns.shape[1] + self._state.pairs.shape[0])
