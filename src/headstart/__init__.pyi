"""The public names, as type checkers and editors read them; `__init__.py` imports each when it is asked for."""

from headstart import bounds, errors, testing, worlds
from headstart.estimates import features
from headstart.estimates.control_line import ControlLine
from headstart.estimates.propensity import (
    LogisticPropensity,
    OverlapWarning,
    TrimmingWarning,
    calibration,
    estimate_propensities,
)
from headstart.estimates.summary import ShortIntervalWarning, Summary
from headstart.evaluators import (
    BalancedWeighting,
    Capped,
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
from headstart.experiments import relatives
from headstart.forest import ForestOptions, HonestForest
from headstart.judgement import ope
from headstart.judgement.audit.audit import Audit, audit
from headstart.judgement.audit.trust import Trust, suggest_trust
from headstart.judgement.compare.compare import compare
from headstart.judgement.compare.comparison import Comparison
from headstart.judgement.rehearsal.rehearsal import Rehearsal
from headstart.judgement.rehearsal.rehearse import rehearse
from headstart.judgement.start.options import StartOptions
from headstart.judgement.start.start import start
from headstart.judgement.start.started import Started
from headstart.logs.log import Log
from headstart.logs.tables import LogTable, Reading, read_log, scan_log
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
    LinKnowledgeGradient,
    LinThompson,
    LinUCB,
    MinLinUCB,
    MinUCB,
    RobustThompson,
    SlidingWindowUCB,
    StochasticDelayedBandit,
    ThompsonBeta,
    ThompsonGaussian,
    ThompsonNormal,
    UCBNormal,
    UCBTuned,
)
from headstart.parts import Evaluator, Oracle, Readings
from headstart.parts.explanation import Explanation
from headstart.parts.files import load
from headstart.parts.tables.decisions import DecisionTable
from headstart.simulation.simulate import Curve, simulate
from headstart.warmstart.adjusted import Adjusted
from headstart.warmstart.conflict import ConflictWatch, Guarded, LinConflictWatch
from headstart.warmstart.offline_only import OfflineOnly
from headstart.warmstart.warmstart import WarmStart

__version__: str

__all__ = [
    "KLUCB",
    "UCB",
    "ABTest",
    "Adjusted",
    "Audit",
    "BalancedWeighting",
    "Capped",
    "Comparison",
    "ConflictWatch",
    "ControlLine",
    "Curve",
    "DecisionTable",
    "DiscountedThompson",
    "DiscountedUCB",
    "DoublyRobust",
    "EpsilonForest",
    "EpsilonGreedy",
    "Evaluator",
    "ExactMatching",
    "Exp3",
    "Explanation",
    "ForestMatching",
    "ForestOptions",
    "Greedy",
    "Guarded",
    "HistoricalAverage",
    "HonestForest",
    "IPSWeighting",
    "KnowledgeGradient",
    "LinConflictWatch",
    "LinKnowledgeGradient",
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
    "Rehearsal",
    "RobustThompson",
    "ShortIntervalWarning",
    "SlidingWindowUCB",
    "StartOptions",
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
    "load",
    "ope",
    "read_log",
    "rehearse",
    "relatives",
    "scan_log",
    "simulate",
    "start",
    "suggest_trust",
    "testing",
    "worlds",
]
