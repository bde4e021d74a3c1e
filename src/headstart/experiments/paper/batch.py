"""Exp9: the log before each round or all at once."""

from __future__ import annotations

from numpy.random import Generator

from headstart.evaluators import IPSWeighting
from headstart.experiments.paper.variants import BOTH
from headstart.experiments.running.experiment import Case, Experiment
from headstart.logs.log import Log
from headstart.oracles import UCB
from headstart.parts.contracts import Oracle
from headstart.simulation.simulate import MakePolicy
from headstart.warmstart.warmstart import Schedule, WarmStart
from headstart.worlds import DrawnWorld, Synthetic


def _policy(schedule: Schedule) -> MakePolicy:
    def make(world: DrawnWorld, log: Log, rng: Generator) -> Oracle:
        return WarmStart(UCB(world.n_actions), IPSWeighting(log), schedule=schedule, rng=rng)

    return make


def _cases() -> list[Case]:
    schedules: list[Schedule] = ["each-round", "batch"]
    return [
        Case(Synthetic(n_actions=3, n_log=100), {BOTH: _policy(schedule)}, 1000, {"schedule": schedule})
        for schedule in schedules
    ]


EXPERIMENT = Experiment(
    name="batch",
    shows="Virtual plays before each round (Algorithm 1) or all at once (Algorithm 2)",
    source="Exp9, Figure 15",
    claim="Similar regret, slightly better each round when t is large; the batch is quicker.",
    reading="The two are within noise of each other, in regret and in running time (seconds, in the rows).",
    runs=500,
    seconds=1,
    cases=_cases,
)
