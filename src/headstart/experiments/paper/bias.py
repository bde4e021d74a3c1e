"""A biased log: how much bias, and how many rows of it."""

from headstart.experiments.paper.variants import ucb_variants, weighting
from headstart.experiments.running.experiment import Case, Experiment
from headstart.worlds import Synthetic


def _cases() -> list[Case]:
    policies = ucb_variants(weighting)
    return [
        Case(Synthetic(n_actions=2, n_log=n_log, bias=bias), policies, 500, {"bias": bias, "n_log": n_log})
        for bias in (0.0, 0.3, 0.6, 0.9)
        for n_log in (20, 50, 100)
    ]


EXPERIMENT = Experiment(
    name="bias",
    shows="Logged outcomes of the worse action raised by 0 to 0.9, 20 to 100 rows",
    source="Appendix, Figure 31",
    claim="With little bias more rows help; with a bias of 0.9 only online is best and more rows hurt.",
    reading=(
        "Agrees for small bias. With a bias of 0.6 or more the log hurts, and more of it hurts more: "
        "Theorem 5 at work. The paper's own figure had an unmentioned guard."
    ),
    runs=500,
    seconds=8,
    cases=_cases,
    panels=("bias", "n_log"),
)
