"""UCB warm-started by exact matching, two actions and continuous contexts: hardly anything matches."""

from headstart.evaluators import ExactMatching
from headstart.experiments.paper.variants import ucb_variants
from headstart.experiments.running.experiment import Case, Experiment
from headstart.worlds import Synthetic


def _cases() -> list[Case]:
    policies = ucb_variants(lambda world, log, rng: ExactMatching(log, rng=rng))
    return [Case(Synthetic(n_actions=2, n_log=100), policies, rounds=1000)]


EXPERIMENT = Experiment(
    name="ucb-em",
    shows="Exact matching finds almost no match among continuous contexts (K = 2)",
    source="Exp1, Figure 4",
    claim="Exact matching does not reduce the regret of UCB: contexts hardly ever match exactly.",
    reading="Agrees: exact matching of continuous contexts changes nothing, each row matches only itself.",
    runs=500,
    seconds=1,
    cases=_cases,
)
