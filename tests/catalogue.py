"""Examples of every part, for all tests that put every part through something.

A built-in part whose constructor asks only for what stands in `GIVEN` and `SETTINGS` is here by itself. Any other
needs an example in `OTHERS`; until it has one, a test says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

import headstart as hs
from headstart import evaluators, oracles, relatives
from headstart.estimates.summary import Summary
from headstart.evaluators.linear_model import linear_sums
from headstart.parts.catalogue import BuiltIn, find_parts

K, D = 3, 6
LOG = hs.worlds.Synthetic(n_actions=K, n_log=60).draw(np.random.default_rng(3)).log
SUMMARY = Summary(np.array([0.2, 0.5, 0.4]), np.array([0.1, 0.1, 0.2]), np.full(3, 0.25))
PARTIAL = Summary(np.array([0.2, np.nan, np.nan]), np.array([0.1, np.inf, np.inf]), np.array([0.25, np.nan, np.nan]))

Make = Callable[[int], Any]  # from a seed

GIVEN: Mapping[str, Any] = {"n_actions": K, "n_features": D, "log": LOG, "summary": SUMMARY}
SETTINGS: Mapping[str, Any] = {"half_life": 10.0, "window": 10}  # of settings that have no default

OTHERS: Mapping[str, Make] = {
    "Capped": lambda seed: hs.Capped(hs.IPSWeighting(LOG), [2, 0, 40]),
    "LinKnowledgeGradient": lambda seed: hs.LinKnowledgeGradient.from_rows(
        np.column_stack([np.ones(len(LOG)), LOG.contexts[:, 1:]]), LOG.actions, LOG.outcomes, K, rng=seed
    ),
    "MinLinUCB": lambda seed: hs.MinLinUCB(K, D, *linear_sums(LOG, hs.features.disjoint(K, D)), bias_bound=0.1),
    "StochasticDelayedBandit": lambda seed: hs.StochasticDelayedBandit(hs.UCB(K)),
}

BUILT_IN_ORACLES = find_parts(oracles, "play", "update", "probabilities")
BUILT_IN_EVALUATORS = find_parts(evaluators, "get_outcome")


def example(part: BuiltIn) -> Make | None:
    """How to make a part from a seed; None for a part that has no example."""
    if part.name in OTHERS:
        return OTHERS[part.name]
    if not set(part.needs) <= {*GIVEN, *SETTINGS}:
        return None
    settings = {name: value for name, value in SETTINGS.items() if name in part.needs}
    return lambda seed: part.build({**GIVEN, "rng": seed}, settings)


def _examples(parts: Mapping[str, BuiltIn]) -> dict[str, Make]:
    made = {name: example(part) for name, part in parts.items()}
    return {name: make for name, make in made.items() if make is not None}


ORACLES: dict[str, Make] = {
    **_examples(BUILT_IN_ORACLES),
    "ABTest, 20 rounds": lambda seed: hs.ABTest(K, test_rounds=20, rng=seed),
    "EpsilonGreedy, decreasing": lambda seed: hs.EpsilonGreedy(K, decay=5.0, rng=seed),
    "RobustThompson that trusts blindly": lambda seed: hs.RobustThompson(K, SUMMARY, trust=1.0, rng=seed),
    "RobustThompson that knows one action": lambda seed: hs.RobustThompson(
        K, PARTIAL, trust=[0.9, 0.5, 0.5], rng=seed
    ),
    "KnowledgeGradient that knows one action": lambda seed: hs.KnowledgeGradient(K, PARTIAL, trust=0.5, rng=seed),
    "MinUCB that is forced": lambda seed: hs.MinUCB(K, SUMMARY, bias_bound=0.1, forced=1.0, half_life=100.0),
    "MinUCB of observed variances": lambda seed: hs.MinUCB(K, PARTIAL, follows_variance=True),
    "StochasticDelayedBandit, random": lambda seed: hs.StochasticDelayedBandit(
        hs.ThompsonBeta(K, rng=seed), hs.ABTest(K, rng=seed + 1)
    ),
    "one action": lambda seed: hs.UCB(1),
}

POLICIES: dict[str, Make] = {
    "WarmStart without a log": lambda seed: hs.WarmStart(hs.ThompsonBeta(K, rng=seed), hs.NoLog(), rng=seed),
    "WarmStart": lambda seed: hs.WarmStart(hs.ThompsonGaussian(K, rng=seed), hs.IPSWeighting(LOG), rng=seed),
    "WarmStart by context": lambda seed: hs.WarmStart(
        hs.LinThompson(K, 2, rng=seed), hs.LinearModel(LOG), decide_on=[0, 3], rng=seed
    ),
    "WarmStart of matching": lambda seed: hs.WarmStart(hs.UCB(K), hs.ExactMatching(LOG, rng=seed), rng=seed),
    "WarmStart under caps": lambda seed: hs.WarmStart(
        hs.ThompsonNormal(K, rng=seed), hs.Capped(hs.IPSWeighting(LOG), [5, 0, 3]), rng=seed
    ),
    "OfflineOnly": lambda seed: hs.OfflineOnly(hs.Greedy(K), hs.IPSWeighting(LOG), rng=seed),
    "Adjusted": lambda seed: hs.Adjusted(hs.ThompsonNormal(K, rng=seed), hs.ControlLine.of_log(LOG)),
    "Guarded": lambda seed: hs.Guarded(
        hs.WarmStart(hs.ThompsonGaussian(K, rng=seed), hs.IPSWeighting(LOG), rng=seed)
    ),
    "Guarded that begins again": lambda seed: hs.Guarded(
        hs.WarmStart(hs.ABTest(K, rng=seed), hs.IPSWeighting(LOG), rng=seed)
    ),
    "Guarded by context": lambda seed: hs.Guarded(
        hs.WarmStart(hs.LinUCB(K, D), hs.LinearModel(LOG), rng=seed), log=LOG
    ),
    "start": lambda seed: hs.start(LOG, rng=seed),
    "start by context": lambda seed: hs.start(LOG, decide_on=range(D), rng=seed),
    "artificial replay": lambda seed: relatives.artificial_replay(hs.UCB(K), LOG, rng=seed),
    "historical UCB": lambda seed: relatives.historical_ucb(LOG, rng=seed),
    "estimate, then commit": lambda seed: relatives.EstimateThenCommit(SUMMARY),
    "ARRoWCB": lambda seed: relatives.ARRoWCB(LOG, rng=seed),
    "AnchorTS": lambda seed: relatives.AnchorTS(SUMMARY, rng=seed),
    "AnchorTS that knows one action": lambda seed: relatives.AnchorTS(PARTIAL, rng=seed),
    "Commensurate": lambda seed: relatives.Commensurate(SUMMARY, rng=seed),
    "Commensurate that knows one action": lambda seed: relatives.Commensurate(PARTIAL, rng=seed),
    "OtO": lambda seed: relatives.OtO(SUMMARY),
    "OtO that knows one action": lambda seed: relatives.OtO(PARTIAL),
}

EVALUATORS: dict[str, Make] = {
    **_examples(BUILT_IN_EVALUATORS),
    "PropensityMatching by function": lambda seed: hs.PropensityMatching(
        LOG, propensity=lambda context: np.full(K, 1 / K), rng=seed
    ),
    "Capped matching": lambda seed: hs.Capped(hs.ExactMatching(LOG, rng=seed), [3, 1, 9]),
    "Capped model": lambda seed: hs.Capped(hs.OutcomeModel(LOG, DecisionTreeRegressor(random_state=0)), [5, 5, 0]),
    "OutcomeModel of trees": lambda seed: hs.OutcomeModel(LOG, DecisionTreeRegressor(random_state=0)),
    "OutcomeModel of xgboost": lambda seed: hs.OutcomeModel.boosted(LOG),
}

BUILT_IN_WORLDS = find_parts(hs.worlds, "draw")

WORLDS: dict[str, Callable[[], Any]] = {
    "Synthetic": lambda: hs.worlds.Synthetic(n_actions=K, n_log=60),
    "Synthetic by context": lambda: hs.worlds.Synthetic(n_actions=K, n_log=60, is_contextual=True),
    "Cells": lambda: hs.worlds.Cells(rates=[[0.1, 0.4], [0.3, 0.2]], shares=[0.5, 0.5], log_counts=[[9, 5], [5, 9]]),
    "Classification": lambda: hs.worlds.Classification(n_log=40),
    "Drifting": lambda: hs.worlds.Drifting(period=10),
    "PotentialOutcomes": lambda: hs.worlds.PotentialOutcomes(
        np.arange(36.0).reshape(12, 3) % 7, np.arange(24.0).reshape(12, 2), n_log=8
    ),
    "Trial": lambda: hs.worlds.Trial(np.arange(60) % 3, np.arange(60.0) % 7, LOG.contexts, n_log=20),
    "Linear": lambda: hs.worlds.Linear([0.0, 1.0, 0.5], np.full((3, 2), 0.4), n_log=60),
    "Linear, binary by context": lambda: hs.worlds.Linear(
        [-1.0, 1.0], np.full((2, 2), 0.4), outcome="binary", n_log=60, is_contextual=True
    ),
    "Mislogged": lambda: hs.worlds.Mislogged(hs.worlds.Synthetic(n_actions=K, n_log=60), [0.0, 1.0, -1.0]),
    "Moving": lambda: hs.worlds.Moving(hs.worlds.Synthetic(n_actions=K, n_log=60), np.linspace(0.0, 1.0, 20)),
    "Turning": lambda: hs.worlds.Turning(hs.worlds.Synthetic(n_actions=K, n_log=60), after=20),
    "Resampled": lambda: hs.worlds.Resampled(LOG, np.array([[0.1, 0.5, 0.9], [0.3, 0.2, 0.4]]), np.eye(2)),
    "ACTG175": lambda: hs.worlds.ACTG175(n_log=60),
    "LaLonde": hs.worlds.LaLonde,
    "ACIC2016": lambda: hs.worlds.ACIC2016(n_log=60),
}
