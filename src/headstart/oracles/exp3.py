"""Exp3: exponential weights for outcomes that need not be random at all (Auer et al. 2002, nonstochastic)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Scratch, Words
from headstart.checks import check_n_actions, check_number, check_outcome_in
from headstart.errors import OptionError
from headstart.kernels import implements, kernel, play, probabilities, update
from headstart.kernels.arrays import largest
from headstart.kernels.choice import count_available
from headstart.kernels.random import draw_category
from headstart.kernels.tally import Tally, new_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.randomness import RNG, as_words


class Exp3State(NamedTuple):
    tally: Tally
    log_weights: Floats  # (K,)
    chances: Scratch  # (K,)
    everything: Bools  # (K,)
    gamma: float
    low: float
    high: float
    rng: Words  # (4,)


@kernel
def _fill(state: Exp3State, available: Bools, out: Floats) -> None:
    """p_a = (1 - gamma) w_a / sum of w + gamma / K, over the available actions."""
    top = -np.inf
    for a in range(out.size):
        if available[a]:
            top = max(top, state.log_weights[a])
    total = 0.0
    for a in range(out.size):
        out[a] = math.exp(state.log_weights[a] - top) if available[a] else 0.0
        total += out[a]
    n = count_available(available)
    for a in range(out.size):
        if available[a]:
            out[a] = (1.0 - state.gamma) * out[a] / total + state.gamma / n


@implements(play, Exp3State)
def _play(state: Exp3State, context: Floats, available: Bools) -> int:
    _fill(state, available, state.chances)
    return draw_category(state.rng, state.chances)


@implements(probabilities, Exp3State, allocates=False)
def _probabilities(state: Exp3State, context: Floats, available: Bools, out: Floats) -> None:
    _fill(state, available, out)


@implements(update, Exp3State)
def _update(state: Exp3State, context: Floats, action: int, outcome: float) -> None:
    update_tally(state, context, action, outcome)
    _fill(state, state.everything, state.chances)
    gain = (outcome - state.low) / (state.high - state.low) / state.chances[action]
    state.log_weights[action] += state.gamma * gain / state.log_weights.size
    # Only differences matter: keep the largest at 0 so that a long life does not overflow.
    top = largest(state.log_weights)
    for a in range(state.log_weights.size):
        state.log_weights[a] = max(state.log_weights[a] - top, -700.0)


class Exp3(CompiledOracle[Exp3State]):
    """Exponential weights with a share gamma of uniform play.

    Outcomes must lie in [low, high]; one outside is an error. With a `horizon` T, gamma is
    min(1, sqrt(K ln K / ((e - 1) T))) (Corollary 3.2 of Auer et al.), otherwise 0.1.
    The importance weight of an outcome uses the chances at the time of `update` with every action available:
    exact when outcomes come at once and all actions are available, an approximation when they come late.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    gamma
        The share of uniform play; 0.1 if neither it nor `horizon` is given.
    horizon
        Users to come, which sets gamma.
    low, high
        The range of outcomes.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If a setting is outside its range, or both `gamma` and `horizon` are given.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.Exp3(2, gamma=0.2, rng=1)
    >>> oracle.update(None, action=1, outcome=1.0)
    >>> oracle.probabilities(None).round(3)
    array([0.46, 0.54])
    """

    def __init__(
        self,
        n_actions: int,
        gamma: float | None = None,
        horizon: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        rng: RNG = None,
    ) -> None:
        n = check_n_actions(n_actions)
        if gamma is not None and horizon is not None:
            raise OptionError("gamma and horizon exclude each other: horizon sets gamma")
        if horizon is not None:
            rounds = check_number("horizon", horizon, low=1)
            gamma = min(1.0, math.sqrt(n * math.log(n) / ((math.e - 1.0) * rounds))) if n > 1 else 1.0
        share = check_number("gamma", 0.1 if gamma is None else gamma, 0.0, 1.0)
        self.outcome_range = check_number("low", low), check_number("high", high)
        if not low < high:
            raise OptionError(f"low must be below high, got {low} and {high}")
        everything = np.ones(n, dtype=np.bool_)
        state = Exp3State(
            new_tally(n), np.zeros(n), np.zeros(n), everything, share, *self.outcome_range, as_words(rng)
        )
        super().__init__(n, state)

    def _check_outcome(self, outcome: float) -> float:
        return check_outcome_in(outcome, *self.outcome_range, "Exp3 (set low and high)")
