"""headstart: a bandit that starts with what the log already knows."""

from headstart import bounds, errors, features, testing, worlds
from headstart.evaluators import (
    BalancedWeighting,
    DoublyRobust,
    ExactMatching,
    ForestMatching,
    HistoricalAverage,
    IPSWeighting,
    LinearModel,
    NoLog,
    OutcomeModel,
    PropensityMatching,
)
from headstart.forest import ForestOptions, HonestForest
from headstart.log import Log
from headstart.offline_only import OfflineOnly
from headstart.oracles import (
    UCB,
    ABTest,
    EpsilonForest,
    EpsilonGreedy,
    Exp3,
    Greedy,
    LinThompson,
    LinUCB,
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
    "EpsilonForest",
    "EpsilonGreedy",
    "Evaluator",
    "ExactMatching",
    "Exp3",
    "ForestMatching",
    "ForestOptions",
    "Greedy",
    "HistoricalAverage",
    "HonestForest",
    "IPSWeighting",
    "LinThompson",
    "LinUCB",
    "LinearModel",
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
    "bounds",
    "errors",
    "estimate_propensities",
    "features",
    "simulate",
    "testing",
    "worlds",
]
