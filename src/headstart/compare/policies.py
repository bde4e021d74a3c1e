"""The policies that a comparison begins with: two or three oracles, cold, naive and with the log put through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headstart.evaluators import DoublyRobust, HistoricalAverage, IPSWeighting, LinearModel, NoLog
from headstart.features import FeatureTable
from headstart.log import Log
from headstart.oracles import UCB, LinUCB, ThompsonBeta, ThompsonNormal
from headstart.warmstart import WarmStart

MakePolicy = Callable[[Log, np.random.Generator], Any]
"""(the log to start from, a generator) -> a policy: an oracle, a WarmStart, anything that plays and updates."""

COLD, NAIVE = "cold", "naive"


def default_policies(log: Log, decide_on: Sequence[str | int] | None = None) -> dict[str, MakePolicy]:
    """A handful by name, made for a log of this kind.

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
    columns = _columns(log, decide_on)
    policies = {**reference_policies(log)}
    policies["thompson + ips"] = _warm(_thompson(log), lambda part, rng: IPSWeighting(part))
    policies["thompson + doubly robust"] = _warm(_thompson(log), lambda part, rng: DoublyRobust(part))
    spread = float(log.outcomes.std()) or 1.0

    def ucb(part: Log, rng: np.random.Generator) -> Any:
        return UCB(part.n_actions, beta=spread)

    policies["ucb cold"] = ucb
    policies["ucb + ips"] = _warm(ucb, lambda part, rng: IPSWeighting(part))
    policies["ucb + doubly robust"] = _warm(ucb, lambda part, rng: DoublyRobust(part))
    if columns:
        policies["linucb cold"] = _linear(log, columns, is_warm=False)
        policies["linucb + linear model"] = _linear(log, columns, is_warm=True)
    return policies


def reference_policies(log: Log) -> dict[str, MakePolicy]:
    """The two that stand beside every comparison: without the log, and with the log taken at its word."""
    thompson = _thompson(log)
    return {COLD: thompson, NAIVE: _warm(thompson, lambda part, rng: HistoricalAverage(part, rng=rng))}


def _thompson(log: Log) -> MakePolicy:
    is_share = bool(log.outcomes.min() >= 0.0 and log.outcomes.max() <= 1.0)

    def make(part: Log, rng: np.random.Generator) -> Any:
        return ThompsonBeta(part.n_actions, rng=rng) if is_share else ThompsonNormal(part.n_actions, rng=rng)

    return make


def _warm(oracle: MakePolicy, evaluator: MakePolicy) -> MakePolicy:
    return lambda part, rng: WarmStart(oracle(part, rng), evaluator(part, rng), rng=rng)


def _columns(log: Log, decide_on: Sequence[str | int] | None) -> list[int]:
    if decide_on is None:
        return list(range(log.n_features))
    names = list(log.context_names)
    return [names.index(column) if isinstance(column, str) else int(column) for column in decide_on]


def _linear(log: Log, columns: Sequence[int], *, is_warm: bool) -> MakePolicy:
    spread = log.contexts.std(axis=0)
    weights = 1.0 / np.where(spread > 0.0, spread, 1.0)
    scale = float(log.outcomes.std()) or 1.0
    seen = _scaled(log.n_actions, weights[list(columns)])
    whole = _scaled(log.n_actions, weights)

    def make(part: Log, rng: np.random.Generator) -> Any:
        oracle = LinUCB(part.n_actions, len(columns), beta=scale, features=seen)
        evaluator = LinearModel(part, features=whole) if is_warm else NoLog()
        return WarmStart(oracle, evaluator, contexts=part.contexts, decide_on=columns, rng=rng)

    return make


def _scaled(n_actions: int, weights: Any) -> FeatureTable:
    """phi(x, a) = (x scaled, 1), and a parameter vector per action."""
    d = len(weights)
    return FeatureTable(n_actions, d, [list(range(d + 1))], [[*weights, 1.0]], is_disjoint=True)


def add_references(policies: Mapping[str, MakePolicy], log: Log) -> dict[str, MakePolicy]:
    """The policies with cold and naive first, unless they are among them."""
    return {**reference_policies(log), **policies}
