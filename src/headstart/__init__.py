"""headstart: a bandit that starts with what the log already knows."""

from headstart import bounds, errors, features, ope, relatives, testing, worlds
from headstart.audit import Audit, audit
from headstart.compare import Comparison, compare
from headstart.conflict import ConflictWatch, Guarded
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
    KLUCB,
    UCB,
    ABTest,
    DiscountedThompson,
    DiscountedUCB,
    EpsilonForest,
    EpsilonGreedy,
    Exp3,
    Greedy,
    KnowledgeGradient,
    LinThompson,
    LinUCB,
    MinLinUCB,
    MinUCB,
    Readings,
    RobustThompson,
    SlidingWindowUCB,
    StochasticDelayedBandit,
    ThompsonBeta,
    ThompsonGaussian,
    ThompsonNormal,
    UCBNormal,
    UCBTuned,
)
from headstart.propensity import (
    LogisticPropensity,
    OverlapWarning,
    TrimmingWarning,
    calibration,
    estimate_propensities,
)
from headstart.simulate import Curve, simulate
from headstart.start import Started, start
from headstart.summary import Summary
from headstart.tables import LogTable, Reading, read_log, scan_log
from headstart.trust import Trust, suggest_trust
from headstart.warmstart import Evaluator, Oracle, WarmStart

__version__ = "0.1.0"

__all__ = [
    "KLUCB",
    "UCB",
    "ABTest",
    "Audit",
    "BalancedWeighting",
    "Comparison",
    "ConflictWatch",
    "Curve",
    "DiscountedThompson",
    "DiscountedUCB",
    "DoublyRobust",
    "EpsilonForest",
    "EpsilonGreedy",
    "Evaluator",
    "ExactMatching",
    "Exp3",
    "ForestMatching",
    "ForestOptions",
    "Greedy",
    "Guarded",
    "HistoricalAverage",
    "HonestForest",
    "IPSWeighting",
    "KnowledgeGradient",
    "LinThompson",
    "LinUCB",
    "LinearModel",
    "Log",
    "LogTable",
    "LogisticPropensity",
    "MinLinUCB",
    "MinUCB",
    "NoLog",
    "OfflineOnly",
    "Oracle",
    "OutcomeModel",
    "OverlapWarning",
    "PropensityMatching",
    "Reading",
    "Readings",
    "RobustThompson",
    "SlidingWindowUCB",
    "Started",
    "StochasticDelayedBandit",
    "Summary",
    "ThompsonBeta",
    "ThompsonGaussian",
    "ThompsonNormal",
    "TrimmingWarning",
    "Trust",
    "UCBNormal",
    "UCBTuned",
    "WarmStart",
    "audit",
    "bounds",
    "calibration",
    "compare",
    "errors",
    "estimate_propensities",
    "features",
    "ope",
    "read_log",
    "relatives",
    "scan_log",
    "simulate",
    "start",
    "suggest_trust",
    "testing",
    "worlds",
]
