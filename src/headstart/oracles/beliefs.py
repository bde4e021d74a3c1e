"""What oracles that start from a log's prior share: a belief that can be read, a log that can be taken back."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_action
from headstart.kernels.beliefs import Believing, take_log_back
from headstart.oracles.compiled import CompiledOracle
from headstart.parts import UserOutcomes
from headstart.priors.logged import TrustReadings, read_belief

B = TypeVar("B", bound=Believing)


class BelievingOracle(CompiledOracle[B]):
    """An oracle over a belief of each action's mean."""

    def withdraw(self, action: int) -> None:
        """Forget what the log said of an action; what users did stays."""
        take_log_back(self._state, check_action(action, self.n_actions))

    @property
    def chances(self) -> Floats:
        """The chance of each component of each action's prior by now, (K, J)."""
        return np.array(self._state.belief.weights)

    @property
    def trust(self) -> Floats:
        """The chance, by now, that the log is right about each action, (K,)."""
        return self.readings().trust

    def expected_outcomes(self, contexts: Floats) -> tuple[Floats, Floats]:
        """What is expected of each action and how sure that is, (n, K) each: the same for every user."""
        told, shape = self.readings(), (len(contexts), self.n_actions)
        return np.broadcast_to(told.means, shape), np.broadcast_to(told.standard_errors, shape)

    def heard(self) -> UserOutcomes:
        """What users said of each action, apart from what the log did."""
        counts, means = self._state.tally.counts, self._state.tally.means
        return UserOutcomes(counts.copy(), np.where(counts > 0.0, means, np.nan))

    def readings(self) -> TrustReadings:  # type: ignore[override]
        """Posterior mean and standard error per action, and how far the log is still trusted."""
        return read_belief(self._state.tally, self._state.belief)
