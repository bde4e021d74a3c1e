"""The paper's theorems as functions, and the value of a log.

A name with `_printed` is the theorem as the paper has it where that is wrong or weaker than it need be; the same name
without is the one to rely on. Regret is expected pseudo-regret over T online rounds.

    theorem 1    general_upper                      any oracle, independent unbiased answers
    theorem 2    exact_matching_upper               UCB + ExactMatching
    theorem 3    propensity_matching_upper          UCB + PropensityMatching
    theorem 4    ips_weighting_upper                UCB + IPSWeighting; as printed, optimistic
    theorem 5    biased_log_upper                   UCB and a log that breaks the assumptions
    theorem 6    linucb_upper_gap                   LinUCB + LinearModel, with a gap
    theorem 7    forest_exponent                    EpsilonForest without a log
    theorem 8    general_lower                      any oracle
    corollary    value_of_log_limit                 what a log saves in the end
    theorem 9    linucb_upper_free                  LinUCB + LinearModel, whatever the gaps

Not in the paper: `safety_lower`, what any policy pays on a good log for being safe on a bad one.
"""

from headstart.bounds.biased_log import biased_log_upper, biased_log_upper_printed
from headstart.bounds.conditions import gaps_of
from headstart.bounds.forest import forest_exploration, forest_exponent
from headstart.bounds.framework import general_lower, general_lower_printed, general_upper, value_of_log_limit
from headstart.bounds.linucb import (
    linucb_confidence,
    linucb_enough,
    linucb_upper_free,
    linucb_upper_free_printed,
    linucb_upper_gap,
    linucb_upper_gap_printed,
)
from headstart.bounds.matching import (
    exact_matching_upper,
    exact_matching_upper_printed,
    expected_shortfall,
    propensity_matching_upper,
    propensity_matching_upper_printed,
)
from headstart.bounds.safety import safety_lower
from headstart.bounds.ucb import enough_plays, ips_weighting_upper, ucb_regret
from headstart.bounds.value import ValueOfLog, value_of_log

__all__ = [
    "ValueOfLog",
    "biased_log_upper",
    "biased_log_upper_printed",
    "enough_plays",
    "exact_matching_upper",
    "exact_matching_upper_printed",
    "expected_shortfall",
    "forest_exploration",
    "forest_exponent",
    "gaps_of",
    "general_lower",
    "general_lower_printed",
    "general_upper",
    "ips_weighting_upper",
    "linucb_confidence",
    "linucb_enough",
    "linucb_upper_free",
    "linucb_upper_free_printed",
    "linucb_upper_gap",
    "linucb_upper_gap_printed",
    "propensity_matching_upper",
    "propensity_matching_upper_printed",
    "safety_lower",
    "ucb_regret",
    "value_of_log",
    "value_of_log_limit",
]
