"""What a log says of each action, as a prior that leaves room for its being wrong (after Schmidli et al. 2014).

Before any user, the mean of an action is, with chance `trust`, what the log says: N(m_a, s_a^2). Otherwise the log
is wrong about it: it is a rival, N(M, (0.6 S)^2) around the largest mean M of the log, or anything, N(centre,
S^2) around their average; S^2 = the outcomes' variance + the variance of the log's means between actions. The
rival is what protects a best action that the log makes look bad: the one mistake that no outcome reveals unless it
is played. Outcomes are normal with the log's variance, which counts as 30 outcomes at most and is corrected by
users.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.kernels.beliefs import Belief
from headstart.kernels.moments import Moments

TRUST = 0.8  # in a log of two actions; see `trust_among`
RIVAL_SHARE = 1.0  # of the distrust; the rest is vague
RIVAL_WIDTH = 0.6  # of the spread S: how far from the best action's mean a rival's may be
POOLING = 8.0  # outcomes' worth of the pooled variance in each action's own, as in ThompsonNormal
MOST_FREEDOM = 30.0  # outcomes' worth of the log's variance at most: users correct a wrong one soon

LOGGED, RIVAL, VAGUE = range(3)  # the prior's components


class TrustReadings(NamedTuple):
    """What an oracle that starts from a log believes, per action, (K,) each, for people and pages."""

    counts: Floats  # online plays
    means: Floats  # of the posterior
    lower: Floats  # means - 1.96 standard errors
    upper: Floats
    standard_errors: Floats  # the posterior's standard deviation
    trust: Floats  # the chance, by now, that the log is right about the action


def new_belief(n_actions: int, summary: Summary, trust: Floats, rival_share: float = RIVAL_SHARE) -> Belief:
    """The prior, before any user. Its posterior has to be refreshed, once for each action."""
    share = check_number("rival_share", rival_share, low=0.0, high=1.0)
    means, sizes, variances = check_known(summary, n_actions)
    is_known = sizes > 0.0
    centre, top, between = 0.0, 0.0, 0.0
    if is_known.any():
        centre, top = float(means[is_known].mean()), float(means[is_known].max())
        between = float(((means[is_known] - centre) ** 2).sum() / max(is_known.sum() - 1, 1))
    own = np.maximum(sizes - 1.0, 0.0)
    pooled = (float((own * variances).sum()) + between) / (float(own.sum()) + 1.0)
    variance = (own * variances + POOLING * pooled) / (own + POOLING)
    unit = variance / (pooled + between) if pooled > 0.0 else np.ones(n_actions)  # plays that N(., S^2) is worth
    wrong = 1.0 - np.where(is_known, trust, 0.0)
    chances = np.stack([1.0 - wrong, wrong * share, wrong * (1.0 - share)], axis=1)
    with np.errstate(divide="ignore"):
        log_priors, log_others = np.log(chances), np.log([0.0, share, 1.0 - share])
    centres = np.stack(
        [np.where(is_known, means, centre), np.full(n_actions, top), np.full(n_actions, centre)], axis=1
    )
    plays = np.stack([np.where(is_known, sizes, unit), unit / RIVAL_WIDTH**2, unit], axis=1)
    freedoms = np.clip(own, POOLING, MOST_FREEDOM) if pooled > 0.0 else np.full(n_actions, POOLING)
    posterior = (chances, centres.copy(), np.zeros(centres.shape))
    return Belief(centres, plays, log_priors, log_others, variance, freedoms, *posterior)


def read_belief(tally: Moments, belief: Belief) -> TrustReadings:
    """Posterior mean and standard error per action, and how far the log is still trusted."""
    freedom = (belief.freedoms + tally.counts)[:, None]
    means = (belief.weights * belief.locations).sum(axis=1)
    around = (belief.locations - means[:, None]) ** 2
    errors = np.sqrt((belief.weights * (belief.scales**2 * freedom / (freedom - 2.0) + around)).sum(axis=1))
    half = 1.959963984540054 * errors
    trust = belief.weights[:, LOGGED].copy()
    return TrustReadings(tally.counts.copy(), means, means - half, means + half, errors, trust)


def trust_among(n_actions: int, trust: float = TRUST) -> float:
    """The chance that a log is right about one of K actions, if it is `trust` among two: 1 - (1 - trust) 2 / K.

    A log is not wrong more often because it has more actions, and doubt about each of many is dear.
    """
    return 1.0 - (1.0 - trust) * 2.0 / max(n_actions, 2)


def check_trust(trust: ArrayLike | None, n_actions: int) -> Floats:
    """A chance per action, (K,), from one number or one for each; None: the usual one."""
    if trust is None:
        trust = trust_among(n_actions)
    try:
        chances = np.broadcast_to(np.asarray(trust, dtype=np.float64), (n_actions,)).copy()
    except (TypeError, ValueError):
        raise OptionError(f"trust must be a number or {n_actions} of them, got {trust!r}") from None
    if not ((chances >= 0.0) & (chances <= 1.0)).all():
        raise OptionError(f"trust must be in [0, 1], got {trust!r}")
    return chances


def check_known(summary: Summary, n_actions: int) -> tuple[Floats, Floats, Floats]:
    """Means, effective sizes and variances, (K,) each; size 0 for an action of which the log knows nothing."""
    if not isinstance(summary, Summary):
        raise OptionError(f"summary must be a Summary (evaluator.summary()), got {type(summary).__name__}")
    if summary.n_actions != n_actions:
        raise OptionError(f"summary must be of {n_actions} actions, got {summary.n_actions}")
    sizes = np.asarray(summary.effective_sizes, dtype=np.float64)
    is_known = (sizes > 0.0) & np.isfinite(summary.means) & np.isfinite(summary.variances)
    means, variances = np.where(is_known, summary.means, 0.0), np.where(is_known, summary.variances, 0.0)
    return means, np.where(is_known, sizes, 0.0), variances
