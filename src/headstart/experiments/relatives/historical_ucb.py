"""Historical UCB: every row of the log is a play that has already happened (Shivaswamy and Joachims 2012, HUCB1)."""

from __future__ import annotations

from headstart.evaluators import HistoricalAverage
from headstart.logs.log import Log
from headstart.oracles import UCB
from headstart.randomness import RNG
from headstart.warmstart.warmstart import WarmStart


def historical_ucb(log: Log, beta: float = 1.0, rng: RNG = None) -> WarmStart:
    """UCB that has learnt the raw log, all of it, before the first user: Algorithm 2 with raw rows for answers.

    n in its width counts the log's plays of all actions, as everywhere in headstart. No propensities: a confounded
    log misleads it, which is what it is here to show.
    """
    return WarmStart(UCB(log.n_actions, beta=beta), HistoricalAverage(log, rng=rng), schedule="batch", rng=rng)
