"""OfflineOnly: decide by the log alone, for good. The paper's "only offline" baseline."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.checks import Available
from headstart.kernels import implements, play, probabilities, update
from headstart.randomness import RNG
from headstart.warmstart import Evaluator, Oracle, WarmStart


class OfflineOnlyState(NamedTuple):
    policy: Any  # a warm start in batch


@implements(play, OfflineOnlyState)
def _play(state: Any, context: Any, available: Any) -> Any:
    return play(state.policy, context, available)


@implements(update, OfflineOnlyState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    return


@implements(probabilities, OfflineOnlyState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    probabilities(state.policy, context, available, out)


class OfflineOnly:
    """Algorithm 2 once, then the oracle's choices without learning from any of them.

    With `Greedy` (the usual choice) it is causal inference followed by a commitment: the action with the
    best estimated mean, ties to the lowest index.
    """

    def __init__(self, oracle: Oracle, evaluator: Evaluator, contexts: Any = None, rng: RNG = None) -> None:
        self.policy = WarmStart(oracle, evaluator, contexts, schedule="batch", rng=rng)
        self.n_actions, self.n_features = oracle.n_actions, self.policy.n_features

    @property
    def kernel_state(self) -> Any:
        """The state for the compiled loops, or None if a part has no kernels."""
        inner = self.policy.kernel_state
        return None if inner is None else OfflineOnlyState(inner)

    @property
    def virtual_plays(self) -> NDArray[np.int64]:
        """Virtual plays per action, (K,)."""
        return self.policy.virtual_plays

    def play(self, context: ArrayLike | None = None, available: Available = None) -> int:
        """The oracle's choice, from the log alone."""
        return self.policy.play(context, available)

    def probabilities(
        self, context: ArrayLike | None = None, available: Available = None
    ) -> NDArray[np.float64]:
        """The exact chance of each action in `play`."""
        return self.policy.probabilities(context, available)

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> None:
        """Nothing: it never learns online."""
