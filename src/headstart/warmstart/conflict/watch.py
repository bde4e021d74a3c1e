"""A running test of conflict between what the log says of an action and what its users do, valid at any time.

Evidence is the Bayes factor of a two-sample t test: the log counts as N outcomes with mean m and variance v (a
Summary's, so its standard error is sqrt(v / N)), the users' n outcomes are the other sample, and the alternative is
that the means differ by delta standard deviations, delta ~ N(0, g). With t = (ybar - m) / (s sqrt(1/n + 1/N)),
nu = N + n - 2, s^2 = ((N - 1) v + sum (y - ybar)^2) / nu and r = 1 + g / (1/n + 1/N),

    evidence = r^(-1/2) ((1 + t^2 / nu) / (1 + t^2 / (nu r)))^((nu + 1) / 2)      (Gonen et al. 2005)

Under no conflict and normal outcomes of any mean and variance it is a martingale that starts at 1 (Hendriksen, de
Heide and Grunwald 2021), so the chance that it ever reaches 2 K / level for one of K actions is at most level / 2,
whenever one looks and whatever policy chose the plays. The other half of the level is kept for outcomes that are not
normal, for which it is measured (METHODS.md) and not proved.

One user is no conflict: where successes are rare, or few pay and those who do pay much, a single early one is far
from what the log says, and the factor above is large. So where the user who says most against the log (the largest
outcome if users are above it, the smallest if below) is more than 4 of the log's standard deviations from its mean,
the evidence is also computed without them, and the smaller of the two counts. It is never more than the martingale,
so that what is proved of it still holds, and normal outcomes are hardly ever so far.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.checks import NO_CONTEXT, check_number
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.kernels import implements, kernel
from headstart.kernels.moments import Moments, add_to_moments, new_moments
from headstart.warmstart.conflict.conflicts import Conflict, Watch, judge_evidence, log_evidence, see

_FAR = 4.0  # of the log's standard deviations: further, one user alone is no conflict
_LEAST_SIZE = 2.0  # a log worth less knows no variance, and nothing worth a test


class WatchState(NamedTuple):
    tally: Moments  # users' outcomes
    ends: Floats  # (K, 2) the smallest and the largest of them
    log_means: Floats  # (K,)
    log_sizes: Floats  # (K,) 0: the log says nothing of the action
    log_variances: Floats  # (K,)
    rounds: Integers  # (1,) outcomes seen, of all actions
    conflicts: Floats  # (K, 5) round, plays, users' mean, log-evidence, the log's mean at the alarm; 0 before
    effect: float  # g, the variance of the standardised conflict that is looked for
    limit: float  # the log-evidence that is a conflict

    @property
    def is_predicted(self) -> bool:
        """The log is asked for its mean over all users."""
        return False


@implements(log_evidence, WatchState)
def _log_evidence(state: WatchState, action: int) -> float:
    """The logarithm of the Bayes factor for a conflict; 0 without users or without a log."""
    n, mean, squares = state.tally.counts[action], state.tally.means[action], state.tally.squares[action]
    if n == 0.0 or state.log_sizes[action] == 0.0:
        return 0.0
    evidence = _judge(state, action, n, mean, squares)
    most = state.ends[action, 1 if mean > state.log_means[action] else 0]
    if (most - state.log_means[action]) ** 2 <= _FAR * _FAR * state.log_variances[action]:
        return evidence
    if n == 1.0:
        return 0.0
    others = (state.tally.sums[action] - most) / (n - 1.0)
    left = max(squares - (most - mean) * (most - others), 0.0)
    return min(evidence, _judge(state, action, n - 1.0, others, left))


@kernel
def _judge(state: WatchState, action: int, n: float, mean: float, squares: float) -> float:
    """The logarithm of the Bayes factor for n users with this mean and these squared deviations."""
    size = state.log_sizes[action]
    spread = (size - 1.0) * state.log_variances[action] + squares
    if spread <= 0.0:
        return 0.0
    apart = mean - state.log_means[action]
    nu = n + size - 2.0
    harmonic = 1.0 / (1.0 / n + 1.0 / size)
    ratio = apart * apart * harmonic / spread  # t^2 / nu
    r = 1.0 + state.effect * harmonic
    return 0.5 * (nu + 1.0) * (math.log1p(ratio) - math.log1p(ratio / r)) - 0.5 * math.log(r)


@implements(see, WatchState)
def _see(state: WatchState, context: Floats, action: int, outcome: float) -> bool:
    is_first = state.tally.counts[action] == 0.0
    state.ends[action, 0] = outcome if is_first else min(state.ends[action, 0], outcome)
    state.ends[action, 1] = outcome if is_first else max(state.ends[action, 1], outcome)
    add_to_moments(state.tally, action, outcome, 0.0)
    state.rounds[0] += 1
    return state.conflicts[action, 0] == 0.0 and judge_evidence(state, action)


def new_watch(summary: Summary, level: float, effect: float) -> WatchState:
    """A watch that has seen nobody."""
    if not isinstance(summary, Summary):
        raise OptionError(f"summary must be a Summary (evaluator.summary()), got {type(summary).__name__}")
    k = summary.n_actions
    alpha = check_number("level", level, 1e-12, 1.0)
    sizes = summary.effective_sizes
    is_known = np.isfinite(summary.means) & (sizes >= _LEAST_SIZE)
    means, sizes, variances = (
        np.where(is_known, values, 0.0).astype(np.float64) for values in (summary.means, sizes, summary.variances)
    )
    return WatchState(
        new_moments(k),
        np.zeros((k, 2)),
        means,
        sizes,
        variances,
        np.zeros(1, dtype=np.int64),
        np.zeros((k, 5)),
        check_number("effect", effect, low=1e-12),
        math.log(2.0 * max(int(is_known.sum()), 1) / alpha),
    )


class ConflictWatch(Watch[WatchState]):
    """Looks for actions whose users contradict the log; told every outcome, it answers at each.

    Parameters
    ----------
    summary
        What the log knows of each action.
    level
        The chance of a false alarm, for any of the actions, ever.
    effect
        The variance of the conflict that is looked for, in squared standard deviations of an outcome: 1/16 looks
        for about a quarter of a standard deviation, and needs some eight users of an action to find even the largest
        conflict. A larger one is quicker for large conflicts, and gives false alarms where successes are rare: an
        early one looks like a conflict.

    An action of which the log knows nothing (worth fewer than two plays) is not tested, and does not share the level.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> summary = hs.Summary(np.array([0.5, 0.5]), np.array([0.05, 0.05]), np.array([0.25, 0.25]))
    >>> watch = hs.ConflictWatch(summary)
    >>> print(watch.update(0, outcome=1.0))  # no conflict so far
    None
    """

    def __init__(self, summary: Summary, level: float = 0.05, effect: float = 0.0625) -> None:
        super().__init__(new_watch(summary, level, effect))

    def update(self, action: int, outcome: float) -> Conflict | None:
        """One more user's outcome; the conflict, if it is found just now."""
        return self._tell(NO_CONTEXT, action, outcome)
