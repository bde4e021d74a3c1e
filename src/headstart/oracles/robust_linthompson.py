"""RobustLinThompson: prototype."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.checks import check_action, check_number
from headstart.errors import OptionError
from headstart.features import check_features
from headstart.kernels import implements, kernel, play, probabilities, update
from headstart.kernels.best import draw_available
from headstart.kernels.linear import GAIN, PHI, WHITENED, add_row, dot, fill_features, padded, whiten
from headstart.kernels.random import draw_student, draw_uniform
from headstart.kernels.tally import update_tally
from headstart.oracles.linear import LinearOracle, new_linear
from headstart.oracles.linear_models import LOGGED, LinearModels, models_of_rows
from headstart.oracles.robust_thompson import check_trust
from headstart.randomness import RNG, as_words

Floats = NDArray[np.float64]
TRUST = 0.75
_ROOT_2, _ROOT_2PI = math.sqrt(2.0), math.sqrt(2.0 * math.pi)


class Products(NamedTuple):
    pairs: NDArray[np.int64]  # (q, 2)
    centres: Floats  # (q,)
    scales: Floats  # (q,)

    def expand(self, contexts: Floats) -> Floats:
        added = contexts[:, self.pairs[:, 0]] * contexts[:, self.pairs[:, 1]]
        return np.column_stack([contexts, (added - self.centres) * self.scales])


class RobustLinThompsonState(NamedTuple):
    counts: Floats
    sums: Floats
    means: Floats
    theta: Floats  # (K, J, p)
    factors: Floats  # (K, J, p, p)
    groups: NDArray[np.int64]
    columns: NDArray[np.int64]
    weights: Floats
    scratch: Floats
    pairs: NDArray[np.int64]
    pair_centres: Floats
    pair_scales: Floats
    squares: Floats  # (K, J)
    volumes: Floats  # (K, J)
    log_priors: Floats  # (K, J)
    chances: Floats  # (K, J)
    centres: Floats  # (K, J) scratch
    spreads: Floats  # (K, J) scratch
    crosses: Floats  # (K, J) scratch
    values: Floats  # (K,) scratch
    variance: float
    freedoms: Floats
    horizon: float
    reach: float
    exploration: float  # Thompson factor; 0: greedy with index
    share: float
    rng: NDArray[np.uint64]


@kernel
def _noise(state: Any) -> float:
    if state.variance > 0.0:
        return state.variance
    n, unexplained = 0.0, 0.0
    last = state.squares.shape[1] - 1
    for a in range(state.counts.size):
        n += state.counts[a]
        unexplained += state.squares[a, last]
    return unexplained / n if n > 0.0 else 0.0


@kernel
def _fill(state: Any, context: Any) -> None:
    fill_features(state, context, 0)
    phi, m = state.scratch[PHI], context.size
    for i in range(state.pairs.shape[0]):
        product = context[state.pairs[i, 0]] * context[state.pairs[i, 1]]
        phi[m + i] = (product - state.pair_centres[i]) * state.pair_scales[i]


@kernel
def _learn(theta: Any, factor: Any, scratch: Any, outcome: float, squares: Any, volumes: Any, j: int) -> None:
    phi, gain = scratch[PHI], scratch[GAIN]
    spread = 1.0 + whiten(factor, phi, scratch[WHITENED])
    add_row(factor, scratch)
    error = outcome - dot(phi, theta)
    for i in range(theta.size):
        theta[i] += gain[i] * (error / spread)
    squares[j] += error * error / spread
    volumes[j] += 0.5 * math.log(spread)


@kernel
def _weigh(state: Any, action: int, noise: float) -> None:
    freedom = state.freedoms[action] + state.counts[action]
    base = state.freedoms[action] * noise
    if base <= 0.0:
        return
    chances = state.chances[action]
    top = -np.inf
    for j in range(chances.size):
        chances[j] = state.log_priors[action, j] - state.volumes[action, j]
        chances[j] -= 0.5 * freedom * math.log(base + state.squares[action, j])
        top = max(top, chances[j])
    total = 0.0
    for j in range(chances.size):
        chances[j] = math.exp(chances[j] - top)
        total += chances[j]
    for j in range(chances.size):
        chances[j] /= total


@kernel
def _describe(state: Any, context: Any, available: Any, noise: float) -> None:
    _fill(state, context)
    phi, whitened = state.scratch[PHI], state.scratch[WHITENED]
    for a in range(available.size):
        if available[a]:
            state.values[a] = 0.0
            for j in range(state.chances.shape[1]):
                state.centres[a, j] = dot(phi, state.theta[a, j])
                state.values[a] += state.chances[a, j] * state.centres[a, j]
                state.spreads[a, j] = whiten(state.factors[a, j], phi, whitened) if state.chances[a, j] > 1e-9 else 0.0
                state.crosses[a, j] = state.spreads[a, j]
                if state.exploration < 0.0:
                    state.crosses[a, j] = abs(whitened[0] * state.factors[a, j, 0, 0])


@kernel
def _worth(state: Any, a: int, best: float, noise: float) -> float:
    """What one more outcome of a is worth to a later user such as this."""
    freedom = state.freedoms[a] + state.counts[a]
    most = 0.0
    m = 1.0
    for _ in range(10):
        gain = 0.0
        for j in range(state.chances.shape[1]):
            if state.chances[a, j] > 1e-9 and state.spreads[a, j] > 0.0:
                variance = (state.freedoms[a] * noise + state.squares[a, j]) / freedom
                v = state.spreads[a, j]
                s = math.sqrt(variance) * max(state.crosses[a, j], 1e-12) / math.sqrt(v + 1.0 / m)
                z = (state.centres[a, j] - best) / s
                gain += state.chances[a, j] * s * (
                    math.exp(-0.5 * z * z) / _ROOT_2PI + z * 0.5 * math.erfc(-z / _ROOT_2)
                )
        most = max(most, gain / m)
        m *= 2.0
    return most


@kernel
def _two(state: Any, available: Any, noise: float) -> tuple[int, int]:
    greedy = -1
    n = 0.0
    for a in range(available.size):
        n += state.counts[a]
        if available[a] and (greedy < 0 or state.values[a] > state.values[greedy]):
            greedy = a
    left = state.reach * max(state.horizon - n, 0.05 * state.horizon)
    best = state.values[greedy]
    chosen, top = greedy, best
    for a in range(available.size):
        if available[a] and a != greedy:
            score = state.values[a] + left * _worth(state, a, best, noise)
            if score > top:
                chosen, top = a, score
    return greedy, chosen


@implements(play, RobustLinThompsonState)
def _play(state: Any, context: Any, available: Any) -> Any:
    noise = _noise(state)
    if noise == 0.0:
        return draw_available(draw_uniform(state.rng), available)
    _describe(state, context, available, noise)
    if state.exploration > 0.0:
        best = -1
        best_draw = -np.inf
        for a in range(available.size):
            if available[a]:
                left = draw_uniform(state.rng)
                j = 0
                while j < state.chances.shape[1] - 1 and left >= state.chances[a, j]:
                    left -= state.chances[a, j]
                    j += 1
                freedom = state.freedoms[a] + state.counts[a]
                variance = (state.freedoms[a] * noise + state.squares[a, j]) / freedom
                draw = state.centres[a, j] + state.exploration * math.sqrt(variance * state.spreads[a, j]) * draw_student(state.rng, freedom)
                if best < 0 or draw > best_draw:
                    best, best_draw = a, draw
        return best
    greedy, chosen = _two(state, available, noise)
    if draw_uniform(state.rng) < state.share:
        return chosen
    return greedy


@implements(update, RobustLinThompsonState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    _fill(state, context)
    for j in range(state.chances.shape[1]):
        _learn(state.theta[action, j], state.factors[action, j], state.scratch, outcome, state.squares[action], state.volumes[action], j)
    update_tally(state, context, action, outcome)
    _weigh(state, action, _noise(state))


class RobustLinThompson(LinearOracle):
    def __init__(self, models: LinearModels, products=None, *, horizon: int = 10_000, reach=1.0, exploration=0.0, share=0.5, rng: RNG = None) -> None:
        k, j, m = models.centres.shape
        if products is None:
            products = Products(np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0))
        phi = check_features(None, k, m - len(products.pairs))
        counts, totals, means, _, _, groups, columns, weights, scratch = new_linear(phi, 1.0)
        p = padded(m)
        scratch = np.zeros((5, p))
        theta, factors = np.zeros((k, j, p)), np.zeros((k, j, p, p))
        theta[..., :m] = models.centres
        factors[..., :m, :m] = np.linalg.cholesky(models.inverses)
        with np.errstate(divide="ignore"):
            log_priors = np.log(models.chances)
        state = RobustLinThompsonState(
            counts, totals, means, theta, factors, groups, columns, weights, scratch, *products,
            np.zeros((k, j)), np.zeros((k, j)), log_priors, models.chances.copy(), np.zeros((k, j)), np.zeros((k, j)), np.zeros((k, j)), np.zeros(k),
            float(models.variance), models.freedoms.copy(), float(horizon), float(reach), float(exploration), float(share), as_words(rng),
        )
        super().__init__(phi, state)

    @classmethod
    def from_rows(cls, contexts, actions, outcomes, n_actions, *, trust=TRUST, weights=None, products=None, **settings) -> Self:
        if products is not None: contexts = products.expand(contexts); settings['products']=products
        return cls(models_of_rows(contexts, actions, outcomes, n_actions, check_trust(trust, n_actions), weights), **settings)
