"""headstart: a bandit that starts with what the log already knows."""

from headstart import errors, testing, worlds
from headstart.evaluators import (
    BalancedWeighting,
    DoublyRobust,
    ExactMatching,
    HistoricalAverage,
    IPSWeighting,
    NoLog,
    OutcomeModel,
    PropensityMatching,
)
from headstart.log import Log
from headstart.offline_only import OfflineOnly
from headstart.oracles import (
    UCB,
    ABTest,
    EpsilonGreedy,
    Exp3,
    Greedy,
    Readings,
    StochasticDelayedBandit,
    ThompsonBeta,
    ThompsonGaussian,
)
from headstart.propensity import LogisticPropensity, TrimmingWarning, estimate_propensities
from headstart.simulate import Curve, simulate
from headstart.warmstart import Evaluator, Oracle, WarmStart

__version__ = "0.1.0"

__all__ = [
    "UCB",
    "ABTest",
    "BalancedWeighting",
    "Curve",
    "DoublyRobust",
    "EpsilonGreedy",
    "Evaluator",
    "ExactMatching",
    "Exp3",
    "Greedy",
    "HistoricalAverage",
    "IPSWeighting",
    "Log",
    "LogisticPropensity",
    "NoLog",
    "OfflineOnly",
    "Oracle",
    "OutcomeModel",
    "PropensityMatching",
    "Readings",
    "StochasticDelayedBandit",
    "ThompsonBeta",
    "ThompsonGaussian",
    "TrimmingWarning",
    "WarmStart",
    "errors",
    "estimate_propensities",
    "simulate",
    "testing",
    "worlds",
]
