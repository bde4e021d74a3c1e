"""Logs with one planted fault each, whose best action is known: what the audit says of them is its power."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.clean_logs import Family, Rng, draw_actions, draw_outcomes, draw_users, soft_chances, taken
from headstart.arrays import Bools, Floats, Integers
from headstart.logs.log import Log

K = 3


@dataclass(frozen=True)
class Planted:
    """A log with a fault, and the action that is best for everybody on average."""

    log: Log
    best: int = K - 1
    population: Floats | None = None


Fault = Callable[[Rng, int, Family], Planted]


@dataclass(frozen=True)
class Drawn:
    """A clean log before a fault is planted in it."""

    x: Floats
    chances: Floats
    actions: Integers
    outcomes: Floats

    @property
    def p(self) -> Floats:
        return taken(self.chances, self.actions)

    def log(self, propensities: Floats | None, times: Floats | None = None) -> Log:
        return Log(self.actions, self.outcomes, self.x, propensities, n_actions=K, times=times)

    def where(self, kept: Bools, propensities: Floats | None = None) -> Log:
        return self.log(propensities).take(kept)


def draw(rng: Rng, n: int, family: Family) -> Drawn:
    x = draw_users(rng, n, family)
    chances = soft_chances(rng, x, K, family)
    actions = draw_actions(rng, chances)
    return Drawn(x, chances, actions, draw_outcomes(rng, x, actions, family))


def scaled(rng: Rng, n: int, family: Family, *, factor: float) -> Planted:
    """Propensities times a factor, cut at 1."""
    drawn = draw(rng, n, family)
    return Planted(drawn.log(np.minimum(1.0, factor * drawn.p)))


def of_wrong_action(rng: Rng, n: int, family: Family) -> Planted:
    """The chance of the next action."""
    drawn = draw(rng, n, family)
    return Planted(drawn.log(taken(drawn.chances, (drawn.actions + 1) % K)))


def of_other_version(rng: Rng, n: int, family: Family) -> Planted:
    """The last 40 % of the rows were decided by a newer policy and logged with the older one's chances."""
    x = draw_users(rng, n, family)
    old, new = soft_chances(rng, x, K, family), soft_chances(rng, x, K, family)
    times = np.arange(n) / n
    actions = draw_actions(rng, np.where(times[:, None] < 0.6, old, new))
    outcomes = draw_outcomes(rng, x, actions, family)
    return Planted(Log(actions, outcomes, x, taken(old, actions), n_actions=K, times=times))


def rounded(rng: Rng, n: int, family: Family) -> Planted:
    """To one decimal, at least 0.1."""
    drawn = draw(rng, n, family)
    return Planted(drawn.log(np.clip(np.round(drawn.p, 1), 0.1, 1.0)))


def clipped(rng: Rng, n: int, family: Family, *, at: float) -> Planted:
    """Chances of an epsilon-greedy policy below `at` logged as `at`."""
    drawn = _greedy(rng, n, family)
    return Planted(drawn.log(np.maximum(drawn.p, at)))


def of_greedy_action(rng: Rng, n: int, family: Family) -> Planted:
    """The chance of the policy's favourite, whichever action was taken."""
    drawn = _greedy(rng, n, family)
    return Planted(drawn.log(drawn.chances.max(axis=1)))


def tempered(rng: Rng, n: int, family: Family) -> Planted:
    """Chances to the power of 1/2, normalised: the softmax logged with twice the temperature."""
    drawn = draw(rng, n, family)
    warm = np.sqrt(drawn.chances)
    return Planted(drawn.log(taken(warm / warm.sum(axis=1, keepdims=True), drawn.actions)))


def _greedy(rng: Rng, n: int, family: Family) -> Drawn:
    """Epsilon-greedy with 0.1: chances of 0.93 and 0.033."""
    x = draw_users(rng, n, family)
    greedy = soft_chances(rng, x, K, family).argmax(axis=1)
    chances = np.full((n, K), 0.1 / K)
    chances[np.arange(n), greedy] += 0.9
    actions = draw_actions(rng, chances)
    return Drawn(x, chances, actions, draw_outcomes(rng, x, actions, family))


def hidden(rng: Rng, n: int, family: Family, *, strength: float, is_logged: bool) -> Planted:
    """A column that nobody logged makes the second action likelier and outcomes better; strength 1 turns the order.

    Logged: as the chances that the policy would have without it.
    """
    x, secret = draw_users(rng, n, family), rng.standard_normal(n)
    base = np.log(soft_chances(rng, x, K, family))
    scores = np.exp(base + strength * np.outer(secret, [0.0, 1.5, 0.0]))
    actions = draw_actions(rng, scores / scores.sum(axis=1, keepdims=True))
    outcomes = draw_outcomes(rng, x, actions, family) + strength * secret
    said = np.exp(base)
    return Planted(Log(actions, outcomes, x, taken(said, actions) if is_logged else None, n_actions=K))


def leaked(rng: Rng, n: int, family: Family, *, noise: float) -> Planted:
    """One more column: the outcome with noise."""
    drawn = draw(rng, n, family)
    leak = drawn.outcomes + noise * drawn.outcomes.std() * rng.standard_normal(n)
    names = [*(f"x{j}" for j in range(drawn.x.shape[1])), "leak"]
    contexts = np.column_stack([drawn.x, leak])
    return Planted(Log(drawn.actions, drawn.outcomes, contexts, drawn.p, context_names=names, n_actions=K))


def tells_arm(rng: Rng, n: int, family: Family, *, is_logged: bool) -> Planted:
    """`treat` beside the arm: 0 for the first action, 1 for the others."""
    drawn = draw(rng, n, family)
    contexts = {f"x{j}": drawn.x[:, j] for j in range(drawn.x.shape[1])} | {"treat": (drawn.actions > 0) * 1.0}
    return Planted(Log(drawn.actions, drawn.outcomes, contexts, drawn.p if is_logged else None, n_actions=K))


def tells_amount(rng: Rng, n: int, family: Family) -> Planted:
    """An incentive by lot, and beside whether there was one the amount of it."""
    x, any_ = draw_users(rng, n, family), rng.integers(2, size=n)
    amount = np.where(any_ == 1, np.round(rng.random(n) * 3.0 + 0.01, 2), 0.0)
    outcomes = draw_outcomes(rng, x, any_, family)
    return Planted(Log(any_, outcomes, {"age": x[:, 0], "x1": x[:, 1], "amount": amount}, n_actions=2), best=1)


def duplicated(rng: Rng, n: int, family: Family) -> Planted:
    """30 % of the rows are copies of others."""
    drawn = draw(rng, round(n / 1.3), family)
    copies = rng.choice(len(drawn.x), n - len(drawn.x), replace=False)
    return Planted(drawn.log(drawn.p).take(np.concatenate([np.arange(len(drawn.x)), copies])))


def drifted(rng: Rng, n: int, family: Family, *, is_logged: bool) -> Planted:
    """Outcomes fall by 1.5 halfway, when the policy goes over to the best action for most."""
    x, times = draw_users(rng, n, family), np.arange(n) / n
    late = times >= 0.5
    chances = np.where(late[:, None], [0.1, 0.1, 0.8], [0.45, 0.45, 0.1])
    actions = draw_actions(rng, chances)
    outcomes = draw_outcomes(rng, x, actions, family) - 1.5 * late
    p = taken(chances, actions) if is_logged else None
    return Planted(Log(actions, outcomes, x, p, n_actions=K, times=times))


def selected(rng: Rng, n: int, family: Family, *, is_logged: bool) -> Planted:
    """Of the first action, rows with a low outcome were kept one time in four only."""
    drawn = draw(rng, n, family)
    kept = (drawn.actions != 0) | (drawn.outcomes > 0.3) | (rng.random(n) < 0.25)
    return Planted(drawn.where(kept, drawn.p if is_logged else None))


def no_overlap(rng: Rng, n: int, family: Family, *, share: float, is_logged: bool) -> Planted:
    """This share of the users, by one column, never sees the last action; the log says so truly or not at all."""
    x = draw_users(rng, n, family)
    chances = soft_chances(rng, x, K, family)
    barred = x[:, 0] > np.quantile(x[:, 0], 1.0 - share)
    chances[barred, -1] = 0.0
    chances /= chances.sum(axis=1, keepdims=True)
    actions = draw_actions(rng, chances)
    p = taken(chances, actions) if is_logged else None
    return Planted(Log(actions, draw_outcomes(rng, x, actions, family), x, p, n_actions=K))


def shifted(rng: Rng, n: int, family: Family) -> Planted:
    """Users to come whose first column is one standard deviation higher."""
    drawn = draw(rng, n, family)
    coming = draw_users(rng, n, family)
    coming[:, 0] += 1.0
    return Planted(drawn.log(drawn.p), population=coming)


def one_month(rng: Rng, n: int, family: Family, *, is_logged: bool) -> Planted:
    """The last action was there in the last of six months only, when outcomes were higher by 1; before, by lot of
    two.

    Outcomes of the last action are the worst.
    """
    x, times = draw_users(rng, n, family), np.arange(n) / n
    late = times >= 5.0 / 6.0
    chances = np.where(late[:, None], 1.0 / 3.0, [0.5, 0.5, 0.0])
    actions = draw_actions(rng, chances)
    outcomes = draw_outcomes(rng, x, np.array([1, 2, 0])[actions], family) + late
    p = taken(chances, actions) if is_logged else None
    return Planted(Log(actions, outcomes, x, p, n_actions=K, times=times), best=1)


def dependent(rng: Rng, n: int, family: Family, *, has_units: bool) -> Planted:
    """A coin per user who comes 40 times, and no effect."""
    unit = np.repeat(np.arange(n // 40), 40)
    x = draw_users(rng, n // 40, family)[unit]
    actions = rng.integers(2, size=n // 40)[unit]
    outcomes = 0.5 * x[:, 0] + 0.7 * rng.standard_normal(n // 40)[unit] + rng.standard_normal(unit.size)
    units = unit.tolist() if has_units else None
    return Planted(Log(actions, outcomes, x, np.full(unit.size, 0.5), n_actions=2, units=units), best=-1)


FAULTS: dict[str, Fault] = {
    **{f"scaled x{factor}": partial(scaled, factor=factor) for factor in (0.8, 1.25, 2.0)},
    "of the wrong action": of_wrong_action,
    "of another version": of_other_version,
    "rounded": rounded,
    "clipped at 0.05": partial(clipped, at=0.05),
    "clipped at 0.1": partial(clipped, at=0.1),
    "of the greedy action": of_greedy_action,
    "tempered": tempered,
    **{
        f"hidden {strength} {'logged' if said else 'estimated'}": partial(hidden, strength=strength, is_logged=said)
        for said in (True, False)
        for strength in (0.25, 0.5, 1.0)
    },
    "leaked, noise 0.1": partial(leaked, noise=0.1),
    "leaked, noise 0.5": partial(leaked, noise=0.5),
    "tells the arm, logged": partial(tells_arm, is_logged=True),
    "tells the arm, estimated": partial(tells_arm, is_logged=False),
    "tells the amount, estimated": tells_amount,
    "duplicated 30 %": duplicated,
    "drift and policy, logged": partial(drifted, is_logged=True),
    "drift and policy, estimated": partial(drifted, is_logged=False),
    "selected, logged": partial(selected, is_logged=True),
    "selected, estimated": partial(selected, is_logged=False),
    **{
        f"no overlap {100 * share:.0f} % {'logged' if said else 'estimated'}": partial(
            no_overlap, share=share, is_logged=said
        )
        for said in (True, False)
        for share in (0.07, 0.2, 0.38)
    },
    "population shift": shifted,
    "one month only, logged": partial(one_month, is_logged=True),
    "one month only, estimated": partial(one_month, is_logged=False),
    "dependent rows, no units": partial(dependent, has_units=False),
    "dependent rows, units": partial(dependent, has_units=True),
}
