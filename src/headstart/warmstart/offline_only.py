"""OfflineOnly: decide by the log alone, for good. The paper's "only offline" baseline."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.checks import Available
from headstart.kernels import implements, play, probabilities, update
from headstart.parts import Evaluator, Oracle
from headstart.randomness import RNG
from headstart.warmstart.virtual_plays import end_round
from headstart.warmstart.warmstart import Schedule, WarmStart


class OfflineOnlyState(NamedTuple):
    policy: Any  # a warm start


@implements(play, OfflineOnlyState)
def _play(state: Any, context: Any, available: Any) -> Any:
    return play(state.policy, context, available)


@implements(update, OfflineOnlyState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    end_round(state.policy, context)


@implements(probabilities, OfflineOnlyState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    probabilities(state.policy, context, available, out)


class OfflineOnly:
    """The oracle's choices after virtual plays alone: no user's outcome is ever learnt.

    With `Greedy` and the batch schedule it is causal inference followed by a commitment: Algorithm 2 once, then the
    action with the best estimated mean, ties to the lowest index. With `schedule="each-round"` the offline phase of
    Algorithm 1 goes on before each user. That matters to an evaluator whose None is no end: linear regression says
    it of a context that it has nothing to add to, and Algorithm 2 takes the first one for the end of the action.
    The oracle chooses what to ask there, so a greedy one with separate models per action asks about one alone.
    """

    def __init__(
        self,
        oracle: Oracle,
        evaluator: Evaluator,
        contexts: Any = None,
        schedule: Schedule = "batch",
        rng: RNG = None,
    ) -> None:
        self.policy = WarmStart(oracle, evaluator, contexts, schedule=schedule, rng=rng)
        self.n_actions, self.n_features = oracle.n_actions, self.policy.n_features

    @property
    def kernel_state(self) -> Any:
        """The state for the compiled loops, or None if a part has no kernels."""
        inner = self.policy.kernel_state
        return None if inner is None else OfflineOnlyState(inner)

    @property
    def virtual_plays(self) -> Integers:
        """Virtual plays per action, (K,)."""
        return self.policy.virtual_plays

    def play(self, context: ArrayLike | None = None, available: Available = None) -> int:
        """The oracle's choice, from the log alone."""
        return self.policy.play(context, available)

    def probabilities(self, context: ArrayLike | None = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""
        return self.policy.probabilities(context, available)

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> None:
        """Nothing is learnt: it never learns online."""
        self.policy.end_round(context)

    def reserve(self, rounds: int) -> None:
        """Make room for this many online contexts."""
        self.policy.reserve(rounds)

    def reseed(self, rng: RNG) -> None:
        """New randomness for the oracle and the virtual users."""
        self.policy.reseed(rng)
