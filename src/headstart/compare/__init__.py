"""Compare: which oracle and evaluator would have done best on this log, and is the difference more than noise?"""

from headstart.compare.comparing import compare, count_steps
from headstart.compare.policies import COLD, CONTEXT_FREE, CONTEXTUAL, NAIVE, MakePolicy, default_policies
from headstart.compare.result import Comparison, Difference, Earning

__all__ = [
    "COLD",
    "CONTEXTUAL",
    "CONTEXT_FREE",
    "NAIVE",
    "Comparison",
    "Difference",
    "Earning",
    "MakePolicy",
    "compare",
    "count_steps",
    "default_policies",
]
