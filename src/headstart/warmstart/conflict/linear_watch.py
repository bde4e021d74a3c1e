"""A running test of conflict between log and users that allows for whom an action was shown to.

A policy that decides by context shows an action to users it chose, whose mean is not that of all. So users' outcomes
are compared with what the log's rows of the action predict for these users' contexts. Per action

    y = phi(x)'theta + delta 1{a user} + sigma e,   e ~ N(0, 1),   phi(x) = (1, x in standard units of the log)

Without conflict delta = 0; with one, delta ~ N(0, g sigma^2). theta and sigma have the right Haar prior (flat,
1 / sigma) in both models, and both have learnt the log's n_a rows of the action. The predictive density of an outcome
is then Student's t with nu = n_a - m + users so far, at phi'theta, of squared scale s R / nu: s = 1 + phi'V^-1 phi,
and R is the sum of squares left, to which each one-step error adds e^2 / s. The Bayes factor, alternative over null,
telescopes after n users to

    B = prod (s_0 / s_1)^(1/2) (R_0 / R_1)^((n_a - m + n) / 2)

For normal outcomes linear in x it is a martingale that starts at 1 (a) for every theta and sigma, if whom an action
is shown to does not depend on outcomes, or only on what a change of their origin, scale and slopes leaves as it is
(Hendriksen, de Heide and Grunwald 2021); (b) for any policy, on average over theta and sigma as the log leaves them,
as the policy's choices cancel from the ratio. But for one theta and a policy that learns it can grow without a
conflict: where actions are equal, each is shown where it looks better than it is and dropped where it looks worse, in
every direction of x at once, and one shift explains that better than m slopes do. With 40 columns and a greedy policy
four runs in ten alarmed. Hence the null's slopes are fitted instead of averaged over. That costs B what users tell of
the slopes, (det C_pooled / det C_log)^(1/2) with C the scatter of contexts around their mean, and leaves

    evidence = (1 + n / n_a)^(1/2) prod s_1^(-1/2) (R_0 / R_1)^((n_a - m + n) / 2)  <=  B

So in (a) and (b) the chance that it ever reaches 2 K / level for one of K actions is at most level / 2. For learning
policies and outcomes that are not normal the level is measured (METHODS.md), not proved. Without contexts it is
ConflictWatch's evidence. Origin and scale of outcomes do not matter, nor do linear maps of contexts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats, Integers, Scratch
from headstart.checks import NO_CONTEXT, check_context, check_number
from headstart.errors import OptionError
from headstart.kernels import implements, kernel
from headstart.kernels.ridge import N_SCRATCH, PHI, dot, factors_of, learn_row, padded
from headstart.kernels.tally import Tally, add_to_tally, new_tally
from headstart.logs.log import Log
from headstart.warmstart.conflict.conflicts import Conflict, Watch, judge_evidence, log_evidence, see

_TOLERANCE = 1e-10  # the share of a column's squares that the columns before it must leave unexplained
_ROUNDING = 1e-24  # residuals below it, in squared outcomes, are rounding: the log shows no noise


class LinWatchState(NamedTuple):
    tally: Tally  # users' outcomes, up to a conflict
    columns: Integers  # (m - 1,) the columns of x in phi
    centers: Floats  # (m - 1,) their means in the log
    weights: Floats  # (m - 1,) one over their standard deviations
    origins: Floats  # (K,) what outcomes are counted from: the mean of the log's rows
    log_theta: Floats  # (K, p) of the log alone
    theta: Floats  # (2 K, p) row 2 a without conflict, row 2 a + 1 with one
    factors: Floats  # (2 K, p, p)
    squares: Floats  # (2 K,) R
    spreads: Floats  # (K,) sum of log s_1
    freedoms: Floats  # (K,) n_a - m, plus users
    log_means: Floats  # (K,) what the log predicted for the users so far, on average
    log_sizes: Floats  # (K,) the log's rows; 0: not tested
    scratch: Scratch  # (N_SCRATCH, p)
    rounds: Integers  # (1,) outcomes seen, of all actions
    conflicts: Floats  # (K, 5) as WatchState's
    limit: float  # the log-evidence that is a conflict

    @property
    def is_predicted(self) -> bool:
        """The log is asked for these users' contexts."""
        return True


@implements(log_evidence, LinWatchState)
def _log_evidence(state: LinWatchState, action: int) -> float:
    """The logarithm of the evidence for a conflict; 0 without users or without a test."""
    if state.tally.counts[action] == 0.0 or state.log_sizes[action] == 0.0:
        return 0.0
    ratio = state.squares[2 * action] / state.squares[2 * action + 1]
    level = math.log1p(state.tally.counts[action] / state.log_sizes[action])
    return 0.5 * (level - state.spreads[action] + state.freedoms[action] * math.log(ratio))


@kernel
def _learn(state: LinWatchState, model: int, outcome: float) -> float:
    """One more row, phi in the scratch, for one of the models; returns s, the spread of its one-step error."""
    error, spread = learn_row(state.theta[model], state.factors[model], state.scratch, outcome)
    state.squares[model] += error * error / spread
    return spread


@implements(see, LinWatchState)
def _see(state: LinWatchState, context: Floats, action: int, outcome: float) -> bool:
    state.rounds[0] += 1
    if state.log_sizes[action] == 0.0 or state.conflicts[action, 0] > 0.0:
        return False
    add_to_tally(state.tally, action, outcome)
    phi, columns = state.scratch[PHI], state.columns
    length = columns.size + 1
    phi[0] = 1.0
    for j in range(columns.size):
        phi[j + 1] = (context[columns[j]] - state.centers[j]) * state.weights[j]
    origin = state.origins[action]
    predicted = origin + dot(phi, state.log_theta[action])
    state.log_means[action] += (predicted - state.log_means[action]) / state.tally.counts[action]
    _learn(state, 2 * action, outcome - origin)
    phi[length] = 1.0  # the users' indicator
    state.spreads[action] += math.log(_learn(state, 2 * action + 1, outcome - origin))
    phi[length] = 0.0
    state.freedoms[action] += 1.0
    return judge_evidence(state, action)


def new_linear_watch(log: Log, level: float, effect: float) -> LinWatchState:
    """A watch that has seen nobody."""
    if not isinstance(log, Log):
        raise OptionError(f"log must be a Log, rows in memory, got {type(log).__name__}")
    alpha, g = check_number("level", level, 1e-12, 1.0), check_number("effect", effect, low=1e-12)
    k = log.n_actions
    columns, centers, deviations = _choose_columns(log.contexts)
    length = columns.size + 1
    width = padded(length + 1)
    state = LinWatchState(
        new_tally(k),
        columns,
        centers,
        1.0 / deviations,
        origins=np.zeros(k),
        log_theta=np.zeros((k, width)),
        theta=np.zeros((2 * k, width)),
        factors=np.zeros((2 * k, width, width)),
        squares=np.zeros(2 * k),
        spreads=np.zeros(k),
        freedoms=np.zeros(k),
        log_means=np.zeros(k),
        log_sizes=np.zeros(k),
        scratch=np.zeros((N_SCRATCH, width)),
        rounds=np.zeros(1, dtype=np.int64),
        conflicts=np.zeros((k, 5)),
        limit=0.0,
    )
    for action in range(k):
        rows = np.flatnonzero(log.actions == action)
        if rows.size > length + 1:
            phi = np.ones((rows.size, length))
            phi[:, 1:] = (log.contexts[np.ix_(rows, columns)] - centers) / deviations
            _fit(state, action, phi, log.outcomes[rows], g)
    n_tested = int(np.count_nonzero(state.log_sizes))
    return state._replace(limit=math.log(2.0 * max(n_tested, 1) / alpha))


def _fit(state: LinWatchState, action: int, phi: Floats, outcomes: Floats, effect: float) -> None:
    """Both models of an action after the log's rows of it; nothing if they do not determine theta and sigma."""
    n, length = phi.shape
    gram = phi.T @ phi
    if _independent(gram).size < length:
        return
    (factor,) = factors_of(gram[None])
    inverse = factor[:length, :length] @ factor[:length, :length].T
    origin = outcomes.mean()
    rest, theta = outcomes - origin, np.zeros(length)
    for _ in range(2):  # the second solve takes away the rounding of the first
        step = inverse @ (phi.T @ rest)
        theta += step
        rest = rest - phi @ step
    residual = float(rest @ rest)
    if residual <= _ROUNDING * float(outcomes @ outcomes):
        return
    state.origins[action], state.log_sizes[action], state.freedoms[action] = origin, n, n - length
    state.log_theta[action, :length] = theta
    for model in (2 * action, 2 * action + 1):
        state.theta[model, :length] = theta
        state.factors[model, :length, :length] = factor[:length, :length]
        state.squares[model] = residual
    state.factors[2 * action + 1, length, length] = math.sqrt(effect)  # d is independent of theta a priori


def _choose_columns(contexts: Floats) -> tuple[Integers, Floats, Floats]:
    """The columns that the constant and those before them do not determine, with their means and deviations.

    Constant ones go, and one category of each categorical column, whose 0/1 columns add up to 1.
    """
    centers = contexts.mean(axis=0)
    apart = contexts - centers
    # A constant's deviations are rounding of its mean.
    apart[:, np.abs(apart).max(axis=0, initial=0.0) <= 1e-12 * np.abs(centers)] = 0.0
    columns = _independent(apart.T @ apart)
    return columns, centers[columns], np.sqrt((apart[:, columns] ** 2).mean(axis=0))


def _independent(gram: Floats) -> Integers:
    """The columns behind a Gram matrix that are no linear combination of those before them."""
    scales = np.sqrt(np.diag(gram))
    scales[scales == 0.0] = np.inf
    rest, kept = gram / np.outer(scales, scales), []
    for j in range(len(rest)):
        if rest[j, j] > _TOLERANCE:
            kept.append(j)
            rest -= np.outer(rest[:, j], rest[j]) / rest[j, j]
    return np.array(kept, dtype=np.int64)


class LinConflictWatch(Watch[LinWatchState]):
    """Looks for actions whose users contradict what the log predicts for their contexts; told every outcome.

    Parameters
    ----------
    log
        A Log; the watch takes contexts of all its columns, whichever of them the policy decides on.
    level
        The chance of a false alarm, for any of the actions, ever.
    effect
        The variance of the conflict that is looked for, in squared standard deviations of an outcome around its
        prediction (ConflictWatch says more).

    It assumes outcomes that are linear in the columns with a constant noise. If the truth is bent it alarms without
    a conflict: a policy picks the users of an action, and the line that fits the log's rows does not fit those. Give
    the log columns in which outcomes are nearly straight. It looks for a shift of the level alone; a conflict in the
    slopes is found as far as the users of the action feel it as one.

    An action is tested if the log has at least two rows of it more than coefficients, if they tell the coefficients
    apart, and if outcomes vary around the fit (`is_tested`); others do not share the level. An action in conflict is
    no longer followed. An update costs O(m^2) for m coefficients.

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
    >>> watch = hs.LinConflictWatch(log)
    >>> print(watch.update([0.0, 0.0], 0, outcome=0.0))  # no conflict so far
    None
    """

    def __init__(self, log: Log, level: float = 0.05, effect: float = 0.0625) -> None:
        super().__init__(new_linear_watch(log, level, effect))
        self.n_features = log.n_features

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> Conflict | None:
        """One more user's outcome; the conflict, if it is found just now."""
        user = check_context(context, self.n_features) if self.n_features else NO_CONTEXT
        return self._tell(user, action, outcome)

    @property
    def is_tested(self) -> Bools:
        """Of which actions the log knows enough, (K,)."""
        return self._state.log_sizes > 0.0
