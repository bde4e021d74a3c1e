"""Adjusted: what the context tells of an outcome, whatever the action, is taken from it before it is learnt."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers, Scratch
from headstart.checks import check_action, check_context, check_kind, check_number, check_outcome, check_saved
from headstart.errors import OptionError
from headstart.estimates.control_line import ControlLine
from headstart.kernels import (
    Entry,
    absorb,
    expect,
    implements,
    kernel,
    play,
    probabilities,
    release,
    update,
    withdraw,
)
from headstart.kernels.dispatch import State
from headstart.kernels.ridge import N_SCRATCH, PHI, dot, factors_of, learn_row, padded
from headstart.kernels.states import copy_state, load_state, save_state
from headstart.parts import ContextLike, Oracle, OracleAbilities, Saved, Wrapper, load_parts, save_parts
from headstart.warmstart.forwarding import expect_inner, fill_inner, play_inner, release_inner

WORTH = 25.0  # rows that the log's line counts as at most: users correct a wrong one soon


class TaughtLine(NamedTuple):
    """The line as it is by now, in standard units of the log; p is d padded for the ridge."""

    centres: Floats  # (d,)
    scales: Floats  # (d,)
    theta: Floats  # (p,) the slopes
    factor: Floats  # (p, p)
    counts: Floats  # (K,) outcomes learnt
    levels: Floats  # (K,) their means
    middles: Floats  # (K, p) the mean contexts of their users
    came: Integers  # (1,) users
    total: Floats  # (p,) the sum of their contexts
    n_rows: float  # of the log
    gain: Floats  # (1,) by how much less squared the errors were with the line than without it
    spread: Floats  # (2,) the sum of squares of what the line said, and of how many users
    seen: Scratch  # (p,) the present context
    scratch: Scratch  # (N_SCRATCH, p)


class AdjustedState(NamedTuple):
    policy: State
    line: TaughtLine


@kernel
def _said(line: TaughtLine, context: Floats) -> float:
    """f(x) minus its mean over users such as come: by the log's contexts, as far as the users' agree with them.

    In standard units the log's mean is 0. With t users and N rows the users' mean of f is off from it by `shift`,
    whose variance is v (1/t + 1/N) if both are of one kind; what is beyond that is taken for a difference of kinds.
    """
    for j in range(line.centres.size):
        line.seen[j] = (context[j] - line.centres[j]) / line.scales[j]
        line.total[j] += line.seen[j]
    line.came[0] += 1
    t = float(line.came[0])
    said, shift = dot(line.theta, line.seen), dot(line.theta, line.total) / t
    variance = line.spread[0] / line.spread[1]
    if variance > 0.0:
        apart = 1.0 / line.n_rows + max(0.0, shift * shift / variance - 1.0 / t - 1.0 / line.n_rows)
        said -= shift * apart / (apart + 1.0 / t)
    line.spread[0] += said * said
    line.spread[1] += 1.0
    return said


@kernel
def _learn(line: TaughtLine, action: int, outcome: float) -> None:
    """The slopes within actions, by what is new in this user beside those before of the same action."""
    n, middle = line.counts[action], line.middles[action]
    if n > 0.0:
        phi, weight = line.scratch[PHI], math.sqrt(n / (n + 1.0))
        for j in range(phi.size):
            phi[j] = weight * (line.seen[j] - middle[j])
        off = weight * (outcome - line.levels[action])
        error, _ = learn_row(line.theta, line.factor, line.scratch, off)
        line.gain[0] += off * off - error * error
    line.counts[action] = n + 1.0
    line.levels[action] += (outcome - line.levels[action]) / (n + 1.0)
    for j in range(middle.size):
        middle[j] += (line.seen[j] - middle[j]) / (n + 1.0)


@kernel
def adjust(line: TaughtLine, context: Floats, action: int, outcome: float) -> float:
    """The outcome as it is to be learnt; the line learns of it afterwards."""
    said = _said(line, context)
    is_used = line.gain[0] >= 0.0
    _learn(line, action, outcome)
    return outcome - said if is_used else outcome


def _adjust(line: TaughtLine, context: Floats, action: int, outcome: float) -> float:
    return adjust(line, context, action, outcome)


implements(play, AdjustedState)(play_inner)
implements(probabilities, AdjustedState)(fill_inner)
implements(expect, AdjustedState)(expect_inner)
implements(release, AdjustedState)(release_inner)


@implements(update, AdjustedState)
def _update(state: AdjustedState, context: Floats, action: int, outcome: float) -> None:
    if context.size == state.line.centres.size:
        outcome = adjust(state.line, context, action, outcome)
    update(state.policy, context, action, outcome)


@implements(absorb, AdjustedState)
def _absorb(state: AdjustedState, context: Floats, action: int, outcome: float, variance: float) -> None:
    absorb(state.policy, context, action, outcome, variance)  # the log's answer, not this context's outcome


@implements(withdraw, AdjustedState)
def _withdraw(state: AdjustedState, action: int) -> None:
    withdraw(state.policy, action)


class Adjusted(Wrapper):
    """A policy that decides without contexts and learns y - (f(x) - mean of f) in place of y: a control variate.

    f is a line that all actions share. It starts as the log's, which counts as `worth` rows at most, and goes on
    learning from users, within actions. Whatever f was before a user came, E[f(x) - mean of f] is 0 for every action,
    because a policy that does not look at contexts shows them to all users alike: however biased the log and the line
    are, actions stay comparable. What a wrong line can do is add noise; so what it would have gained in squared error
    on the users so far is kept, beginning with `worth` times what it gained a row in the log, and outcomes are
    learnt as they are while that sum is below 0.

    The mean of f is that over the log's contexts and the users' together, the log's counting less the further the
    users' are from it. Its error is one of the common level, the same for all actions of the moment.

    Not for oracles of 0/1 outcomes (ThompsonBeta): what is left is not 0 or 1.

    Parameters
    ----------
    oracle
        What decides: context-free, for outcomes of any value.
    line
        `ControlLine.of_log(log)`; `line.pays` says whether it is worth while.
    worth
        Rows that the log's line counts as, for its slopes and for its credit.

    Raises
    ------
    OptionError
        If the oracle decides on contexts, or takes only outcomes of a range that adjusted ones would leave.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> line = hs.ControlLine.of_log(log)
    >>> policy = hs.Adjusted(hs.ThompsonNormal(2, rng=1), line)
    >>> policy.n_actions
    2
    """

    def __init__(self, oracle: Oracle, line: ControlLine, worth: float = WORTH) -> None:
        check_kind("line", line, ControlLine)
        worth = min(check_number("worth", worth, low=1.0), float(max(line.n_rows, 1)))
        abilities = OracleAbilities(oracle)
        if abilities.n_features:
            raise OptionError(f"{type(oracle).__name__} decides on contexts: it has a line of its own")
        if not all(math.isinf(end) for end in abilities.outcome_range):
            low, high = abilities.outcome_range
            raise OptionError(
                f"{type(oracle).__name__} takes outcomes in [{low:g}, {high:g}], which they would leave"
            )
        self.oracle = oracle
        self._line = _begin(line, oracle.n_actions, worth)
        self._adjust = Entry(_adjust, allocates=False)

    @property
    def inner(self) -> Oracle:
        """What decides."""
        return self.oracle

    @property
    def n_features(self) -> int:
        """The columns of the log, all of which a context has."""
        return self._line.centres.size

    @property
    def slopes(self) -> Floats:
        """The line by now, (d,), of columns in standard units of the log."""
        return self._line.theta[: self.n_features].copy()

    @property
    def is_adjusting(self) -> bool:
        """Whether the next outcome will be adjusted: the line has gained more than it has cost."""
        return bool(self._line.gain[0] >= 0.0)

    def seen(self, context: ContextLike) -> ContextLike:
        """Nothing: decisions look at no context, and need none."""
        if context is not None:
            check_context(context, self.n_features)
        return None

    def around(self, inner: State) -> AdjustedState:
        """The state of the whole around what decides."""
        return AdjustedState(inner, self._line)

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """Learn a user's outcome, as far as their context does not explain it; as it is, if there is none."""
        if context is None:
            self.oracle.update(None, action, outcome)
            return
        user = check_context(context, self.n_features)
        chosen, came = check_action(action, self.n_actions), check_outcome(outcome)
        self.oracle.update(None, chosen, float(self._adjust(self._line, user, chosen, came)))

    def rehearse(self, context: ContextLike, action: int, outcome: float) -> None:
        """Let a copy of the line learn from a user."""
        user = np.zeros(self.n_features) if context is None else check_context(context, self.n_features)
        self._adjust(copy_state(self._line), user, action, outcome)

    def get_state(self) -> Saved:
        """The oracle's state, and the line's."""
        return {**save_parts({"oracle": self.oracle}), "line": save_state(self._line)}

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of a policy made in the same way: it has the same future."""
        check_saved(saved)
        line = load_state(self._line, saved.get("line", {}))
        load_parts({"oracle": self.oracle}, saved)
        self._line = line

    def __repr__(self) -> str:
        return f"Adjusted({self.oracle!r}, {'' if self.is_adjusting else 'not '}adjusting)"


def _begin(line: ControlLine, n_actions: int, worth: float) -> TaughtLine:
    d = line.n_features
    p = padded(d)
    theta = np.zeros(p)
    theta[:d] = line.slopes
    ridge = np.where(np.diag(line.spread) > 0.0, 1e-6, 1.0)  # a column of one value stays out
    factor = factors_of(worth * (line.spread + np.diag(ridge))[None])[0]
    told = float(line.slopes @ line.spread @ line.slopes)
    return TaughtLine(
        np.array(line.centres),
        np.array(line.scales),
        theta,
        factor,
        np.zeros(n_actions),
        np.zeros(n_actions),
        np.zeros((n_actions, p)),
        np.zeros(1, dtype=np.int64),
        np.zeros(p),
        float(max(line.n_rows, 1)),
        np.array([worth * max(line.gain, 0.0)]),
        np.array([worth * told, worth]),
        np.zeros(p),
        np.zeros((N_SCRATCH, p)),
    )
