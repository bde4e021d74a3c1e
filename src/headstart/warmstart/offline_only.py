"""OfflineOnly: decide by the log alone, for good. The paper's "only offline" baseline."""

from __future__ import annotations

import math
from typing import NamedTuple

from headstart.arrays import Floats, Integers
from headstart.checks import check_action, check_outcome
from headstart.kernels import implements, play, probabilities, update
from headstart.parts import ContextLike, Evaluator, Oracle, State, Wrapper
from headstart.randomness import RNG
from headstart.warmstart.forwarding import fill_inner, play_inner
from headstart.warmstart.virtual_plays import WarmStartState, end_round
from headstart.warmstart.virtual_users import Contexts
from headstart.warmstart.warmstart import Schedule, WarmStart


class OfflineOnlyState(NamedTuple):
    policy: WarmStartState


implements(play, OfflineOnlyState)(play_inner)
implements(probabilities, OfflineOnlyState)(fill_inner)


@implements(update, OfflineOnlyState)
def _update(state: OfflineOnlyState, context: Floats, action: int, outcome: float) -> None:
    end_round(state.policy, context)


class OfflineOnly(Wrapper):
    """The oracle's choices after virtual plays alone: no user's outcome is ever learnt.

    With `Greedy` and the batch schedule it is causal inference followed by a commitment: Algorithm 2 once, then the
    action with the best estimated mean, ties to the lowest index. With `schedule="each-round"` the offline phase of
    Algorithm 1 goes on before each user. That matters to an evaluator whose None is no end: linear regression says
    it of a context that it has nothing to add to, and Algorithm 2 takes the first one for the end of the action.
    The oracle chooses what to ask there, so a greedy one with separate models per action asks about one alone.

    Parameters
    ----------
    oracle, evaluator
        What learns from the log's answers, and what gives them.
    contexts, schedule
        As in `WarmStart`.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If oracle and evaluator do not fit together, or the schedule is unknown.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> policy = hs.OfflineOnly(hs.Greedy(2), hs.IPSWeighting(log), rng=1)
    >>> log.action_names[policy.play(None)]
    'text'
    """

    def __init__(
        self,
        oracle: Oracle,
        evaluator: Evaluator,
        contexts: Contexts = None,
        schedule: Schedule = "batch",
        rng: RNG = None,
    ) -> None:
        self.policy = WarmStart(oracle, evaluator, contexts, schedule=schedule, rng=rng)

    @property
    def inner(self) -> WarmStart:
        """The warm start."""
        return self.policy

    def around(self, inner: State) -> OfflineOnlyState:
        """The state of the whole around the warm start's."""
        assert isinstance(inner, WarmStartState)
        return OfflineOnlyState(inner)

    @property
    def outcome_range(self) -> tuple[float, float]:
        """Everything: no outcome is learnt."""
        return -math.inf, math.inf

    @property
    def virtual_plays(self) -> Integers:
        """Virtual plays per action, (K,)."""
        return self.policy.virtual_plays

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """Nothing is learnt: it never learns online. What is no action or no outcome is refused all the same."""
        check_action(action, self.n_actions)
        check_outcome(outcome)
        self.policy.end_round(context)

    @property
    def waits(self) -> bool:
        """No: it learns nothing from users."""
        return False

    def expect(self, context: ContextLike, action: int) -> None:
        """Nothing: no outcome will ever be learnt, so none is waited for."""
        check_action(action, self.n_actions)

    def release(self, context: ContextLike, action: int) -> None:
        """Nothing: none was waited for."""
        check_action(action, self.n_actions)
