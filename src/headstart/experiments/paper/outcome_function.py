"""Linear, sigmoid and binary outcomes."""

from __future__ import annotations

from headstart.evaluators import IPSWeighting
from headstart.experiments.paper.variants import three_variants
from headstart.experiments.running.experiment import Case, Experiment
from headstart.oracles import UCB
from headstart.worlds import Synthetic
from headstart.worlds.synthetic import OutcomeFunction


def _cases() -> list[Case]:
    policies = three_variants(lambda n, rng: UCB(n), lambda world, log, rng: IPSWeighting(log))
    outcomes: list[OutcomeFunction] = ["linear", "sigmoid", "binary"]
    return [
        Case(Synthetic(n_actions=3, n_log=100, outcome=outcome), policies, 1000, {"outcome": outcome})
        for outcome in outcomes
    ]


EXPERIMENT = Experiment(
    name="outcome-function",
    shows="Linear, sigmoid and binary outcomes",
    source="Appendix, Figures 28-30",
    claim="Offline+online and only offline have almost no regret for the sigmoid, more for binary outcomes.",
    reading=(
        "Agrees: almost no regret for the sigmoid, whose outcomes hardly vary; half of only online's for binary "
        "ones. There only offline has none at all, because the best action's chance is clipped to 1."
    ),
    runs=500,
    seconds=2,
    cases=_cases,
    panels=("outcome",),
)
