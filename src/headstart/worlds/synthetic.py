"""The paper's synthetic world: contexts uniform on [-1, 1]^d, a confounded log, a chosen outcome function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from headstart import kernels
from headstart.arrays import Floats, Integers, Words
from headstart.checks import check_context
from headstart.errors import OptionError
from headstart.kernels import (
    draw_context,
    draw_outcome,
    draw_user,
    expected_outcomes,
    fill_propensities,
    implements,
    kernel,
)
from headstart.kernels.arrays import copy_into, make_chances, total
from headstart.kernels.random import draw_below, draw_category, draw_uniform, draw_uniforms
from headstart.logs.log import Log
from headstart.randomness import as_words
from headstart.worlds.drawn import DrawnWorld, TruePopulation, freeze

OutcomeFunction = Literal["linear", "sigmoid", "binary", "steps"]
_KINDS: dict[str, int] = {"linear": 0, "sigmoid": 1, "binary": 2, "steps": 3}
_LINEAR, _SIGMOID, _BINARY, _STEPS = range(4)


class SyntheticState(NamedTuple):
    theta: Floats  # (d / K,)
    bases: Floats  # (K,) b_a
    kind: int
    rho: float
    chances: Floats  # of action 0 in the log; empty: the softmax
    is_contextual: bool
    means: Floats  # (K,) over the population
    visible: Integers  # columns of the user that can be seen
    user: Floats  # (d,) the present user, hidden columns included
    rng: Words  # (4,)


@kernel
def _mean(theta: Floats, base: float, kind: int, user: Floats, action: int) -> float:
    """E[y | user, action] = f(x, a); phi(x, a) is the a-th block of x."""
    width = theta.size
    start = action * width
    total = 0.0
    for j in range(width):
        if kind == _STEPS:
            total += 1.0 if theta[j] > user[start + j] else 0.0
        else:
            total += theta[j] * user[start + j]
    if kind == _LINEAR:
        return total + base
    if kind == _STEPS:
        return total / width + base
    s = 1.0 / (1.0 + math.exp(-total))
    if kind == _SIGMOID:
        return s + base
    return min(max(s + (1.0 - s) * base, 0.0), 1.0)


@kernel
def _fill_policy(state: SyntheticState, user: Floats, out: Floats) -> None:
    """Softmax over a of rho (f(x, a) - b_a)(b_a - b_(a+1 mod K)); or what `chances` are on average."""
    n_actions = out.size
    if state.chances.size:
        _split(total(state.chances) / state.chances.size, out)
        return
    theta, bases, kind, rho = state.theta, state.bases, state.kind, state.rho
    top = -np.inf
    for a in range(n_actions):
        step = bases[a] - bases[(a + 1) % n_actions]
        out[a] = rho * (_mean(theta, bases[a], kind, user, a) - bases[a]) * step
        top = max(top, out[a])
    make_chances(out, top)


@kernel
def _split(chance: float, out: Floats) -> None:
    """Action 0 with this chance, the others with equal ones."""
    out[0] = chance
    for a in range(1, out.size):
        out[a] = (1.0 - chance) / (out.size - 1)


@kernel
def _draw_full_user(state: SyntheticState) -> None:
    draw_uniforms(state.rng, state.user)
    for j in range(state.user.size):
        state.user[j] = 2.0 * state.user[j] - 1.0


@implements(draw_user, SyntheticState)
def _draw_user(state: SyntheticState, out: Floats) -> None:
    _draw_full_user(state)
    for j in range(state.visible.size):
        out[j] = state.user[state.visible[j]]


@implements(draw_outcome, SyntheticState)
def _draw_outcome(state: SyntheticState, action: int) -> float:
    mean = _mean(state.theta, state.bases[action], state.kind, state.user, action)
    if state.kind != _BINARY:
        return mean
    return 1.0 if draw_uniform(state.rng) < mean else 0.0


@implements(expected_outcomes, SyntheticState)
def _expected(state: SyntheticState, out: Floats) -> None:
    if state.is_contextual:
        for a in range(out.size):
            out[a] = _mean(state.theta, state.bases[a], state.kind, state.user, a)
    else:
        copy_into(out, state.means)


@implements(draw_context, SyntheticState)
def _draw_context(state: SyntheticState, out: Floats) -> None:
    draw_user(state, out)


@implements(fill_propensities, SyntheticState)
def _fill_propensities(state: SyntheticState, context: Floats, out: Floats) -> None:
    """The true logging policy; asked only of worlds without hidden columns."""
    _fill_policy(state, context, out)


def _draw_log(
    state: SyntheticState,
    bias: float,
    actions: Integers,
    outcomes: Floats,
    contexts: Floats,
    propensities: Floats,
    policy: Floats,
) -> None:
    for i in range(actions.size):
        _draw_full_user(state)
        if state.chances.size:
            _split(state.chances[draw_below(state.rng, state.chances.size)], policy[i])
        else:
            _fill_policy(state, state.user, policy[i])
        action = draw_category(state.rng, policy[i])
        actions[i] = action
        outcomes[i] = draw_outcome(state, action)
        if action == 0:
            outcomes[i] += bias
        propensities[i] = policy[i, action]
        for j in range(state.visible.size):
            contexts[i, j] = state.user[state.visible[j]]


class SyntheticPopulation(TruePopulation):
    """The true distribution of contexts, as WarmStart's `contexts`; and the true logging policy."""

    kernel_state: SyntheticState

    def __init__(self, state: SyntheticState) -> None:
        super().__init__(state, state.visible.size)

    def __call__(self, context: Floats) -> Floats:
        """P(action | context) under the logging policy, (K,)."""
        if self.n_features != self.kernel_state.user.size:
            raise OptionError("the logging policy of a world with hidden columns is no function of the context seen")
        user, out = check_context(context, self.n_features), np.empty(self.kernel_state.bases.size)
        kernels.compiled(_fill_policy, SyntheticState)(self.kernel_state, user, out)
        return out


@dataclass(frozen=True)
class Synthetic:
    """Settings of the paper's synthetic world; each `draw` draws theta ~ N(0, I) and a log anew.

    f(x, a), with phi = the a-th block of x (length n_features / n_actions), b_a = step * a:
    linear: phi'theta + b_a. sigmoid: s + b_a with s = 1 / (1 + exp(-phi'theta)).
    binary: success with chance s + (1 - s) b_a, clipped to [0, 1]. steps: mean of 1{theta_j > phi_j}, + b_a.

    The log's policy is a softmax that prefers actions by f (rho, the paper's confounded log); with
    `logged_chances`, each row draws action 0's chance from them and the other actions share the rest equally.
    """

    n_actions: int = 3
    n_features: int | None = None  # 2 n_actions
    n_log: int = 100
    outcome: OutcomeFunction = "linear"
    rho: float = -1.0
    step: float = 0.5
    n_hidden: int = 0  # columns, chosen at random in each draw, that neither log nor stream shows
    bias: float = 0.0  # added to the logged outcomes of action 0
    is_contextual: bool = False  # regret against the best action for each user instead of for all
    logged_chances: tuple[float, ...] = ()  # instead of the softmax: action 0's chance in a row is one of these

    def __post_init__(self) -> None:
        width, rest = divmod(self._d, self.n_actions)
        if self.n_actions < 2 or rest or not width:
            raise OptionError(f"n_features must be a multiple of n_actions >= 2, got {self._d} and {self.n_actions}")
        if self.outcome not in _KINDS:
            raise OptionError(f"outcome must be one of {', '.join(_KINDS)}, got {self.outcome!r}")
        if not 0 <= self.n_hidden < self._d:
            raise OptionError(f"n_hidden must be in 0..{self._d - 1}, got {self.n_hidden}")
        if self.outcome == "binary" and self.step < 0:
            raise OptionError(f"step must be at least 0 for a binary outcome, got {self.step}")
        if not all(0.0 <= chance <= 1.0 for chance in self.logged_chances):
            raise OptionError(f"logged_chances must be in [0, 1], got {self.logged_chances}")
        if self.n_log < 1:
            raise OptionError(f"n_log must be at least 1, got {self.n_log}")

    @property
    def _d(self) -> int:
        return 2 * self.n_actions if self.n_features is None else self.n_features

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """One world of this kind, its log included."""
        theta = rng.standard_normal(self._d // self.n_actions)
        bases, chances, visible = self._same_in_each_draw
        if self.n_hidden:
            visible = np.sort(rng.permutation(self._d)[self.n_hidden :])
        drawn = (
            freeze(theta),
            bases,
            _KINDS[self.outcome],
            float(self.rho),
            chances,
            self.is_contextual,
            freeze(self._means(theta, bases)),
            freeze(visible),
        )
        state = SyntheticState(*drawn, np.zeros(self._d), as_words(rng))
        population = SyntheticPopulation(SyntheticState(*drawn, np.zeros(self._d), as_words(rng)))
        n = self.n_log
        actions, outcomes, contexts = np.empty(n, dtype=np.int64), np.empty(n), np.empty((n, visible.size))
        rows = actions, outcomes, contexts, np.empty(n), np.empty((n, self.n_actions))
        kernels.call(_draw_log, state, float(self.bias), *rows)
        return DrawnWorld(Log.of_drawn(*rows), visible.size, state, population)

    @cached_property
    def _same_in_each_draw(self) -> tuple[Floats, Floats, Integers]:
        """b_a, the logged chances of action 0, and all columns."""
        bases = self.step * np.arange(self.n_actions, dtype=np.float64)
        return freeze(bases), freeze(np.array(self.logged_chances, dtype=np.float64)), freeze(np.arange(self._d))

    def _means(self, theta: Floats, bases: Floats) -> Floats:
        """E[y | a] over the population, in closed form: phi is symmetric around 0."""
        if self.outcome == "linear":
            return bases.copy()
        if self.outcome == "sigmoid":
            return 0.5 + bases
        if self.outcome == "binary":  # E s = 1/2, and a base of 1 or more makes the clipped chance 1
            return 0.5 + 0.5 * np.minimum(bases, 1.0)
        return float(np.clip((theta + 1.0) / 2.0, 0.0, 1.0).mean()) + bases
