"""How the logging policy's choice hangs together with the outcome."""

from headstart.experiments.paper.variants import cases_over, ucb_variants, weighting
from headstart.experiments.running.experiment import Case, Experiment
from headstart.worlds import Synthetic


def _cases() -> list[Case]:
    policies = ucb_variants(weighting)
    return cases_over("rho", (-1.0, 0.0, 1.0), lambda rho: Synthetic(n_actions=3, n_log=100, rho=rho), policies, 1000)


EXPERIMENT = Experiment(
    name="logging-policy",
    shows="Logs that prefer bad, any, or good outcomes (rho = -1, 0, 1)",
    source="Appendix, Figures 25-27",
    claim="Offline+online has the lowest regret for every rho.",
    reading="Agrees for every rho.",
    runs=500,
    seconds=2,
    cases=_cases,
    panels=("rho",),
)
