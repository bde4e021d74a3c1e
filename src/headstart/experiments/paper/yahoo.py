"""The paper's experiments on Yahoo's click log, by replay: reward per counted event instead of regret.

They need the data (`worlds.yahoo.WHERE` says how to get it), so they are run by `run_yahoo(name, data, ...)` and not
found among `all_experiments`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from headstart.arrays import Floats
from headstart.errors import OptionError
from headstart.evaluators import ForestMatching, IPSWeighting, LinearModel
from headstart.experiments.paper.heuristics import heuristic_policies
from headstart.experiments.paper.variants import BOTH, ONLINE, contextual_variants, ucb_variants, weighting
from headstart.experiments.running.experiment import Result, Setting
from headstart.forest import ForestOptions
from headstart.oracles import UCB, EpsilonForest, LinUCB
from headstart.simulation.replay import Events, delete_biased, replay_events, split_events
from headstart.simulation.simulate import Curve, MakePolicy
from headstart.simulation.spreading import spread
from headstart.warmstart.warmstart import Schedule, WarmStart
from headstart.worlds.yahoo import read_yahoo

BETA = math.sqrt(0.05 / 2.0)  # the authors' width: sqrt(0.05 ln n / n_a)
ROUNDS = 4000  # counted events: about what one pass over 80,000 with twenty candidates each gives
LOG_SHARE = 0.2
_MOST_CHECKPOINTS = 200
_FOREST = ForestOptions(n_trees=100, min_node=2)


@dataclass(frozen=True)
class ReplayCase:
    """The policies compared on one kind of log."""

    policies: Mapping[str, MakePolicy]  # (stream of events, log, rng) -> policy
    n_log: int  # rows of the log, from the events set aside for it
    setting: Setting = field(default_factory=dict)
    is_biased: bool = False  # Exp6's deletion before


@dataclass(frozen=True)
class YahooExperiment:
    """A figure of the paper that needs Yahoo's data."""

    name: str
    shows: str
    source: str
    claim: str
    runs: int
    cases: Callable[[], Sequence[ReplayCase]]
    reading: str = "No figure stands here: the data's licence forbids shipping it, and we have not run it."
    panels: tuple[str, ...] = ()
    measure: str = "reward per counted event"


def run_yahoo(
    name: str,
    data: str | Path | Events,
    *,
    runs: int | None = None,
    seed: int = 1,
    n_jobs: int = 1,
    rounds: int = ROUNDS,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Result]:
    """Every series of one of the Yahoo experiments.

    A result's curve holds reward per counted event after so many of them, not regret. Each run deals the events
    anew into log and stream; all policies of a run meet the same log and the same stream in the same order.

    Parameters
    ----------
    name
        One of `YAHOO_EXPERIMENTS`.
    data
        Where the data is, or events already read.
    runs, seed, n_jobs
        As in `run_experiment`; by default the paper's number of runs.
    rounds
        Counted events per run.
    limit
        Read only so many events (the paper's 100,000).
    progress
        Called with 1 after each run of each policy.
    """
    experiment = get_yahoo(name)
    n_runs = experiment.runs if runs is None else runs
    if n_runs < 1:
        raise OptionError(f"runs must be at least 1, got {n_runs}")
    events = data if isinstance(data, Events) else read_yahoo(data, limit)
    for case in experiment.cases():
        curves = _run_case(case, events, n_runs, seed, n_jobs, rounds, progress)
        for series, curve in curves.items():
            yield Result(name, series, case.setting, curve)


def get_yahoo(name: str) -> YahooExperiment:
    """The Yahoo experiment of this name."""
    if name not in YAHOO_EXPERIMENTS:
        raise OptionError(f"unknown experiment {name!r}; known: {', '.join(YAHOO_EXPERIMENTS)}")
    return YAHOO_EXPERIMENTS[name]


def count_yahoo_steps(name: str, runs: int | None = None) -> int:
    """How often `progress` will be called."""
    experiment = get_yahoo(name)
    n_runs = experiment.runs if runs is None else runs
    return n_runs * sum(len(case.policies) for case in experiment.cases())


def _run_case(
    case: ReplayCase,
    events: Events,
    runs: int,
    seed: int,
    n_jobs: int,
    rounds: int,
    progress: Callable[[int], None] | None,
) -> dict[str, Curve]:
    checkpoints = np.unique(np.linspace(0, rounds, min(rounds, _MOST_CHECKPOINTS) + 1).astype(np.int64)[1:])
    rewards = {series: np.empty((runs, checkpoints.size)) for series in case.policies}
    seconds = dict.fromkeys(case.policies, 0.0)

    def run_one(run: int) -> list[tuple[Floats, float]]:
        for_log, for_policy, for_stream = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(3)
        rng = np.random.default_rng(for_log)
        logged, stream = split_events(events, LOG_SHARE, rng)
        if case.is_biased:
            logged = delete_biased(logged, rng=rng)
        log = logged.take(np.arange(min(case.n_log, len(logged)))).as_log()
        found = []
        for make in case.policies.values():
            started = time.perf_counter()
            policy = make(stream, log, np.random.default_rng(for_policy))
            outcomes = replay_events(policy, stream, rounds, np.random.default_rng(for_stream)).outcomes
            found.append((np.cumsum(outcomes)[checkpoints - 1] / checkpoints, time.perf_counter() - started))
        return found

    for run, found in enumerate(spread(run_one, runs, n_jobs)):
        for series, (reward, took) in zip(case.policies, found, strict=True):
            rewards[series][run] = reward
            seconds[series] += took
            if progress is not None:
                progress(1)
    return {series: Curve(checkpoints, rewards[series], seconds[series]) for series in case.policies}


def _linear() -> Mapping[str, MakePolicy]:
    return contextual_variants(
        lambda stream, rng: LinUCB(stream.n_actions, stream.n_features),
        lambda stream, rng: LinUCB(stream.n_actions, stream.n_features, beta=0.0),
        lambda stream, log, rng: LinearModel(log),
    )


def _forests() -> Mapping[str, MakePolicy]:
    return contextual_variants(
        lambda stream, rng: EpsilonForest(stream.n_actions, stream.n_features, _FOREST, rng=rng),
        lambda stream, rng: EpsilonForest(
            stream.n_actions, stream.n_features, _FOREST, epsilon=lambda t: 0.0, rng=rng
        ),
        lambda stream, log, rng: ForestMatching(log, _FOREST, rng=rng),
    )


def _weighted(schedule: Schedule) -> MakePolicy:
    return lambda stream, log, rng: WarmStart(
        UCB(stream.n_actions, BETA), IPSWeighting(log), schedule=schedule, rng=rng
    )


def _ipsw_cases() -> list[ReplayCase]:
    return [ReplayCase(ucb_variants(weighting, BETA), 10_000, {"oracle": "UCB", "evaluator": "IPSW"})]


def _heuristics_cases() -> list[ReplayCase]:
    cold = ReplayCase({ONLINE: lambda stream, log, rng: UCB(stream.n_actions, BETA)}, 10_000, {"oracle": "UCB"}, True)
    return [cold] + [
        ReplayCase({BOTH: policy}, 10_000, {"oracle": "UCB", "evaluator": evaluator}, is_biased=True)
        for evaluator, policy in heuristic_policies(lambda n, rng: UCB(n, BETA)).items()
    ]


def _batch_cases() -> list[ReplayCase]:
    schedules: tuple[Schedule, ...] = ("each-round", "batch")
    return [
        ReplayCase({BOTH: _weighted(schedule)}, 10_000, {"oracle": "UCB", "evaluator": "IPSW", "schedule": schedule})
        for schedule in schedules
    ]


_ALL = (
    YahooExperiment(
        name="yahoo-linucb",
        shows="LinUCB + linear regression on Yahoo's news (contextual)",
        source="Exp3, Figure 9",
        claim="Offline+online earns 21.1 % more than only online and 10.0 % more than only offline.",
        runs=50,
        cases=lambda: [ReplayCase(_linear(), 500, {"oracle": "LinUCB", "evaluator": "LR"})],
    ),
    YahooExperiment(
        name="yahoo-ipsw",
        shows="UCB + inverse propensity weighting on Yahoo's news (context-independent)",
        source="Exp3, Figure 8",
        claim="Offline+online has a lower regret than only online, and than only offline when T is large.",
        runs=30,
        cases=_ipsw_cases,
    ),
    YahooExperiment(
        name="yahoo-heuristics",
        shows="Five ways of using a log with selective deletions, on Yahoo's news",
        source="Exp6, Figure 12",
        claim="UCB + IPSW has the lowest regret; linear regression does not perform well.",
        runs=10,
        cases=_heuristics_cases,
    ),
    YahooExperiment(
        name="yahoo-forest",
        shows="Linear and forest models on Yahoo's news",
        source="supplement",
        claim="The forest's reward is similar to LinUCB's, on data whose features come from a linear model.",
        runs=10,
        cases=lambda: [
            ReplayCase(_linear(), 500, {"oracle": "LinUCB", "evaluator": "LR"}),
            ReplayCase(_forests(), 500, {"oracle": "forest", "evaluator": "MoF"}),
        ],
    ),
    YahooExperiment(
        name="yahoo-batch",
        shows="Virtual plays at once or before each round, on Yahoo's news",
        source="supplement",
        claim="The batch variant and the original are almost indistinguishable.",
        runs=15,
        cases=_batch_cases,
    ),
)
YAHOO_EXPERIMENTS: Mapping[str, YahooExperiment] = {experiment.name: experiment for experiment in _ALL}
