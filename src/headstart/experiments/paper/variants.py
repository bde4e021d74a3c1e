"""The three variants that the paper compares again and again: both sources, only the stream, only the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from numpy.random import Generator

from headstart.evaluators import IPSWeighting
from headstart.experiments.running.experiment import Case
from headstart.logs.log import Log
from headstart.oracles import UCB, Greedy
from headstart.parts.contracts import Evaluator, Oracle
from headstart.simulation.simulate import MakePolicy, World
from headstart.warmstart.offline_only import OfflineOnly
from headstart.warmstart.warmstart import Schedule, WarmStart

BOTH, ONLINE, OFFLINE = "offline+online", "only online", "only offline"

Scene: TypeAlias = Any  # a drawn world, or a stream of events: whatever has n_actions and n_features
MakeOracle: TypeAlias = Callable[[int, Generator], Oracle]  # (n_actions, rng)
MakeContextual: TypeAlias = Callable[[Scene, Generator], Oracle]
MakeEvaluator: TypeAlias = Callable[[Scene, Log, Generator], Evaluator]
Value = TypeVar("Value", int, float, str)


def contextual_variants(
    oracle: MakeContextual, greedy: MakeContextual, evaluator: MakeEvaluator, schedule: Schedule = "batch"
) -> Mapping[str, MakePolicy]:
    """The oracle with the evaluator, without it, and the log's verdict alone, which `greedy` follows."""

    def both(scene: Scene, log: Log, rng: Generator) -> Oracle:
        return WarmStart(oracle(scene, rng), evaluator(scene, log, rng), rng=rng)

    def online(scene: Scene, log: Log, rng: Generator) -> Oracle:
        return oracle(scene, rng)

    def offline(scene: Scene, log: Log, rng: Generator) -> Oracle:
        return OfflineOnly(greedy(scene, rng), evaluator(scene, log, rng), schedule=schedule, rng=rng)

    return {BOTH: both, ONLINE: online, OFFLINE: offline}


def three_variants(oracle: MakeOracle, evaluator: MakeEvaluator) -> Mapping[str, MakePolicy]:
    """The same for an oracle that looks at no contexts."""
    return contextual_variants(
        lambda scene, rng: oracle(scene.n_actions, rng), lambda scene, rng: Greedy(scene.n_actions), evaluator
    )


def ucb_variants(evaluator: MakeEvaluator, beta: float = 1.0) -> Mapping[str, MakePolicy]:
    """The same for UCB."""
    return three_variants(lambda n, rng: UCB(n, beta), evaluator)


def weighting(scene: Scene, log: Log, rng: Generator) -> Evaluator:
    """The evaluator that most of the paper's figures use."""
    return IPSWeighting(log)


def cases_over(
    name: str,
    values: Iterable[Value],
    world: Callable[[Value], World],
    policies: Mapping[str, MakePolicy],
    rounds: int,
) -> list[Case]:
    """A case for each value of one setting: the same policies in another world."""
    return [Case(world(value), policies, rounds, {name: value}) for value in values]
