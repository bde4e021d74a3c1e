"""The ways of using a log that the paper compares: five heuristics and weighting. Shared by two experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from numpy.random import Generator

from headstart.evaluators import HistoricalAverage, IPSWeighting, OutcomeModel
from headstart.experiments.paper.variants import MakeOracle
from headstart.logs.log import Log
from headstart.oracles import StochasticDelayedBandit
from headstart.parts.contracts import Evaluator, Oracle
from headstart.simulation.simulate import MakePolicy
from headstart.warmstart.warmstart import WarmStart
from headstart.worlds import DrawnWorld


def heuristic_policies(make_oracle: MakeOracle) -> Mapping[str, MakePolicy]:
    """By the evaluator's name: this oracle, warm-started in that way."""

    def warm(evaluator: Callable[[Log, Generator], Evaluator]) -> MakePolicy:
        return lambda world, log, rng: WarmStart(make_oracle(world.n_actions, rng), evaluator(log, rng), rng=rng)

    def delayed(world: DrawnWorld, log: Log, rng: Generator) -> Oracle:
        oracle = StochasticDelayedBandit(make_oracle(world.n_actions, rng))
        return WarmStart(oracle, HistoricalAverage(log, rng=rng), schedule="batch", rng=rng)

    return {
        "historical average": warm(lambda log, rng: HistoricalAverage(log, rng=rng)),
        "linear regression": warm(lambda log, rng: OutcomeModel(log)),
        "xgboost": warm(lambda log, rng: OutcomeModel.boosted(log)),
        "SDB": delayed,
        "IPSW": warm(lambda log, rng: IPSWeighting(log)),
    }
