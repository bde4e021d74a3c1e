"""OtO: optimism as far as a budget goes, pessimism otherwise (Sentenac, Lee and Szepesvari 2025)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.checks import check_n_actions, check_number
from headstart.estimates.summary import Summary
from headstart.experiments.relatives.known import KnownMeans, as_known
from headstart.kernels import implements, kernel, play, probabilities, update
from headstart.kernels.arrays import total
from headstart.kernels.tally import Tally, new_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import choose_surely


class OtOState(NamedTuple):
    tally: Tally  # users
    known: KnownMeans
    share: float


@kernel
def _mean_and_width(state: OtOState, action: int, log_t: float) -> tuple[float, float]:
    """Of log and users together; infinite without either."""
    n, size = state.tally.counts[action], state.known.sizes[action]
    if n + size <= 0.0:
        return 0.0, np.inf
    mean = (n * state.tally.means[action] + size * state.known.means[action]) / (n + size)
    return mean, state.known.scale * math.sqrt(2.0 * log_t / (n + size))


@implements(play, OtOState)
def _play(state: OtOState, context: Floats, available: Bools) -> int:
    t = total(state.tally.counts)
    log_t = math.log(math.e + t)
    safe, bold = -1, -1
    lowest, highest, allowed = -np.inf, -np.inf, 0.0
    for a in range(available.size):
        if available[a]:
            mean, width = _mean_and_width(state, a, log_t)
            if safe < 0 or mean - width > lowest:
                safe, lowest, allowed = a, mean - width, width
            if bold < 0 or mean + width > highest:
                bold, highest = a, mean + width
    if not lowest > -np.inf:
        return bold  # nothing is known of anything
    spent = 0.0
    for a in range(available.size):
        mean, width = _mean_and_width(state, a, log_t)
        times = state.tally.counts[a] + (1.0 if a == bold else 0.0)
        if times > 0.0:
            # An action of which nothing is known may be as far below as the spread of outcomes is wide.
            low = mean - width if width < np.inf else lowest - 2.0 * state.known.scale
            spent += times * max(0.0, lowest - low)
    return bold if spent <= state.share * (t + 1.0) * allowed else safe


implements(probabilities, OtOState)(choose_surely)
implements(update, OtOState)(update_tally)


class OtO(CompiledOracle[OtOState]):
    """The largest upper bound while what such plays may have cost is within a budget, else the largest lower bound.

    Bounds are of log and users together, mean ± s sqrt(2 ln(e + t) / (n + N)). What users may have lost against the
    action of the largest lower bound L is sum over actions of n_a max(0, L - lower_a); the budget is `share` times
    the users so far times that action's own width, which is all that pessimism itself can promise.

    How it is read: Flore Sentenac, Ilbin Lee and Csaba Szepesvari, "Balancing optimism and pessimism in
    offline-to-online learning" (arXiv 2502.08259), from its abstract: as good as the better of LCB and UCB at any
    time, starting as the one and becoming the other. The form of the budget is that of conservative bandits (Wu et
    al. 2016) and not theirs to the letter; widths, the log's means and sizes are ours. It supposes that the log is
    right.
    """

    def __init__(self, summary: Summary, share: float = 1.0) -> None:
        n = check_n_actions(len(summary.means))
        known = as_known(summary, n)
        super().__init__(n, OtOState(new_tally(n), known, check_number("share", share, low=0.0)))
