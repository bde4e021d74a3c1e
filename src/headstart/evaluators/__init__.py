"""Evaluators: they answer "what would have happened?" from the log, or None. One algorithm per file."""

from headstart.evaluators.balanced_weighting import BalancedWeighting
from headstart.evaluators.capped import Capped
from headstart.evaluators.doubly_robust import DoublyRobust
from headstart.evaluators.exact_matching import ExactMatching
from headstart.evaluators.forest_matching import ForestMatching
from headstart.evaluators.historical_average import HistoricalAverage
from headstart.evaluators.ips_weighting import IPSWeighting
from headstart.evaluators.linear_model import LinearModel, linear_sums
from headstart.evaluators.nolog import NoLog
from headstart.evaluators.outcome_model import OutcomeModel
from headstart.evaluators.propensity_matching import PropensityMatching

__all__ = [
    "BalancedWeighting",
    "Capped",
    "DoublyRobust",
    "ExactMatching",
    "ForestMatching",
    "HistoricalAverage",
    "IPSWeighting",
    "LinearModel",
    "NoLog",
    "OutcomeModel",
    "PropensityMatching",
    "linear_sums",
]
