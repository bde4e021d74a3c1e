"""What a log says of each action, as a prior that leaves room for its being wrong (after Schmidli et al. 2014).

Before any user, the mean of an action is, with chance `trust`, what the log says: N(m_a, s_a^2). Otherwise the log
is wrong about it: it is a rival, N(M, (0.6 S)^2) around the largest mean M of the log, or anything, N(centre,
S^2) around their average; S^2 = the outcomes' variance + the variance of the log's means between actions. The
rival is what protects a best action that the log makes look bad: the one mistake that no outcome reveals unless it
is played. Outcomes are normal with the log's variance, which counts as 30 outcomes at most and is corrected by
users. Where all are 0 or 1 the components are Beta distributions instead: the log's counts on top of one success or
failure at the average rate, and a rival that is worth as little, around the best.

With chance 1/2 the level of all actions is another one than the log's, off by N(0, S^2): the log's components and
the rival move together (`kernels.levels`). Not for 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats
from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.kernels.beliefs import Belief
from headstart.kernels.levels import Levels, new_levels
from headstart.kernels.moments import Moments
from headstart.priors.components import Axes, Components, label_sets
from headstart.priors.options import LevelOptions, LoggedPriorOptions

LOGGED, RIVAL, VAGUE = range(3)  # the prior's components; of several logs L sets of them, then the last two
DOUBTS = ("rival of the best", "anything")


class TrustReadings(NamedTuple):
    """What an oracle that starts from a log believes, per action, (K,) each, for people and pages."""

    counts: Floats  # online plays
    means: Floats  # of the posterior
    lower: Floats  # means - 1.96 standard errors
    upper: Floats
    standard_errors: Floats  # the posterior's standard deviation
    trust: Floats  # the chance, by now, that the log is right about the action


@dataclass(frozen=True, eq=False)
class LoggedPrior:
    """A mixture of distributions of each action's mean: what the log says, a rival, anything."""

    chances: Floats  # (K, J) of the components
    centres: Floats  # (K, J)
    sizes: Floats  # (K, J) plays that they are worth: the variance of a mean is the outcomes' / size
    others: Floats  # (J,) chances without the log
    variances: Floats  # (K,) of an outcome; 0: unknown, the users' will stand in
    freedoms: Floats  # (K,) outcomes that this variance is worth
    spread: float  # S: of outcomes, over all actions; 0: unknown
    is_binary: bool  # outcomes are 0 and 1, and the components Beta distributions; else normal ones
    levels: LevelOptions  # how far the level of all actions may be off
    action_names: tuple[object, ...]
    believed: Bools | None = None  # (K, J - 2, S) of several logs: which a component believes (`priors.several`)

    @classmethod
    def of_summary(
        cls,
        summary: Summary,
        trust: Floats,
        options: LoggedPriorOptions = LoggedPriorOptions(),
        action_names: Sequence[object] | None = None,
        *,
        is_binary: bool = False,
    ) -> Self:
        """The prior that a log's summary is, if the log is right about each action with chance `trust`, (K,)."""
        k = len(trust)
        known = check_known(summary, k)
        wrong, share = 1.0 - np.where(known.sizes > 0.0, trust, 0.0), options.rival_share
        made = (make_binary if is_binary else make_normal)(known, options)
        return cls(
            chances=np.stack([1.0 - wrong, wrong * share, wrong * (1.0 - share)], axis=1),
            centres=made.centres,
            sizes=made.sizes,
            others=np.array([0.0, share, 1.0 - share]),
            variances=made.variances,
            freedoms=made.freedoms,
            spread=made.spread,
            is_binary=is_binary,
            levels=options.levels,
            action_names=tuple(range(k) if action_names is None else action_names),
        )

    @property
    def n_actions(self) -> int:
        return len(self.chances)

    @property
    def worth(self) -> Floats:
        """Users who would tell as much of each action's mean as the log does, as far as it is believed, (K,)."""
        return np.array((self.chances * self.sizes)[:, : self.n_logged].sum(axis=1))

    @property
    def n_logged(self) -> int:
        """Components that believe the log: 1; of several logs, the sets of them."""
        return self.chances.shape[1] - len(DOUBTS)

    @property
    def components(self) -> Components:
        """Chance, mean and standard deviation of each component."""
        around = self.centres * (1.0 - self.centres) if self.is_binary else self.variances[:, None]
        errors = np.sqrt(around / (self.sizes + 1.0 if self.is_binary else self.sizes))
        labels = tuple((*logged, *DOUBTS) for logged in label_sets(self.believed, self.n_actions))
        return Components(labels, self.chances, self.centres, errors)

    def weakened(self, share: float) -> LoggedPrior:
        """The same prior with the log counted `share` times: it says the same, and is worth so much less."""
        sizes = self.sizes.copy()
        sizes[:, : self.n_logged] *= check_number("share", share, 1e-9, 1.0)
        return replace(self, sizes=sizes)

    def new_belief(self) -> Belief:
        """The arrays that an oracle works on, to be settled (`kernels.beliefs`) before the first user."""
        with np.errstate(divide="ignore"):
            log_priors, log_others = np.log(self.chances), np.log(self.others)
        levels = self._new_levels()
        posterior = self.chances.copy(), self.centres.copy(), np.zeros(self.centres.shape)
        users = self.sizes.copy(), np.zeros(levels.offsets.size)
        known = self.centres.copy(), self.sizes.copy(), log_priors, log_others, self.variances.copy()
        return Belief(*known, self.freedoms.copy(), self.is_binary, levels, *posterior, *users)

    def _new_levels(self) -> Levels:
        """The log's level and, where it may be off, a grid of others around it."""
        options, shape = self.levels, (self.n_actions, self.centres.shape[1])
        if self.is_binary or self.spread == 0.0 or options.still == 1.0:
            return new_levels(np.zeros(1), np.ones(1), 0.0, shape)
        most = int(options.reach / options.step)
        steps = options.step * np.arange(-most, most + 1)
        around = np.exp(-0.5 * (steps / options.off) ** 2)
        chances = np.concatenate([[options.still], (1.0 - options.still) * around / around.sum()])
        width = (options.step * self.spread) ** 2 / 12.0
        return new_levels(self.spread * np.concatenate([[0.0], steps]), chances, width, shape)

    def plot(self, axes: Axes) -> None:
        """Draw the components of each action's mean on matplotlib axes."""
        self.components.plot(axes, self.action_names)

    def __str__(self) -> str:
        return self.components.describe(self.action_names, self.worth)


class Made(NamedTuple):
    """Components of a likelihood."""

    centres: Floats  # (K, 3)
    sizes: Floats  # (K, 3)
    variances: Floats  # (K,)
    freedoms: Floats  # (K,)
    spread: float


class LoggedMeans(NamedTuple):
    """What a log knows of each action, (K,); size 0 for an action of which it knows nothing."""

    means: Floats
    sizes: Floats  # plays that would know as much
    variances: Floats  # of an outcome
    tails: float  # outcomes that tell as much of a variance as one normal one


def make_normal(known: LoggedMeans, options: LoggedPriorOptions) -> Made:
    """Normal outcomes: N(m, s^2) as the log says, and around its best mean and the average of all."""
    means, sizes, variances, tails = known
    k, is_known = means.size, sizes > 0.0
    centre, top, between = 0.0, 0.0, 0.0
    if is_known.any():
        centre, top = float(means[is_known].mean()), float(means[is_known].max())
        between = float(((means[is_known] - centre) ** 2).sum() / max(is_known.sum() - 1, 1))
    own, pooling = np.maximum(sizes - 1.0, 0.0), options.pooling * tails
    pooled = (float((own * variances).sum()) + between) / (float(own.sum()) + 1.0)
    variance = (own * variances + pooling * pooled) / (own + pooling)
    unit = variance / (pooled + between) if pooled > 0.0 else np.ones(k)  # plays that N(., S^2) is worth
    return Made(
        centres=np.stack([np.where(is_known, means, centre), np.full(k, top), np.full(k, centre)], axis=1),
        sizes=np.stack([np.where(is_known, sizes, unit), unit / options.rival_width**2, unit], axis=1),
        variances=variance,
        freedoms=np.clip(own, pooling, options.most_freedom * tails) if pooled > 0.0 else np.full(k, pooling),
        spread=float(np.sqrt(pooled + between)) if pooled > 0.0 else 0.0,
    )


def make_binary(known: LoggedMeans, options: LoggedPriorOptions) -> Made:
    """Outcomes 0 and 1: before the log a chance is Beta distributed around the average of all, worth one success or
    one failure, whichever is rarer; the log's outcomes are counted on top. A rival is as vague, around the best."""
    means, sizes = known.means, known.sizes
    k, is_known = means.size, sizes > 0.0
    seen = np.clip(means, 0.0, 1.0)
    n = float(sizes.sum())
    average = (float((sizes * seen).sum()) + 0.5) / (n + 1.0)
    vague = 1.0 / min(average, 1.0 - average)
    counted = (sizes * seen + vague * average) / (sizes + vague)
    top = float(counted[is_known].max()) if is_known.any() else average
    rival = 1.0 / min(top, 1.0 - top)
    return Made(
        centres=np.stack([counted, np.full(k, top), np.full(k, average)], axis=1),
        sizes=np.stack([sizes + vague, np.full(k, rival), np.full(k, vague)], axis=1),
        variances=counted * (1.0 - counted),
        freedoms=np.clip(sizes, options.pooling, options.most_freedom) * _tails_of_chance(average),
        spread=float(np.sqrt(average * (1.0 - average))),
    )


def _tails_of_chance(chance: float) -> float:
    """`Summary.tails` of outcomes 0 and 1, whose kurtosis is 1 / (p (1 - p)) - 3."""
    return max(1.0, 0.5 / (chance * (1.0 - chance)) - 2.0)


def read_belief(tally: Moments, belief: Belief) -> TrustReadings:
    """Posterior mean and standard error per action, and how far the log is still trusted."""
    freedom = (belief.freedoms + tally.counts)[:, None]
    tails = 1.0 if belief.is_binary else freedom / (freedom - 2.0)  # Student's variance over its squared scale
    means = (belief.weights * belief.locations).sum(axis=1)
    around = (belief.locations - means[:, None]) ** 2
    errors = np.sqrt((belief.weights * (belief.scales**2 * tails + around)).sum(axis=1))
    half = 1.959963984540054 * errors
    trust = belief.weights[:, : -len(DOUBTS)].sum(axis=1)
    return TrustReadings(tally.counts.copy(), means, means - half, means + half, errors, trust)


def trust_among(n_actions: int, trust: float = LoggedPriorOptions.trust) -> float:
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


def check_known(summary: Summary, n_actions: int) -> LoggedMeans:
    """What the log knows of each action."""
    if not isinstance(summary, Summary):
        raise OptionError(f"summary must be a Summary (evaluator.summary()), got {type(summary).__name__}")
    if len(summary.means) != n_actions:
        raise OptionError(f"summary must be of {n_actions} actions, got {len(summary.means)}")
    sizes = np.asarray(summary.effective_sizes, dtype=np.float64)
    is_known = (sizes > 0.0) & np.isfinite(summary.means) & np.isfinite(summary.variances)
    means, variances = np.where(is_known, summary.means, 0.0), np.where(is_known, summary.variances, 0.0)
    return LoggedMeans(means, np.where(is_known, sizes, 0.0), variances, summary.tails)
