"""headstart: a bandit that starts with what the log already knows.

A public name is imported when it is first asked for, so that a command or a worker pays for the rooms that it uses.
`__init__.pyi` has the same names for type checkers and editors; a test holds the two together.
"""

from importlib import import_module
from importlib.util import find_spec

__version__ = "0.1.0"

_MODULES = {  # public name -> the module that it is
    "bounds": "bounds",
    "errors": "errors",
    "features": "estimates.features",
    "ope": "judgement.ope",
    "relatives": "experiments.relatives",
    "testing": "testing",
    "worlds": "worlds",
}
_NAMES = {  # module -> the public names that it holds
    "estimates.control_line": ("ControlLine",),
    "estimates.propensity": (
        "LogisticPropensity", "OverlapWarning", "TrimmingWarning", "calibration", "estimate_propensities",
    ),
    "estimates.summary": ("ShortIntervalWarning", "Summary"),
    "evaluators": (
        "BalancedWeighting", "Capped", "DoublyRobust", "ExactMatching", "ForestMatching", "HistoricalAverage",
        "IPSWeighting", "LinearModel", "NoLog", "OutcomeModel", "PropensityMatching",
    ),
    "forest": ("ForestOptions", "HonestForest"),
    "judgement.audit.audit": ("Audit", "audit"),
    "judgement.audit.trust": ("Trust", "suggest_trust"),
    "judgement.compare.compare": ("compare",),
    "judgement.compare.comparison": ("Comparison",),
    "judgement.rehearsal.rehearsal": ("Rehearsal",),
    "judgement.rehearsal.rehearse": ("rehearse",),
    "judgement.start.options": ("StartOptions",),
    "judgement.start.start": ("start",),
    "judgement.start.started": ("Started",),
    "logs.log": ("Log",),
    "logs.tables": ("LogTable", "Reading", "read_log", "scan_log"),
    "oracles": (
        "KLUCB", "UCB", "ABTest", "DiscountedThompson", "DiscountedUCB", "EpsilonForest", "EpsilonGreedy", "Exp3",
        "Greedy", "KnowledgeGradient", "LinKnowledgeGradient", "LinThompson", "LinUCB", "MinLinUCB", "MinUCB",
        "RobustThompson", "SlidingWindowUCB", "StochasticDelayedBandit", "ThompsonBeta", "ThompsonGaussian",
        "ThompsonNormal", "UCBNormal", "UCBTuned",
    ),
    "parts": ("Evaluator", "Oracle", "Readings"),
    "parts.explanation": ("Explanation",),
    "parts.files": ("load",),
    "parts.tables.decisions": ("DecisionTable",),
    "simulation.simulate": ("Curve", "simulate"),
    "warmstart.adjusted": ("Adjusted",),
    "warmstart.conflict": ("ConflictWatch", "Guarded", "LinConflictWatch"),
    "warmstart.offline_only": ("OfflineOnly",),
    "warmstart.warmstart": ("WarmStart",),
}  # fmt: skip
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

# Constants, then classes, then the rest, each by the alphabet.
__all__ = sorted([*_HOMES, *_MODULES], key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{_MODULES[name]}")
    elif not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        value = import_module(f"{__name__}.{name}")  # a room: headstart.oracles
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # asked for once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
