"""Four data sets with a known truth: which ways of using the log gain on them, and which lose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.random import Generator

from headstart.arrays import Floats
from headstart.estimates.propensity import estimate_propensities
from headstart.evaluators import DoublyRobust, HistoricalAverage, IPSWeighting, LinearModel, OutcomeModel
from headstart.experiments.paper.variants import BOTH, OFFLINE, ONLINE, MakeOracle, contextual_variants
from headstart.experiments.running.experiment import Case, Experiment
from headstart.judgement.start.start import start
from headstart.logs.log import Log
from headstart.oracles import UCB, Greedy, LinUCB, ThompsonGaussian
from headstart.oracles.thompson_normal import ThompsonNormal
from headstart.parts.contracts import Evaluator, Oracle
from headstart.simulation.simulate import MakePolicy, World
from headstart.warmstart.offline_only import OfflineOnly
from headstart.warmstart.warmstart import WarmStart
from headstart.worlds import ACIC2016, ACTG175, Classification, DrawnWorld, LaLonde
from headstart.worlds.table import TableState
from headstart.worlds.trial import TrialState

ROUNDS = 2000
TRIM = 0.05  # estimated propensities lie in [TRIM, 1 - TRIM]
WORLDS: Mapping[str, Callable[[], World]] = {"actg175": ACTG175, "lalonde": LaLonde, "acic2016": ACIC2016}
ORACLES: Mapping[str, MakeOracle] = {
    "UCB": lambda n_actions, rng: UCB(n_actions),
    "Thompson": lambda n_actions, rng: ThompsonGaussian(n_actions, scale=0.5, rng=rng),
}
EVALUATORS: Mapping[str, Callable[[Log, Generator], Evaluator]] = {
    "IPSW": lambda log, rng: IPSWeighting(log),
    "doubly robust": lambda log, rng: DoublyRobust(log),
    "linear regression": lambda log, rng: OutcomeModel(log),
    "historical average": lambda log, rng: HistoricalAverage(log, rng=rng),
}
_WEIGHTED = ("IPSW", "doubly robust")


class _Propensities:
    """The propensities that a log has or, estimated once for all policies that meet it, should have."""

    def __init__(self) -> None:
        self._known: dict[bytes, Floats] = {}

    def added_to(self, log: Log) -> Log:
        if log.has_propensities:
            return log
        key = log.outcomes.tobytes()
        if key not in self._known:
            estimated = estimate_propensities(log, warn_share=1.0).propensity_matrix  # kept in bounds below
            assert estimated is not None
            self._known[key] = np.clip(estimated, TRIM, 1.0 - TRIM)  # two actions: rows still sum to 1
        return log.with_propensities(self._known[key])


def _cold(oracle: str) -> MakePolicy:
    return lambda world, log, rng: ORACLES[oracle](world.n_actions, rng)


def _unknown_variance(world: DrawnWorld, log: Log, rng: Generator) -> Oracle:
    return ThompsonNormal(world.n_actions, rng=rng)


def _warm(oracle: str, evaluator: str, contexts: str, propensities: _Propensities) -> MakePolicy:
    def make(world: DrawnWorld, log: Log, rng: Generator) -> Oracle:
        answers = EVALUATORS[evaluator](propensities.added_to(log) if evaluator in _WEIGHTED else log, rng)
        source = world.population if contexts == "true" else None
        return WarmStart(ORACLES[oracle](world.n_actions, rng), answers, contexts=source, rng=rng)

    return make


def _offline(propensities: _Propensities) -> MakePolicy:
    def make(world: DrawnWorld, log: Log, rng: Generator) -> Oracle:
        answers = IPSWeighting(propensities.added_to(log))
        return OfflineOnly(Greedy(world.n_actions), answers, rng=rng)

    return make


def _users(world: DrawnWorld) -> Floats:
    """The contexts of the users to come: what these worlds draw them from."""
    assert world.population is not None
    drawn_from = world.population.kernel_state
    assert isinstance(drawn_from, TableState | TrialState)
    return drawn_from.contexts


def _started(world: DrawnWorld, log: Log, rng: Generator) -> Oracle:
    return start(log, horizon=ROUNDS, rng=rng)


def _started_for(world: DrawnWorld, log: Log, rng: Generator) -> Oracle:
    return start(log, population=_users(world), horizon=ROUNDS, rng=rng)


def _cases_of(name: str, world: World, propensities: _Propensities) -> Iterator[Case]:
    yield Case(world, {ONLINE: _unknown_variance}, ROUNDS, {"world": name, "oracle": "ThompsonNormal"})
    yield Case(world, {BOTH: _started}, ROUNDS, {"world": name, "oracle": "start"})
    yield Case(world, {BOTH: _started_for}, ROUNDS, {"world": name, "oracle": "start", "contexts": "true"})
    for oracle in ORACLES:
        setting = {"world": name, "oracle": oracle}
        yield Case(world, {ONLINE: _cold(oracle)}, ROUNDS, setting)
        for evaluator in EVALUATORS:
            policy = _warm(oracle, evaluator, "empirical", propensities)
            yield Case(world, {BOTH: policy}, ROUNDS, {**setting, "evaluator": evaluator})
        if isinstance(world, LaLonde):  # the one log whose people are not the users
            evaluator = "linear regression"
            policy = _warm(oracle, evaluator, "true", propensities)
            yield Case(world, {BOTH: policy}, ROUNDS, {**setting, "evaluator": evaluator, "contexts": "true"})
    setting = {"world": name, "oracle": "greedy", "evaluator": "IPSW"}
    yield Case(world, {OFFLINE: _offline(propensities)}, ROUNDS, setting)


def _digits_cases() -> Iterator[Case]:
    """Ten classes and 65 columns: decisions by context."""
    world = Classification()

    linear = contextual_variants(
        lambda drawn, rng: LinUCB(drawn.n_actions, drawn.n_features),
        lambda drawn, rng: LinUCB(drawn.n_actions, drawn.n_features, beta=0.0),
        lambda drawn, log, rng: LinearModel(log),
    )

    def started(drawn: DrawnWorld, log: Log, rng: Generator) -> Oracle:
        return start(log, decide_on=range(drawn.n_features), horizon=ROUNDS, rng=rng)

    yield Case(world, {BOTH: started}, ROUNDS, {"world": "digits", "oracle": "start"}, share=0.2)
    setting = {"world": "digits", "oracle": "LinUCB"}
    yield Case(world, {ONLINE: linear[ONLINE]}, ROUNDS, setting, share=0.2)
    for variant in (BOTH, OFFLINE):
        yield Case(world, {variant: linear[variant]}, ROUNDS, {**setting, "evaluator": "LR"}, share=0.2)


def _cases() -> list[Case]:
    propensities = _Propensities()
    cases = [case for name, make in WORLDS.items() for case in _cases_of(name, make(), propensities)]
    return [*cases, *_digits_cases()]


EXPERIMENT = Experiment(
    name="trials",
    shows="The paper's algorithms and heuristics on trials with a known truth",
    source="not in the paper",
    claim="A log put through causal inference helps the bandit; a raw log misleads it.",
    reading=(
        "Gains where the log is confounded by what it shows (ACTG 175: weighting, doubly robust, regression; the "
        "raw average loses) and where its bias points the right way (ACIC 2016, even the raw average). Where its "
        "people are not the users (LaLonde) every evaluator ruins the bandit, but for a regression asked about the "
        "users, which gains with UCB and loses with Thompson sampling. `start` is the best on ACTG 175 and digits. "
        "On LaLonde, told who the users are or not, it believes a log of other people for 4 to 6 users and has what "
        "a cold start has, within noise: two or three runs of 150 give up the better action after 9 to 20 tries, and "
        "cost as much as all others. On ACIC 2016 the systems that trust the log blindly pay nothing, which no safe "
        "one can (METHODS.md)."
    ),
    runs=500,
    seconds=250,
    cases=_cases,
    panels=("world",),
)
