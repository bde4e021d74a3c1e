"""Linear, sigmoid and binary outcomes."""

from __future__ import annotations

from headstart.experiments.paper.variants import ucb_variants, weighting
from headstart.experiments.running.experiment import Case, Experiment
from headstart.worlds import Synthetic
from headstart.worlds.synthetic import OutcomeFunction


def _cases() -> list[Case]:
    outcomes: tuple[OutcomeFunction, ...] = ("linear", "sigmoid", "binary")
    policies = ucb_variants(weighting)
    return [
        Case(Synthetic(n_actions=3, n_log=100, outcome=each), policies, 1000, {"outcome": each}) for each in outcomes
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
