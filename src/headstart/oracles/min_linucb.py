"""MinLinUCB: LinUCB with a bound that a log may lower and never raise (MinUCB for linear models)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.estimates.features import Features, check_features
from headstart.kernels import implements, kernel, play, probabilities, update
from headstart.kernels.arrays import total
from headstart.kernels.ridge import PHI, WHITENED, dot, factors_of, fill_features, learn, learn_and_count, whiten
from headstart.kernels.tally import least_played
from headstart.oracles.linear import LinearOracle, new_linear


class MinLinUCBState(NamedTuple):
    counts: Floats  # (K,) online plays
    sums: Floats  # (K,)
    means: Floats  # (K,)
    theta: Floats  # (G, p) of log and users together
    factors: Floats  # (G, p, p) S, lower triangular, with V^-1 = S S'
    groups: Integers  # (K,) which theta and S an action has
    columns: Integers  # (K or 1, m) phi's columns of x
    weights: Floats  # (K or 1, m)
    scratch: Floats  # (N_SCRATCH, p)
    online_theta: Floats  # (G, p) of users alone
    online_factors: Floats  # (G, p, p)
    beta: float
    bias_bound: float
    forced: float


class _Online(NamedTuple):
    """The users' model, as the linear kernels want it."""

    theta: Floats
    factors: Floats
    groups: Integers
    columns: Integers
    weights: Floats
    scratch: Floats


@kernel
def _bound(state: Any, action: Any) -> float:
    """min(online bound, pooled bound + V times the log's share), for the phi in the scratch."""
    phi, whitened, group = state.scratch[PHI], state.scratch[WHITENED], state.groups[action]
    square = whiten(state.online_factors[group], phi, whitened)
    online = dot(phi, state.online_theta[group]) + state.beta * math.sqrt(square)
    pooled_square = whiten(state.factors[group], phi, whitened)
    share = 1.0 - pooled_square / square if square > 0.0 else 0.0
    pooled = dot(phi, state.theta[group]) + state.beta * math.sqrt(pooled_square)
    return min(online, pooled + state.bias_bound * max(share, 0.0))


@implements(play, MinLinUCBState)
def _play(state: Any, context: Any, available: Any) -> Any:
    rarest = least_played(state.counts, available)
    if state.counts[rarest] < state.forced * math.log1p(total(state.counts)):
        return rarest
    is_same = state.columns.shape[0] == 1  # phi does not depend on the action
    if is_same:
        fill_features(state, context, 0)
    best = -1
    best_bound = -np.inf
    for a in range(available.size):
        if available[a]:
            if not is_same:
                fill_features(state, context, a)
            bound = _bound(state, a)
            if best < 0 or bound > best_bound:
                best = a
                best_bound = bound
    return best


@implements(probabilities, MinLinUCBState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    out[:] = 0.0
    out[play(state, context, available)] = 1.0


@implements(update, MinLinUCBState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    online = _Online(
        state.online_theta, state.online_factors, state.groups, state.columns, state.weights, state.scratch
    )
    learn(online, context, action, outcome)
    learn_and_count(state, context, action, outcome)


class MinLinUCB(LinearOracle):
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
        fields, online = new_linear(phi, penalty), new_linear(phi, penalty)
        known = check_sums("grams", grams, phi, 2), check_sums("moments", moments, phi, 1)
        fields[4][:], fields[3][:] = _fit(phi, share * known[0], share * known[1], penalty)
        settings = (
            check_number("beta", beta, low=0.0),
            check_number("bias_bound", bias_bound, low=0.0),
            check_number("forced", forced, low=0.0),
        )
        super().__init__(phi, MinLinUCBState(*fields, online[3], online[4], *settings))


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
