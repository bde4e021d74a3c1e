"""Estimate, then commit: the action with the best estimated mean, for everybody and for good."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.checks import check_n_actions
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.kernels import implements, play, probabilities, update
from headstart.kernels.choice import best_available
from headstart.kernels.tally import Tally, new_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import choose_surely


class EstimateThenCommitState(NamedTuple):
    tally: Tally  # users, for `readings` alone
    estimates: Floats  # (K,) the log's; minus infinity for an action it never shows


@implements(play, EstimateThenCommitState)
def _play(state: EstimateThenCommitState, context: Floats, available: Bools) -> int:
    return best_available(state.estimates, available)


implements(probabilities, EstimateThenCommitState)(choose_surely)
implements(update, EstimateThenCommitState)(update_tally)


class EstimateThenCommit(CompiledOracle[EstimateThenCommitState]):
    """Plays the largest of the log's means; users are counted and never change it. Ties go to the lowest index.

    What most people do with a causal estimate. An action that the log never shows is played only when nothing else is
    available. With an evaluator's own answers instead of its summary it is `OfflineOnly(Greedy(K), evaluator)`.
    """

    def __init__(self, summary: Summary) -> None:
        if not isinstance(summary, Summary):
            raise OptionError(f"summary must be a Summary (evaluator.summary()), got {type(summary).__name__}")
        n = check_n_actions(summary.n_actions)
        estimates = np.where(np.isnan(summary.means), -np.inf, summary.means)
        super().__init__(n, EstimateThenCommitState(new_tally(n), estimates))
