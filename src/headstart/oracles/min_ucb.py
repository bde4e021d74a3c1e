"""MinUCB: an upper bound that a log may lower and never raise (MIN-UCB; Cheung and Lyu 2024)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats
from headstart.checks import check_action, check_n_actions, check_number
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.kernels import implements, kernel, play, probabilities, update, withdraw
from headstart.kernels.arrays import total
from headstart.kernels.moments import Moments, new_moments, update_moments
from headstart.kernels.tally import least_played
from headstart.kernels.widths import normal_width, worst_width
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import choose_surely, largest_score, score
from headstart.parts import Readings
from headstart.priors.logged import check_known


class MinUCBState(NamedTuple):
    tally: Moments  # online plays
    log_means: Floats  # (K,)
    log_sizes: Floats  # (K,) plays that the log is worth; 0 once withdrawn
    log_variances: Floats  # (K,)
    bias_bounds: Floats  # (K,) V
    cap: float
    forced: float
    half_life: float
    beta: float
    follows_variance: bool


@kernel
def _log_size(state: MinUCBState, action: int, t: float) -> float:
    """The log's weight after t online plays: aged, and capped at cap ln(e + t)."""
    aged = state.log_sizes[action] * math.exp2(-t / state.half_life)
    return min(aged, state.cap * math.log(math.e + t))


@kernel
def _width(state: MinUCBState, log_n: float, plays: float, squares: float) -> float:
    if state.follows_variance:
        return state.beta * normal_width(log_n, plays, squares / plays) if plays > 0.0 else math.inf
    return state.beta * worst_width(log_n, plays)


@kernel
def _bound(state: MinUCBState, action: int, t: float, log_size: float, pooled_size: float) -> float:
    """min(online bound, pooled bound + V times the log's share)."""
    n = state.tally.counts[action]
    online = math.inf
    if n > 0.0:
        online = state.tally.means[action] + _width(state, math.log(max(t, 1.0)), n, state.tally.squares[action])
    if log_size <= 0.0:
        return online
    plays = n + log_size
    share = log_size / plays
    mean = (1.0 - share) * state.tally.means[action] + share * state.log_means[action]
    apart = state.tally.means[action] - state.log_means[action]
    squares = state.tally.squares[action] + log_size * state.log_variances[action] + n * share * apart * apart
    pooled = mean + _width(state, math.log(max(pooled_size, 1.0)), plays, squares)
    return min(online, pooled + share * state.bias_bounds[action])


class _Sizes(NamedTuple):
    """What the bounds of one play share."""

    t: float  # online plays
    pooled: float  # and with the log's


@implements(score, MinUCBState)
def _score(state: MinUCBState, context: Floats, action: int, level: _Sizes) -> float:
    return _bound(state, action, level.t, _log_size(state, action, level.t), level.pooled)


@implements(play, MinUCBState)
def _play(state: MinUCBState, context: Floats, available: Bools) -> int:
    t = total(state.tally.counts)
    rarest = least_played(state.tally.counts, available)
    if state.tally.counts[rarest] < state.forced * math.log1p(t):
        return rarest
    pooled_size = t
    for a in range(state.tally.counts.size):
        pooled_size += _log_size(state, a, t)
    return largest_score(state, context, available, _Sizes(t, pooled_size))


implements(probabilities, MinUCBState, allocates=False)(choose_surely)


@implements(withdraw, MinUCBState)
def _withdraw(state: MinUCBState, action: int) -> None:
    state.log_sizes[action] = 0.0


implements(update, MinUCBState)(update_moments)


class MinUCB(CompiledOracle[MinUCBState]):
    """Play the largest min(online bound, pooled bound + V times the log's share); deterministic, ties lowest.

    The pooled bound counts the log as plays, the online one does not know it. A log that flatters an action can then
    not hold it in play for longer than users alone would; a log that is right ends the exploration early. A log that
    makes the best action look bad is protected against only by V, forced plays or a conflict test: without them
    the action is not played, so nothing contradicts the log. No rule gets everything: without a bound on the bias no
    policy that gains on good logs is as good as UCB on every bad one (Cheung and Lyu 2024).

    Parameters
    ----------
    n_actions, summary
        What the log knows of each action (`evaluator.summary()`).
    bias_bound
        V, a number or one per action: how far the log's mean may be from the users'.
    cap
        The log counts as at most cap ln(e + t) plays after t online ones, so that users outvote it in time.
    forced
        Every action gets at least forced ln(1 + t) online plays. 0: none is forced.
    half_life
        Online plays after which the log's weight is halved, for logs that get old.
    beta
        The factor of both widths.
    follows_variance
        True: widths of the observed variances (`UCBNormal`'s), of any scale. False: UCB1's, made for outcomes in
        [0, 1] of the worst variance.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> oracle = hs.MinUCB(2, hs.IPSWeighting(log).summary())
    >>> oracle.play(None)
    0
    """

    def __init__(
        self,
        n_actions: int,
        summary: Summary,
        *,
        bias_bound: ArrayLike = 0.0,
        cap: float = 16.0,
        forced: float = 0.0,
        half_life: float = math.inf,
        beta: float = 1.0,
        follows_variance: bool = False,
    ) -> None:
        n = check_n_actions(n_actions)
        means, sizes, variances, _ = check_known(summary, n)
        state = MinUCBState(
            new_moments(n),
            means,
            sizes,
            variances,
            check_bounds(bias_bound, n),
            check_weight("cap", cap),
            check_number("forced", forced, low=0.0),
            check_weight("half_life", half_life),
            check_number("beta", beta, low=0.0),
            bool(follows_variance),
        )
        super().__init__(n, state)

    def withdraw(self, action: int) -> None:
        """Forget what the log said of an action; what users did stays."""
        self._state.log_sizes[check_action(action, self.n_actions)] = 0.0

    @property
    def log_sizes(self) -> Floats:
        """Plays that the log counts as now, (K,): aged, capped, 0 where withdrawn."""
        t = float(self._state.tally.counts.sum())
        return np.array([_log_size(self._state, a, t) for a in range(self.n_actions)])

    def readings(self) -> Readings:
        """Plays and means of log and users together; the bound above, and as far below the pooled mean."""
        state, sizes = self._state, self.log_sizes
        t = float(state.tally.counts.sum())
        counts = state.tally.counts + sizes
        upper = np.array([_bound(state, a, t, sizes[a], counts.sum()) for a in range(self.n_actions)])
        with np.errstate(invalid="ignore", divide="ignore"):
            means = (state.tally.sums + sizes * state.log_means) / counts
        return Readings(counts, means, 2.0 * np.nan_to_num(means) - upper, upper)


def check_weight(name: str, value: float) -> float:
    """A number above 0; infinity is one."""
    return math.inf if value == math.inf else check_number(name, value, low=1e-12)


def check_bounds(bias_bound: ArrayLike, n_actions: int) -> Floats:
    """V per action, (K,), from one number or one for each."""
    try:
        bounds = np.broadcast_to(np.asarray(bias_bound, dtype=np.float64), (n_actions,)).copy()
    except (TypeError, ValueError):
        raise OptionError(f"bias_bound must be a number or {n_actions} of them, got {bias_bound!r}") from None
    if not (bounds >= 0.0).all():
        raise OptionError(f"bias_bound must be at least 0, got {bias_bound!r}")
    return bounds
