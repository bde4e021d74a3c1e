"""A level that all actions share: the slow twin is the marginal likelihood of all outcomes, by scipy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats

from headstart.estimates.summary import Summary
from headstart.kernels.beliefs import learn, settle, take_log_back
from headstart.priors.logged import LoggedPrior
from headstart.priors.options import LevelOptions, LoggedPriorOptions

SUMMARY = Summary(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.2, 0.25]), np.array([1.0, 1.2, 0.8]))
OPTIONS = LoggedPriorOptions(levels=LevelOptions(still=0.4, step=0.5, reach=1.5), rival_share=0.7)
OUTCOMES = {0: [-1.2, -0.7, -1.4], 2: [0.1, 0.4, -0.3, 0.2]}


def begun() -> SimpleNamespace:
    belief = LoggedPrior.of_summary(SUMMARY, np.array([0.9, 0.7, 0.8]), OPTIONS).new_belief()
    return SimpleNamespace(belief=belief, tally=settle(belief))


def taught() -> SimpleNamespace:
    state = begun()
    for action, values in OUTCOMES.items():
        for value in values:
            learn(state, action, value, 0.0)
    return state


def slow(belief) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chances of levels, (G,), of components given each, (G, K, J), and their means, less the level.

    Given the level and the component, n outcomes are Student's with `freedom` degrees: mean centre + level, scale
    variance (I + 11' / size). A level within its step adds to the variance of a mean.
    """
    levels, (k, j) = belief.levels, belief.centres.shape
    logs = np.zeros((levels.offsets.size, k, j))
    means = np.zeros_like(logs)
    for g, offset in enumerate(levels.offsets):
        for a in range(k):
            values = np.array(OUTCOMES.get(a, []))
            variance, freedom = belief.variances[a], belief.freedoms[a]
            for c in range(j):
                size = belief.sizes[a, c]
                if g:
                    size = 1.0 / (1.0 / size + levels.spread / variance)
                logs[g, a, c] = belief.log_priors[a, c]
                if values.size:
                    shape = variance * (np.eye(values.size) + np.ones((values.size, values.size)) / size)
                    centre = np.full(values.size, belief.centres[a, c] + offset)
                    logs[g, a, c] += stats.multivariate_t(centre, shape, freedom).logpdf(values)
                total = (values - offset).sum() + size * belief.centres[a, c]
                means[g, a, c] = total / (size + values.size)
    evidence = special.logsumexp(logs, axis=2)
    start = begun().belief.levels.chances
    chances = start * np.exp(evidence.sum(axis=1) - evidence.sum(axis=1).max())
    return chances / chances.sum(), np.exp(logs - evidence[:, :, None]), means


def test_levels_are_weighed_by_the_outcomes_of_all_actions():
    belief = taught().belief
    chances, weights, means = slow(belief)
    np.testing.assert_allclose(belief.levels.chances, chances, rtol=1e-8, atol=1e-9)
    possible = belief.levels.chances > 0.0
    np.testing.assert_allclose(belief.levels.weights[possible], weights[possible], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(belief.levels.locations[possible], means[possible], rtol=1e-9)
    # Users of both actions are about 1 lower: so is the level.
    assert belief.levels.offsets[np.argmax(belief.levels.chances)] < -0.5


def test_the_average_is_of_differences_to_the_best():
    """Its mean is the mixture's; its spread is that of the difference to the best action at the same level."""
    belief = taught().belief
    chances, weights, means = slow(belief)
    expected = np.einsum("g,gaj,gaj->a", chances, weights, means) + chances @ belief.levels.offsets
    np.testing.assert_allclose((belief.weights * belief.locations).sum(axis=1), expected, rtol=1e-8)
    np.testing.assert_allclose(belief.weights, np.einsum("g,gaj->aj", chances, weights), rtol=1e-8, atol=1e-12)
    best = int(np.argmax(expected))
    apart = means - (weights * means).sum(axis=2)[:, best][:, None, None]
    share = chances[:, None, None] * weights / np.maximum(belief.weights, 1e-300)
    within = (share * belief.levels.scales**2).sum(axis=0)
    between = (share * apart**2).sum(axis=0) - (share * apart).sum(axis=0) ** 2
    np.testing.assert_allclose(belief.scales, np.sqrt(within + between), rtol=1e-6)


@pytest.mark.parametrize("order", [(0, 2), (2, 0)])
def test_the_order_of_outcomes_does_not_matter(order):
    state = begun()
    for action in order:
        for value in reversed(OUTCOMES[action]):
            learn(state, action, value, 0.0)
    np.testing.assert_allclose(state.belief.weights, taught().belief.weights, rtol=1e-9)
    np.testing.assert_allclose(state.belief.locations, taught().belief.locations, rtol=1e-9)


def test_a_log_taken_back_leaves_the_levels_to_the_other_actions():
    state = taught()
    take_log_back(state, 0)
    assert state.belief.weights[0, 0] == 0.0
    chances, _, _ = slow(state.belief)
    np.testing.assert_allclose(state.belief.levels.chances, chances, rtol=1e-8, atol=1e-9)
