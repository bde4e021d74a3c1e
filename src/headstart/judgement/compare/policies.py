"""The policies that a comparison begins with: what the service would run, and two or three oracles, cold, naive and
with the log put through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.checks import guess_name
from headstart.errors import OptionError
from headstart.estimates.features import FeatureTable
from headstart.evaluators import DoublyRobust, HistoricalAverage, IPSWeighting, LinearModel, NoLog
from headstart.judgement.start.start import start
from headstart.logs.log import Log
from headstart.oracles import UCB, LinUCB, ThompsonBeta, ThompsonNormal
from headstart.parts.contracts import Evaluator, Oracle
from headstart.warmstart.warmstart import WarmStart

StartPolicy: TypeAlias = Callable[[Log, np.random.Generator], Oracle]  # (the log to start from, rng) -> a policy
StartEvaluator: TypeAlias = Callable[[Log, np.random.Generator], Evaluator]

START, COLD, NAIVE = "start", "cold", "naive"
TODAY = "today's policy"  # the one that made the log; it stands in every comparison and is no policy to be built
CONTEXT_FREE = (
    *(START, COLD, NAIVE, "thompson + ips", "thompson + doubly robust"),
    *("ucb cold", "ucb + ips", "ucb + doubly robust"),
)
CONTEXTUAL = ("linucb cold", "linucb + linear model")


def default_policies(log: Log, decide_on: Sequence[str | int] | None = None) -> dict[str, StartPolicy]:
    """A handful by name, made for a log of this kind.

    start
        What `start` makes of the log, and the service runs: by context where there are contexts to decide on.
    cold
        Thompson sampling without the log: Beta posteriors if all outcomes are in [0, 1], else Student's.
    naive
        The same, started from the log's raw outcomes (HistoricalAverage).
    thompson + ips, thompson + doubly robust
        The same, started from adjusted means.
    ucb cold, ucb + ips, ucb + doubly robust
        Upper confidence bounds with the width that the spread of the log's outcomes calls for.
    linucb cold, linucb + linear model
        Where there are contexts to decide on: a linear model per action with an intercept, columns scaled by their
        spread; started from a ridge regression of the log.
    """
    spread = float(log.outcomes.std()) or 1.0
    thompson = _thompson(log)

    def ucb(part: Log, rng: np.random.Generator) -> Oracle:
        return UCB(part.n_actions, beta=spread)

    def ips(part: Log, rng: np.random.Generator) -> Evaluator:
        return IPSWeighting(part)

    def robust(part: Log, rng: np.random.Generator) -> Evaluator:
        return DoublyRobust(part)

    columns = log.encoding.columns_of(range(log.n_features) if decide_on is None else decide_on)
    free = (_start(columns), *reference_policies(log).values(), _warm(thompson, ips), _warm(thompson, robust))
    free += (ucb, _warm(ucb, ips), _warm(ucb, robust))
    policies = dict(zip(CONTEXT_FREE, free, strict=True))
    if columns.size:
        cold, warm = (_linear(log, columns, is_warm=is_warm) for is_warm in (False, True))
        policies.update(zip(CONTEXTUAL, (cold, warm), strict=True))
    return policies


def reference_policies(log: Log) -> dict[str, StartPolicy]:
    """The two that stand beside every comparison: without the log, and with the log taken at its word."""
    thompson = _thompson(log)
    return {COLD: thompson, NAIVE: _warm(thompson, lambda part, rng: HistoricalAverage(part, rng=rng))}


def _start(columns: Integers) -> StartPolicy:
    decide_on = columns.tolist() or None

    def make(part: Log, rng: np.random.Generator) -> Oracle:
        return start(part, decide_on=decide_on, rng=rng)

    return make


def _thompson(log: Log) -> StartPolicy:
    is_share = bool(log.outcomes.min() >= 0.0 and log.outcomes.max() <= 1.0)

    def make(part: Log, rng: np.random.Generator) -> Oracle:
        return ThompsonBeta(part.n_actions, rng=rng) if is_share else ThompsonNormal(part.n_actions, rng=rng)

    return make


def _warm(oracle: StartPolicy, evaluator: StartEvaluator) -> StartPolicy:
    return lambda part, rng: WarmStart(oracle(part, rng), evaluator(part, rng), rng=rng)


def _linear(log: Log, columns: Integers, *, is_warm: bool) -> StartPolicy:
    spread = log.contexts.std(axis=0)
    weights = 1.0 / np.where(spread > 0.0, spread, 1.0)
    scale = float(log.outcomes.std()) or 1.0
    seen = _scaled(log.n_actions, weights[columns])
    whole = _scaled(log.n_actions, weights)

    def make(part: Log, rng: np.random.Generator) -> Oracle:
        oracle = LinUCB(part.n_actions, len(columns), beta=scale, features=seen)
        evaluator = LinearModel(part, features=whole) if is_warm else NoLog()
        return WarmStart(oracle, evaluator, contexts=part.contexts, decide_on=columns.tolist(), rng=rng)

    return make


def _scaled(n_actions: int, weights: Floats) -> FeatureTable:
    """phi(x, a) = (x scaled, 1), and a parameter vector per action."""
    d = len(weights)
    return FeatureTable(n_actions, d, [list(range(d + 1))], [[*weights, 1.0]], is_disjoint=True)


def choose_policies(
    asked: Mapping[str, StartPolicy] | Sequence[str] | None, log: Log, decide_on: Sequence[str | int] | None
) -> dict[str, StartPolicy]:
    """The policies asked for, by name or as functions, with cold and naive first."""
    if isinstance(asked, Mapping):
        if TODAY in asked:
            raise OptionError(f"{TODAY!r} is the policy that made the log and stands in every comparison")
        return {**reference_policies(log), **asked}
    known = default_policies(log, decide_on)
    if asked is None:
        return known
    for name in asked:
        if name not in (*known, TODAY):
            raise OptionError(
                f"unknown policy {name!r}; {guess_name(name, list(known))}known for this log: {', '.join(known)}"
            )
    return {name: known[name] for name in dict.fromkeys((COLD, NAIVE, *asked)) if name != TODAY}
