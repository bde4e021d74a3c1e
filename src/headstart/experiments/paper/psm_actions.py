"""Propensity score matching with more than two actions."""

from headstart.evaluators import PropensityMatching
from headstart.experiments.paper.variants import cases_over, ucb_variants
from headstart.experiments.running.experiment import Case, Experiment
from headstart.worlds import Synthetic


def _cases() -> list[Case]:
    policies = ucb_variants(lambda world, log, rng: PropensityMatching(log, propensity=world.population, rng=rng))
    return cases_over("K", (2, 3, 4, 5), lambda k: Synthetic(n_actions=k, n_log=100), policies, 1000)


EXPERIMENT = Experiment(
    name="psm-actions",
    shows="Propensity score matching with 2 to 5 actions",
    source="Appendix, Figures 17-20",
    claim="Propensity score matching is not suitable for more than two actions.",
    reading=(
        "Does not survive: with the full lattice of pivots, offline+online beats only online for every K up to 5 "
        "(34.3 against 46.6 at K = 5). The authors' program never filled most strata. Only offline does get worse "
        "with K, as they say."
    ),
    runs=500,
    seconds=4,
    cases=_cases,
    panels=("K",),
)
