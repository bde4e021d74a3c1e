"""KnowledgeGradient: the best so far, or what is worth learning about while so many users are to come."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats, Scratch, Words
from headstart.checks import Available, check_available, check_n_actions, check_number, check_outcome, check_whole
from headstart.errors import OutcomeError
from headstart.estimates.summary import Summary
from headstart.kernels import absorb, expect, implements, kernel, play, probabilities, release, update, withdraw
from headstart.kernels.arrays import total
from headstart.kernels.beliefs import Belief, learn, settle, take_log_back
from headstart.kernels.choice import draw_available, fill_uniform
from headstart.kernels.moments import Moments
from headstart.kernels.random import draw_uniform
from headstart.kernels.remaining import NOT_TOLD, users_to_come
from headstart.kernels.worth import mean_of, worth_of
from headstart.oracles.beliefs import BelievingOracle
from headstart.parts import Weighing
from headstart.priors.logged import LOGGED, LoggedPrior, check_trust
from headstart.randomness import RNG, as_words

LAST = 0.5  # of the horizon, or of the users so far once it is passed: users to come at least


@dataclass(frozen=True)
class KnowledgeGradientOptions:
    """How far what is not known yet is explored (docs/reference.md)."""

    caution: float = 6.0  # how many times counts what is gained by finding the log wrong
    # Standard errors of its users' mean that the log may hold an action above it; more for one that is rarely
    # played, so that a few bad outcomes do not end it.
    cap: float = 2.0
    growth: float = 0.5
    greedy: float = 0.5  # the chance of the best so far, while another action is worth learning about

    def __post_init__(self) -> None:
        for name in ("caution", "cap", "growth"):
            check_number(name, vars(self)[name], low=0.0)
        check_number("greedy", self.greedy, 0.0, 1.0)


class KnowledgeGradientState(NamedTuple):
    tally: Moments
    belief: Belief
    horizon: float  # NOT_TOLD: nobody named it
    caution: float
    cap: float
    growth: float
    greedy: float
    pending: Floats  # (K,) decisions whose outcomes are still to come
    caps: Scratch  # (K,) the most that the log may hold an action for
    rng: Words  # (4,)


@kernel
def _cap(state: KnowledgeGradientState, n_plays: float) -> None:
    """The most that the log may hold each action for, by its own users: nothing yet if there are none."""
    for a in range(state.tally.counts.size):
        n, variance = state.tally.counts[a], state.belief.variances[a]
        state.caps[a] = np.inf
        if n > 0.0 and variance > 0.0 and state.belief.weights[a, LOGGED] < 1.0:  # 1: believed blindly
            squares = state.belief.freedoms[a] * variance + state.tally.squares[a]
            error = math.sqrt(squares / ((state.belief.freedoms[a] + n) * n))
            rarity = max(n_plays / (state.tally.counts.size * n), 1.0)
            state.caps[a] = state.tally.means[a] + error * (
                state.cap + state.growth * math.sqrt(2.0 * math.log(rarity))
            )


@kernel
def _choose(state: KnowledgeGradientState, available: Bools) -> tuple[int, int]:
    """The available action with the largest mean, and the one with the largest mean + worth of learning about it."""
    n_plays = total(state.tally.counts) + total(state.pending)
    _cap(state, n_plays)
    leader, runner_up = -1, -1
    first, second = -np.inf, -np.inf
    for a in range(available.size):
        if available[a]:
            mean = mean_of(state, a)
            if leader < 0 or mean > first:
                runner_up, second = leader, first
                leader, first = a, mean
            elif runner_up < 0 or mean > second:
                runner_up, second = a, mean
    if runner_up < 0:
        return leader, leader
    remaining = users_to_come(state.horizon, n_plays, LAST)
    chosen, largest = leader, first
    for a in range(available.size):
        if available[a] and a != leader:
            mean = mean_of(state, a)
            index = mean + worth_of(state, a, first, remaining, largest - mean, False)
            if index > largest:
                chosen, largest = a, index
    # To know the leader better may be worth as much; asked last, because mostly nothing is worth learning any more.
    if chosen != leader and first + worth_of(state, leader, second, remaining, largest - first, True) >= largest:
        chosen = leader
    return leader, chosen


@kernel
def _weigh(state: KnowledgeGradientState, available: Bools, means: Floats, worths: Floats) -> None:
    """What `_choose` compares: of each available action its mean, and the worth of learning about it."""
    leader, _ = _choose(state, available)
    n_plays = total(state.tally.counts) + total(state.pending)
    remaining = users_to_come(state.horizon, n_plays, LAST)
    second = -np.inf
    for a in range(available.size):
        means[a] = mean_of(state, a) if available[a] else np.nan
        worths[a] = np.nan
        if available[a] and a != leader:
            second = max(second, means[a])
            worths[a] = worth_of(state, a, mean_of(state, leader), remaining, 0.0, False)
    worths[leader] = worth_of(state, leader, second, remaining, 0.0, True) if second > -np.inf else 0.0


@implements(play, KnowledgeGradientState)
def _play(state: KnowledgeGradientState, context: Floats, available: Bools) -> int:
    drawn = draw_uniform(state.rng)
    if state.belief.scales[0, 0] == 0.0:  # all outcomes so far are one number
        return draw_available(drawn, available)
    leader, chosen = _choose(state, available)
    return leader if drawn < state.greedy else chosen


@implements(probabilities, KnowledgeGradientState, allocates=False)
def _probabilities(state: KnowledgeGradientState, context: Floats, available: Bools, out: Floats) -> None:
    if state.belief.scales[0, 0] == 0.0:
        fill_uniform(available, out)
        return
    leader, chosen = _choose(state, available)
    out[:] = 0.0
    out[leader] += state.greedy
    out[chosen] += 1.0 - state.greedy


@implements(update, KnowledgeGradientState)
def _update(state: KnowledgeGradientState, context: Floats, action: int, outcome: float) -> None:
    learn(state, action, outcome, 0.0)


@implements(absorb, KnowledgeGradientState)
def _absorb(state: KnowledgeGradientState, context: Floats, action: int, outcome: float, variance: float) -> None:
    learn(state, action, outcome, variance)


@implements(expect, KnowledgeGradientState)
def _expect(state: KnowledgeGradientState, context: Floats, action: int) -> None:
    state.pending[action] += 1.0


@implements(release, KnowledgeGradientState)
def _release(state: KnowledgeGradientState, context: Floats, action: int) -> None:
    state.pending[action] = max(state.pending[action] - 1.0, 0.0)


implements(withdraw, KnowledgeGradientState)(take_log_back)


class KnowledgeGradient(BelievingOracle[KnowledgeGradientState]):
    """Plays the action with the largest mean, or the one whose trial the users to come would profit from most.

    The prior of an action's mean is what the log says, as far as it is trusted, beside components for a log that
    is wrong about it (`priors.logged`); users re-weigh them, so a log in conflict with them fades by
    itself. With r users to come, m plays of an action are worth (r - m) G(m), where G(m) is by how much the best
    mean is expected to rise through them; the index of an action is its mean + the largest (r - m) G(m) / m over m
    = 1, 2, 4, ..., 512: the knowledge gradient of Frazier, Powell and Dayanik (2008), online as in Ryzhov, Powell
    and Frazier (2012), looking several plays ahead because one alone seldom settles anything (Frazier and Powell
    2010). While the largest index is not that of the largest mean, each of the two is played with chance 1/2;
    afterwards only the best so far is.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    summary
        What the log knows of each action (`evaluator.summary()`). An action it does not show has no logged component.
    trust
        The chance that the log is right about an action: one number in [0, 1], or one per action; 1 - 0.2 / K by
        default. 1: nothing but the log, without a cap. 0: the log serves only for the scale.
    horizon
        Users to come; at least half of it, or of those so far once it is passed, for a stream that goes on. None: not
        known, then as many as have come, and at least 300.
    caution
        How many times what is gained by finding the log wrong counts. 1 has the least regret if `trust` is the chance
        that logs are right; more guards a best action that the log makes look bad, at a price on good logs.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> oracle = hs.KnowledgeGradient(2, hs.IPSWeighting(log).summary(), horizon=1000, rng=1)
    >>> float(oracle.probabilities(None).sum())
    1.0
    """

    def __init__(
        self,
        n_actions: int,
        summary: Summary,
        *,
        trust: ArrayLike | None = None,
        horizon: int | None = None,
        caution: float = KnowledgeGradientOptions.caution,
        rng: RNG = None,
    ) -> None:
        n = check_n_actions(n_actions)
        prior = LoggedPrior.of_summary(summary, check_trust(trust, n))
        options = KnowledgeGradientOptions(caution=caution)
        self._begin(prior, None if horizon is None else check_whole("horizon", horizon), options, rng)

    @classmethod
    def from_prior(
        cls,
        prior: LoggedPrior,
        *,
        horizon: int | None = None,
        options: KnowledgeGradientOptions = KnowledgeGradientOptions(),
        rng: RNG = None,
    ) -> Self:
        """From a prior that was made, printed or weakened before. What comes in was checked where it was made."""
        oracle = cls.__new__(cls)
        oracle._begin(prior, horizon, options, rng)
        return oracle

    def weigh(self, context: ArrayLike | None = None, available: Available = None) -> Weighing | None:
        """What it weighs when it decides; None while all outcomes so far are one number."""
        if self._state.belief.scales[0, 0] == 0.0:
            return None
        mask = self._all if available is None else check_available(available, self.n_actions)
        weighing = Weighing(*np.empty((2, self.n_actions)))
        _weigh(self._state, mask, *weighing)
        return weighing

    def _check_outcome(self, outcome: float) -> float:
        number, (low, high) = check_outcome(outcome), self.outcome_range
        if not low <= number <= high:
            raise OutcomeError(
                f"outcome must be in [0, 1], got {number:g}: the log has only 0 and 1, and the policy learns "
                "the chance of a 1. To learn the mean of other numbers, start from a log that has them"
            )
        return number

    def _begin(self, prior: LoggedPrior, horizon: int | None, options: KnowledgeGradientOptions, rng: RNG) -> None:
        n, belief = prior.n_actions, prior.new_belief()
        settings = (
            NOT_TOLD if horizon is None else float(horizon),
            options.caution,
            options.cap,
            options.growth,
            options.greedy,
        )
        room = np.zeros(n), np.full(n, np.inf)
        super().__init__(n, KnowledgeGradientState(settle(belief), belief, *settings, *room, as_words(rng)))
        if prior.is_binary:
            self.outcome_range = (0.0, 1.0)
