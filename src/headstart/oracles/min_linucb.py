"""MinLinUCB: LinUCB with a bound that a log may lower and never raise (MinUCB for linear models)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats
from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.estimates.features import Features, check_features
from headstart.kernels import implements, play, probabilities, update
from headstart.kernels.arrays import total
from headstart.kernels.ridge import (
    PHI,
    WHITENED,
    Ridge,
    dot,
    factors_of,
    fill_own,
    fill_shared,
    learn,
    learn_and_count,
    whiten,
)
from headstart.kernels.tally import Tally, least_played
from headstart.oracles.linear import LinearOracle, new_linear
from headstart.oracles.scores import choose_surely, play_largest, score


class MinLinUCBState(NamedTuple):
    tally: Tally
    ridge: Ridge
    online_theta: Floats  # (G, p) of users alone
    online_factors: Floats  # (G, p, p)
    beta: float
    bias_bound: float
    forced: float


@implements(score, MinLinUCBState)
def _score(state: MinLinUCBState, context: Floats, action: int, level: float) -> float:
    """min(online bound, pooled bound + V times the log's share)."""
    ridge = state.ridge
    fill_own(ridge, context, action)
    phi, whitened, group = ridge.scratch[PHI], ridge.scratch[WHITENED], ridge.groups[action]
    square = whiten(state.online_factors[group], phi, whitened)
    online = dot(phi, state.online_theta[group]) + state.beta * math.sqrt(square)
    pooled_square = whiten(ridge.factors[group], phi, whitened)
    share = 1.0 - pooled_square / square if square > 0.0 else 0.0
    pooled = dot(phi, ridge.theta[group]) + state.beta * math.sqrt(pooled_square)
    return min(online, pooled + state.bias_bound * max(share, 0.0))


@implements(play, MinLinUCBState)
def _play(state: MinLinUCBState, context: Floats, available: Bools) -> int:
    counts = state.tally.counts
    rarest = least_played(counts, available)
    if counts[rarest] < state.forced * math.log1p(total(counts)):
        return rarest
    fill_shared(state.ridge, context)
    return play_largest(state, context, available)


implements(probabilities, MinLinUCBState, allocates=False)(choose_surely)


@implements(update, MinLinUCBState)
def _update(state: MinLinUCBState, context: Floats, action: int, outcome: float) -> None:
    ridge = state.ridge
    online = Ridge(
        state.online_theta, state.online_factors, ridge.groups, ridge.columns, ridge.weights, ridge.scratch
    )
    learn(online, context, action, outcome)
    learn_and_count(state, context, action, outcome)


class MinLinUCB(LinearOracle[MinLinUCBState]):
    """Play the largest min(online bound, pooled bound + V times the log's share); deterministic, ties lowest.

    Both bounds are LinUCB's, theta'phi + beta sqrt(phi'V^-1 phi): one from users alone, one from log and users
    together. The log's share is that of the precision in the direction of phi which it brings,
    1 - phi'V_pooled^-1 phi / phi'V_online^-1 phi: with a constant context this is MinUCB. What MinUCB says of logs
    that flatter and logs that slander holds here too.

    Parameters
    ----------
    n_actions, n_features, features, ridge, beta
        As in LinUCB.
    grams, moments
        The log's sums of phi phi', (G, m, m), and of y phi, (G, m), G = K for disjoint models and 1 for a shared one
        (`evaluators.linear_model.linear_sums(log, features)`).
    bias_bound
        V: how far the log's prediction for a context may be from the users' mean.
    weight
        By what the log's sums are multiplied: 1 counts a row as a play; less caps a large log.
    forced
        Every action gets at least forced ln(1 + t) online plays. 0: none is forced.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> grams = [x[a == k].T @ x[a == k] for k in (0, 1)]
    >>> moments = [x[a == k].T @ log.outcomes[a == k] for k in (0, 1)]
    >>> oracle = hs.MinLinUCB(2, 2, grams, moments)
    >>> oracle.play([1.0, 0.0])
    1
    """

    def __init__(
        self,
        n_actions: int,
        n_features: int,
        grams: ArrayLike,
        moments: ArrayLike,
        *,
        bias_bound: float = 0.0,
        weight: float = 1.0,
        forced: float = 0.0,
        beta: float = 1.0,
        ridge: float = 1.0,
        features: Features | None = None,
    ) -> None:
        phi = check_features(features, n_actions, n_features)
        penalty = check_number("ridge", ridge, low=1e-12)
        share = check_number("weight", weight, 0.0, 1e12)
        tally, pooled = new_linear(phi, penalty)
        online = new_linear(phi, penalty)[1]
        known = check_sums("grams", grams, phi, 2), check_sums("moments", moments, phi, 1)
        pooled.factors[:], pooled.theta[:] = _fit(phi, share * known[0], share * known[1], penalty)
        settings = (
            check_number("beta", beta, low=0.0),
            check_number("bias_bound", bias_bound, low=0.0),
            check_number("forced", forced, low=0.0),
        )
        super().__init__(phi, MinLinUCBState(tally, pooled, online.theta, online.factors, *settings))


def check_sums(name: str, given: ArrayLike, features: Features, power: int) -> Floats:
    """Sums over a log's rows of the right shape, finite."""
    sums = np.asarray(given, dtype=np.float64)
    shape = (features.n_groups, *[features.length] * power)
    if sums.shape != shape or not np.isfinite(sums).all():
        raise OptionError(f"{name} must be finite sums of shape {shape}, got shape {sums.shape}")
    return sums


def _fit(features: Features, grams: Floats, moments: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Factors, (G, p, p), and theta, (G, p), of a ridge regression from sums."""
    try:
        factors = factors_of(grams + ridge * np.eye(features.length))
    except np.linalg.LinAlgError:
        raise OptionError("grams must be sums of phi phi': these are not positive") from None
    theta = np.zeros(factors.shape[:2])
    inside = factors[:, : features.length, : features.length]
    theta[:, : features.length] = np.einsum("gij,gkj,gk->gi", inside, inside, moments)
    return factors, theta
