"""Evaluators built from statistics equal those built from rows: the checks, for a table wherever it is."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from headstart import features
from headstart.estimates.propensity import LogisticPropensity
from headstart.evaluators import ExactMatching, HistoricalAverage, IPSWeighting, LinearModel, PropensityMatching
from headstart.logs.log import Log
from tests.logs.tables.twins import assert_same_sums, drain

EDGES = np.array([0.0, 0.01, 0.05, 0.2, 0.5, 1.0])


def check_sums(table: Any, log: Log) -> None:
    assert len(table) == len(log)
    assert table.outcome_range == (log.outcomes.min(), log.outcomes.max())
    assert_same_sums(table.action_sums(), log.action_sums())
    assert_same_sums(table.context_sums(), log.context_sums())
    np.testing.assert_array_equal(table.propensity_counts(EDGES), log.propensity_counts(EDGES))


def check_ips_weighting(table: Any, log: Log) -> None:
    ours, theirs = IPSWeighting(table), IPSWeighting(log)
    np.testing.assert_allclose(ours.means, theirs.means, rtol=1e-9)
    np.testing.assert_allclose(ours.effective_sizes, theirs.effective_sizes, rtol=1e-9)
    assert_same_sums(ours.summary(), theirs.summary())
    assert ours.outcome_range == theirs.outcome_range


def check_historical_average(table: Any, log: Log) -> None:
    ours, theirs = HistoricalAverage(table, rng=1), HistoricalAverage(log, rng=2)
    for action in range(log.n_actions):
        answers = drain(ours, itertools.repeat(None), action)
        assert answers == drain(theirs, itertools.repeat(None), action)
        assert answers == sorted(log.outcomes[log.actions == action].tolist())
    assert ours.is_exhausted()
    assert_same_sums(ours.summary(), theirs.summary())


def check_exact_matching(table: Any, log: Log) -> None:
    ours, theirs = ExactMatching(table, rng=1), ExactMatching(log, rng=2)
    for action in range(log.n_actions):
        users = log.contexts[log.actions == action]
        answers = drain(ours, users, action)
        assert answers == drain(theirs, users, action)
        assert answers == sorted(log.outcomes[log.actions == action].tolist())
    assert ours.is_exhausted()


def check_propensity_matching(table: Any, log: Log) -> None:
    """By a logistic model for both; each context's rows come back, whole strata at a time."""
    model = LogisticPropensity(log)
    pivots = (0.0, 0.3, 0.6, 1.0)
    ours = PropensityMatching(table, pivots=pivots, propensity=model, rng=1)
    theirs = PropensityMatching(log, pivots=pivots, propensity=model, rng=2)
    for action in range(log.n_actions):
        users = log.contexts[log.actions == action]
        assert drain(ours, users, action) == drain(theirs, users, action)
    assert ours.is_exhausted() == theirs.is_exhausted()


def check_linear_model(table: Any, log: Log) -> None:
    """Disjoint, shared with an intercept, and a function: the same estimate and the same answers, one by one."""
    k, d = log.n_actions, log.n_features
    z = np.arange(2.0 * k).reshape(k, 2) + 1.0
    maps = [
        None,
        features.products(d, z),
        features.FeatureFunction(lambda x, a: [x[0] * a, 1.0, x[-1] ** 2], k, d, 3),
    ]
    for phi in maps:
        ours, theirs = LinearModel(table, phi), LinearModel(log, phi)
        np.testing.assert_allclose(ours.theta, theirs.theta, rtol=1e-9, atol=1e-12)
        for i, context in enumerate(log.contexts[:40]):
            answer, expected = ours.get_outcome(context, i % k), theirs.get_outcome(context, i % k)
            assert (answer is None) == (expected is None)
            if answer is not None:
                np.testing.assert_allclose(answer, expected, rtol=1e-9, atol=1e-12)


CHECKS = [
    check_sums,
    check_ips_weighting,
    check_historical_average,
    check_exact_matching,
    check_propensity_matching,
    check_linear_model,
]
