"""Exp5: how to use the log, with Thompson sampling."""

from headstart.evaluators import IPSWeighting
from headstart.experiments.paper.heuristics import heuristic_policies
from headstart.experiments.paper.variants import BOTH, ONLINE
from headstart.experiments.running.experiment import Case, Experiment
from headstart.oracles import UCB, ThompsonGaussian
from headstart.warmstart.warmstart import WarmStart
from headstart.worlds import Synthetic

_SCALE = 0.25  # the authors' setting


def _cases() -> list[Case]:
    world = Synthetic(n_actions=3, n_log=100)
    cold = Case(
        world,
        {ONLINE: lambda drawn, log, rng: ThompsonGaussian(drawn.n_actions, scale=_SCALE, rng=rng)},
        500,
        {"oracle": "Thompson"},
    )
    ucb = Case(
        world,
        {BOTH: lambda drawn, log, rng: WarmStart(UCB(drawn.n_actions), IPSWeighting(log), rng=rng)},
        500,
        {"oracle": "UCB", "evaluator": "IPSW"},
    )
    policies = heuristic_policies(lambda n, rng: ThompsonGaussian(n, scale=_SCALE, rng=rng))
    return [
        cold,
        *(
            Case(world, {BOTH: policy}, 500, {"oracle": "Thompson", "evaluator": name})
            for name, policy in policies.items()
        ),
        ucb,
    ]


EXPERIMENT = Experiment(
    name="heuristics-ts",
    shows="Five ways of using the log, with Thompson sampling",
    source="Exp5, Figure 11",
    claim="Thompson sampling and UCB with IPSW have the lowest regret.",
    reading=(
        "Agrees: IPSW has the lowest regret of the five (11.3), and UCB + IPSW half of that. The raw log, as average "
        "or as SDB, makes Thompson sampling more than twice as bad as no log at all."
    ),
    runs=500,
    seconds=28,
    cases=_cases,
)
