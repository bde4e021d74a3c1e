"""Exp4: how to use the log, with UCB."""

from headstart.experiments.paper.heuristics import heuristic_policies
from headstart.experiments.paper.variants import BOTH, ONLINE
from headstart.experiments.running.experiment import Case, Experiment
from headstart.oracles import UCB
from headstart.worlds import Synthetic


def _cases() -> list[Case]:
    world = Synthetic(n_actions=3, n_log=100)
    cold = Case(world, {ONLINE: lambda drawn, log, rng: UCB(drawn.n_actions)}, 500, {"oracle": "UCB"})
    return [cold] + [
        Case(world, {BOTH: policy}, 500, {"oracle": "UCB", "evaluator": name})
        for name, policy in heuristic_policies(lambda n, rng: UCB(n)).items()
    ]


EXPERIMENT = Experiment(
    name="heuristics-ucb",
    shows="Five ways of using the log, with UCB",
    source="Exp4, Figure 10",
    claim="IPSW and linear regression have the smallest regret; the historical average and SDB the largest.",
    reading=(
        "Agrees on the best (linear regression 3.1, IPSW 5.2) and the worst. xgboost (5.7) is as good as weighting "
        "here. SDB without delays is the historical average, to the last digit."
    ),
    runs=500,
    seconds=29,
    cases=_cases,
)
