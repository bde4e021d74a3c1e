"""Exp7: linear and forest models where the outcome is not linear."""

from __future__ import annotations

from typing import Any

from headstart.estimates.features import blocks
from headstart.evaluators import ForestMatching, LinearModel
from headstart.experiments.paper.variants import BOTH, OFFLINE, ONLINE
from headstart.experiments.running.experiment import Case, Experiment
from headstart.forest import ForestOptions
from headstart.oracles import EpsilonForest, LinUCB
from headstart.simulation.simulate import MakePolicy
from headstart.warmstart.offline_only import OfflineOnly
from headstart.warmstart.warmstart import WarmStart
from headstart.worlds import Synthetic

WORLD = Synthetic(n_actions=2, n_features=10, n_log=100, outcome="steps", is_contextual=True)
OPTIONS = ForestOptions(n_trees=100, min_node=2)
ROUNDS = 200


def _linucb(drawn: Any, beta: float = 1.0) -> LinUCB:
    return LinUCB(drawn.n_actions, drawn.n_features, beta=beta, features=blocks(drawn.n_actions, drawn.n_features))


def _linear_model(drawn: Any, log: Any) -> LinearModel:
    return LinearModel(log, features=blocks(drawn.n_actions, drawn.n_features))


def linear_variants() -> dict[str, MakePolicy]:
    """LinUCB with LR, without it, and LR alone."""
    return {
        BOTH: lambda drawn, log, rng: WarmStart(_linucb(drawn), _linear_model(drawn, log), rng=rng),
        ONLINE: lambda drawn, log, rng: _linucb(drawn),
        OFFLINE: lambda drawn, log, rng: OfflineOnly(
            _linucb(drawn, beta=0.0), _linear_model(drawn, log), schedule="each-round", rng=rng
        ),
    }


def _forest(drawn: Any, rng: Any, **settings: Any) -> EpsilonForest:
    return EpsilonForest(
        drawn.n_actions, drawn.n_features, OPTIONS, retrain_every=10, retrain_growth=0.0, rng=rng, **settings
    )


def forest_variants() -> dict[str, MakePolicy]:
    """The forest with MoF, without it, and the log's forest alone (epsilon 0)."""

    def offline(drawn: Any, log: Any, rng: Any) -> Any:
        greedy = _forest(drawn, rng, epsilon=lambda t: 0.0)
        return OfflineOnly(greedy, ForestMatching(log, OPTIONS, rng=rng), rng=rng)

    return {
        BOTH: lambda drawn, log, rng: WarmStart(_forest(drawn, rng), ForestMatching(log, OPTIONS, rng=rng), rng=rng),
        ONLINE: lambda drawn, log, rng: _forest(drawn, rng),
        OFFLINE: offline,
    }


def _cases() -> list[Case]:
    return [
        Case(WORLD, linear_variants(), ROUNDS, {"oracle": "LinUCB", "evaluator": "LR"}),
        Case(WORLD, forest_variants(), ROUNDS, {"oracle": "forest", "evaluator": "MoF"}, share=0.1),
    ]


EXPERIMENT = Experiment(
    name="forest",
    shows="Linear and forest models where the outcome is not linear",
    source="Exp7, Figure 13",
    claim="The forest has less than a quarter of LinUCB's regret: 10.4 against 41.0, 12.8 against 43.3 only online.",
    reading=(
        "Agrees, and more: 100 honest trees, grown anew every 10 rounds and fed in between, have about a ninth of "
        "the linear model's regret; the log's forest alone has almost none."
    ),
    runs=2000,
    seconds=45,
    cases=_cases,
    panels=("oracle",),
)
