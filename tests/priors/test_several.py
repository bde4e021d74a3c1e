"""The prior of several logs: with one log it is that log's; with logs that agree, that of all their rows."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.estimates.summary import Summary
from headstart.priors.linear import LOGGED, models_of_rows
from headstart.priors.logged import LoggedPrior
from headstart.priors.options import SourceOptions
from headstart.priors.several import pool_summaries, prior_of_sources
from headstart.priors.several_linear import SourceRows, linear_prior_of_sources

ONE = Summary(np.array([0.5, 0.3, np.nan]), np.array([0.05, 0.1, np.inf]), np.array([0.25, 0.25, np.nan]))
TWO = Summary(np.array([0.4, np.nan, 0.6]), np.array([0.1, np.inf, 0.05]), np.array([0.25, np.nan, 0.25]))
LOGGED_KIND = np.zeros(2, dtype=np.int64)


@pytest.mark.parametrize("is_binary", [False, True])
def test_one_log_is_its_own_prior(is_binary):
    trust = np.array([0.8, 0.7, 0.8])
    one = prior_of_sources([ONE], trust[None], np.zeros(1, dtype=np.int64), is_binary=is_binary)
    same = LoggedPrior.of_summary(ONE, trust, is_binary=is_binary)
    shown = same.chances > 0.0
    np.testing.assert_allclose(one.chances, same.chances)
    np.testing.assert_allclose(one.centres[shown], same.centres[shown])
    np.testing.assert_allclose(one.sizes[shown], same.sizes[shown])
    np.testing.assert_allclose(one.variances, same.variances)
    assert one.spread == same.spread


def test_summaries_are_pooled_by_plays():
    """100 plays at 0.5 and 25 at 0.4: 0.48, worth 125; an action of one log alone is as that log has it."""
    pooled = pool_summaries([ONE, TWO])
    np.testing.assert_allclose(pooled.means, [0.48, 0.3, 0.6])
    np.testing.assert_allclose(pooled.effective_sizes, [125.0, 25.0, 100.0])


def test_sets_of_two_logs_by_hand():
    """Of the first action, both: 0.48, worth 125 plays; alone 0.5 and 100, 0.4 and 25. The others have one log."""
    prior = prior_of_sources([ONE, TWO], np.full((2, 3), 0.8), LOGGED_KIND)
    assert prior.believed is not None
    by_set = {tuple(prior.believed[0, j]): j for j in range(prior.n_logged)}
    for logs, centre, size in [((True, True), 0.48, 125.0), ((True, False), 0.5, 100.0), ((False, True), 0.4, 25.0)]:
        np.testing.assert_allclose((prior.centres[0, by_set[logs]], prior.sizes[0, by_set[logs]]), (centre, size))
    np.testing.assert_allclose(prior.chances.sum(axis=1), 1.0)
    np.testing.assert_allclose(prior.chances[1:, 0], 0.8)
    np.testing.assert_array_equal(prior.believed[1:, 0], [[True, False], [False, True]])
    np.testing.assert_allclose(prior.centres[1:, 0], [0.3, 0.6])
    np.testing.assert_allclose(prior.centres[:, -2], 0.6)  # the rival is around the best that the logs leave likely
    assert "(logs 1 and 2)" in str(prior)
    assert "(log 2)" in str(prior)


def test_the_order_of_logs_does_not_matter():
    trust = np.array([[0.8, 0.7, 0.6], [0.5, 0.9, 0.8]])
    one = prior_of_sources([ONE, TWO], trust, np.array([0, 1]))
    two = prior_of_sources([TWO, ONE], trust[::-1], np.array([1, 0]))
    for name in ("chances", "centres", "sizes", "variances"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), err_msg=name)


def test_a_log_that_lies_moves_the_rival_only_as_far_as_it_is_believed():
    """A log that says 5 of the second action, contradicted by a log worth as much: the best that is expected is
    between, and no component is at their average."""
    good = Summary(np.array([0.5, 0.3]), np.full(2, 0.05), np.full(2, 0.25))
    lies = Summary(np.array([0.5, 5.0]), np.full(2, 0.05), np.full(2, 0.25))
    prior = prior_of_sources([good, lies], np.full((2, 2), 0.8), LOGGED_KIND)
    np.testing.assert_allclose(sorted(prior.centres[1, :2]), [0.3, 5.0])
    np.testing.assert_allclose(prior.chances[1, :2], prior.chances[1, 0])
    np.testing.assert_allclose(prior.centres[:, -2], 2.65)
    assert prior.chances[0, 0] > 0.8  # of the first action they agree


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.standard_normal((n, 2))])
    actions = rng.integers(0, 2, n)
    y = np.where(actions == 1, x @ [1.0, 0.5, 0.0], x @ [0.0, 0.5, -0.5]) + rng.standard_normal(n)
    return x, actions, y


def as_sources(x, actions, y, sources, known=None, levels=None) -> SourceRows:
    n = int(sources.max()) + 1
    known = np.ones((n, x.shape[1]), dtype=np.bool_) if known is None else known
    shape, kinds = (n, 2), np.zeros(n, dtype=np.int64)
    return SourceRows(
        x, actions, y, np.ones(len(y)), sources, known, np.full(shape, 0.8), np.ones(shape), kinds, levels
    )


def test_one_log_has_the_models_of_its_rows():
    x, actions, y = rows(300, 0)
    found, expanded = linear_prior_of_sources(as_sources(x, actions, y, np.zeros(300, dtype=np.int64)))
    same = models_of_rows(expanded, actions, y, 2, np.full(2, 0.8))
    np.testing.assert_allclose(found.centres, same.centres, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.inverses, same.inverses, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.chances, same.chances)


def test_logs_that_agree_have_the_model_of_all_their_rows():
    x, actions, y = rows(400, 1)
    sources = (np.arange(400) >= 150).astype(np.int64)
    found, expanded = linear_prior_of_sources(as_sources(x, actions, y, sources))
    same = models_of_rows(expanded, actions, y, 2, np.full(2, 0.8))
    assert found.believed is not None
    assert found.believed[:, 0].all()
    np.testing.assert_allclose(found.centres[:, 0], same.centres[:, LOGGED], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.inverses[:, 0], same.inverses[:, LOGGED], rtol=1e-8, atol=1e-12)
    assert (found.chances[:, 0] > 0.8).all()


def test_a_log_that_lacks_a_column_knows_no_slope_of_it():
    """Alone, the log that lacks the second column is as sure of its slope as the base, which has no row of the
    action."""
    x, actions, y = rows(400, 2)
    sources = (np.arange(400) >= 200).astype(np.int64)
    x[sources == 1, 2] = 0.0
    known = np.array([[True, True, True], [True, True, False]])
    found, _ = linear_prior_of_sources(
        as_sources(x, actions, y, sources, known), sources=SourceOptions(least_chance=0.0)
    )
    assert found.believed is not None
    for a in range(2):
        (alone,) = np.flatnonzero((found.believed[a] == [False, True]).all(axis=1))
        base = found.inverses[a, -1, 2, 2]
        assert found.inverses[a, alone, 2, 2] == pytest.approx(base, rel=0.02)
        assert found.inverses[a, alone, 1, 1] < 0.5 * base


def test_a_log_whose_slopes_contradict_is_not_pooled():
    x, actions, y = rows(600, 3)
    sources = (np.arange(600) >= 300).astype(np.int64)
    turned = np.where(sources == 1, y - 2.0 * x[:, 1], y)  # the slope of the first column is -1.5 in the second log
    found, _ = linear_prior_of_sources(as_sources(x, actions, turned, sources))
    assert found.believed is not None
    together = found.believed.all(axis=2) * found.chances[:, : found.n_logged]
    assert together.sum() < 1e-3
