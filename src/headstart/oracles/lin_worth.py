"""What it is worth to learn more of an action, by context, before the rest of the users come.

What `kernels.worth` is to means, this is to means by context. A rival that cannot be worth its price is found by a
bound that needs no more than two inner products a model; only of the others is the whole computed.
"""

from __future__ import annotations

import math
from typing import Protocol

from headstart.arrays import Bools, Floats
from headstart.kernels import kernel
from headstart.kernels.arrays import total
from headstart.kernels.choice import best_available
from headstart.kernels.remaining import users_to_come
from headstart.kernels.tally import Tally
from headstart.kernels.worth import density, gain_above
from headstart.oracles.linear_beliefs import LEAST, Forecast, LinearBelief, look_closer

_DOUBLINGS = 10  # plays that exploring is thought to take: 1, 2, 4, ... 512
_MOST_PLAYS = 2.0 ** (_DOUBLINGS - 1)
_ROUNDING = 1.0 + 1e-9  # a bound is not missed by the last bits of what it bounds


class LinearLearning(Protocol):
    """A state that weighs what there is to learn."""

    @property
    def tally(self) -> Tally: ...
    @property
    def pending(self) -> Floats: ...
    @property
    def belief(self) -> LinearBelief: ...
    @property
    def horizon(self) -> float: ...
    @property
    def reach(self) -> float: ...
    @property
    def last(self) -> float: ...
    @property
    def exploring(self) -> float: ...
    @property
    def deviations(self) -> Floats: ...


@kernel
def _rise(belief: LinearBelief, forecast: Forecast, a: int, best: float, plays: float) -> float:
    """By how much so many plays of a are expected to raise what one later user gets, who has `best` without them.

    The centre of a model will have moved by s Z, s = scale / sqrt(square + 1 / plays), Z normal, and the user gets
    what it exceeds `best` by: E max(centre + s Z - best, 0).
    """
    rise = 0.0
    for j in range(belief.chances.shape[1]):
        if belief.chances[a, j] > LEAST:
            s = forecast.scales[a, j] / math.sqrt(forecast.squares[a, j] + 1.0 / plays)
            rise += belief.chances[a, j] * gain_above(forecast.centres[a, j], s, best)
    return rise


@kernel
def _most_a_play(ahead: float, scale: float, square: float, q: float, height: float) -> float:
    """What one model's part of `_gain` is at most, by a square that is at most the true one.

    With q in flight, m more plays raise a model's part by the integral of the normal density at (centre - best) / s
    over s from s(q) to s(q + m), and s rises ever less with the plays and falls with the square: at most `height`,
    the density's largest value there, times s(q + 1) - s(q) a play. With none in flight a model that puts the action
    `ahead` of the best also brings that much with the first play.
    """
    after = math.sqrt(square + 1.0 / (q + 1.0))
    if q == 0.0:
        return height * scale / after + max(ahead, 0.0)
    # 1/after - 1/before = 1 / (q (q + 1) before after (before + after)), and before is above after.
    return height * scale / (2.0 * q * (q + 1.0) * after * after * after)


@kernel
def _height(ahead: float, scale: float, square: float, q: float) -> float:
    """The largest density at ahead / s, over s up to that of the most plays."""
    return density(ahead * math.sqrt(square + 1.0 / (q + _MOST_PLAYS)) / scale) if scale > 0.0 else density(0.0)


@kernel
def _gain(belief: LinearBelief, forecast: Forecast, a: int, best: float, in_flight: float, least: float) -> float:
    """What playing a once more is worth to one later user: the largest (rise of m more plays) / m.

    Plays in flight have been bought already, and m more raise only what they leave. What does not reach `least` is
    not computed to the end.
    """
    bought = _rise(belief, forecast, a, best, in_flight) if in_flight > 0.0 else 0.0
    left = (_rise(belief, forecast, a, best, math.inf) - bought) * _ROUNDING
    most, m = 0.0, 1.0
    for _ in range(_DOUBLINGS):
        if left <= m * max(most, least):  # neither can more plays be worth more
            break
        most = max(most, (_rise(belief, forecast, a, best, in_flight + m) - bought) / m)
        m *= 2.0
    return most


@kernel
def choose(state: LinearLearning, context: Floats, available: Bools, forecast: Forecast) -> tuple[int, int]:
    """The action that looks best for a user who has been glanced at, and the one worth most with what it teaches."""
    # The bounds stand here and are no kernel: handing over the arrays took longer than the arithmetic does.
    chances, centres, squares, scales = state.belief.chances, forecast.centres, forecast.squares, forecast.scales
    values, top = forecast.values, density(0.0)
    greedy = best_available(values, available)
    n = total(state.tally.counts) + total(state.pending)
    users = state.reach * users_to_come(state.horizon, n, state.last)
    chosen, most = greedy, values[greedy]
    if users <= 0.0:
        return greedy, chosen
    for a in range(available.size):
        if available[a] and a != greedy:
            least, q = (most - values[a]) / users, state.pending[a]
            bound = 0.0  # by the density's own most, at 0, and only then by its most where it is
            for j in range(chances.shape[1]):
                if chances[a, j] > LEAST:
                    ahead = centres[a, j] - values[greedy]
                    bound += chances[a, j] * _most_a_play(ahead, scales[a, j], squares[a, j], q, top)
            if bound * _ROUNDING <= least:
                continue
            bound = 0.0
            for j in range(chances.shape[1]):
                if chances[a, j] > LEAST:
                    ahead, scale, square = centres[a, j] - values[greedy], scales[a, j], squares[a, j]
                    bound += chances[a, j] * _most_a_play(ahead, scale, square, q, _height(ahead, scale, square, q))
            if bound * _ROUNDING <= least:
                continue
            look_closer(state.belief, context, a, forecast)
            worth = values[a] + users * _gain(state.belief, forecast, a, values[greedy], q, least)
            if worth > most:
                chosen, most = a, worth
    return greedy, chosen


@kernel
def weigh_trials(
    state: LinearLearning, context: Floats, available: Bools, forecast: Forecast, means: Floats, worths: Floats
) -> None:
    """What `choose` compares: of each available action its expected outcome, and what its trial is worth by what it
    teaches; nothing for the best, which is no trial."""
    greedy = best_available(forecast.values, available)
    n = total(state.tally.counts) + total(state.pending)
    users = state.reach * users_to_come(state.horizon, n, state.last)
    for a in range(available.size):
        means[a] = worths[a] = math.nan
        if available[a]:
            means[a], worths[a] = forecast.values[a], 0.0
            if a != greedy and users > 0.0:
                look_closer(state.belief, context, a, forecast)
                gain = _gain(state.belief, forecast, a, forecast.values[greedy], state.pending[a], 0.0)
                worths[a] = users * gain


@kernel
def mix_chances(state: LinearLearning, context: Floats, available: Bools, forecast: Forecast, out: Floats) -> None:
    """The chances of a user who has been glanced at."""
    out[:] = 0.0
    greedy, chosen = choose(state, context, available, forecast)
    out[greedy] += 1.0 - state.exploring
    out[chosen] += state.exploring
