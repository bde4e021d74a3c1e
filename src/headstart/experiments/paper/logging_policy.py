"""How the logging policy's choice hangs together with the outcome."""

from headstart.evaluators import IPSWeighting
from headstart.experiments.paper.variants import three_variants
from headstart.experiments.running.experiment import Case, Experiment
from headstart.oracles import UCB
from headstart.worlds import Synthetic


def _cases() -> list[Case]:
    policies = three_variants(lambda n, rng: UCB(n), lambda world, log, rng: IPSWeighting(log))
    return [
        Case(Synthetic(n_actions=3, n_log=100, rho=rho), policies, 1000, {"rho": rho}) for rho in (-1.0, 0.0, 1.0)
    ]


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
