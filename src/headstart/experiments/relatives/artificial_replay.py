"""Artificial replay: rows of the log are used when the oracle asks for them (Banerjee et al. 2022)."""

from __future__ import annotations

from headstart.evaluators import HistoricalAverage
from headstart.logs.log import Log
from headstart.parts import Oracle
from headstart.randomness import RNG
from headstart.warmstart.warmstart import WarmStart


def artificial_replay(oracle: Oracle, log: Log, rng: RNG = None) -> WarmStart:
    """The oracle names an action; while the log has an unused row of it, the row is learnt and the oracle asked anew.

    That is Algorithm 1 of the paper with raw rows for answers, and is built as such. Which unused row of the action
    comes next is left open by Banerjee et al.; here a random one. For oracles to which the data of actions they would
    not play is irrelevant (UCB), its regret is that of learning the whole log first, with a part of the rows. No
    propensities, no contexts: a confounded log misleads it.
    """
    return WarmStart(oracle, HistoricalAverage(log, rng=rng), rng=rng)
