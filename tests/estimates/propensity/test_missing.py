"""Missing propensities: filled in one way, believed as far as rows left out advise."""

import numpy as np
import pytest

import headstart as hs
from headstart.estimates.propensity.missing import fill_missing, fill_with_sample


def make_log(n=3000, seed=0, n_actions=2):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    chances = 1.0 / (1.0 + np.exp(-x[:, 0]))
    actions = (rng.random(n) < chances).astype(int)
    return hs.Log(actions, rng.random(n), x, n_actions=n_actions), np.where(actions == 1, chances, 1.0 - chances)


def test_chances_learnt_from_noise_are_not_believed():
    """Actions by lot and 60 columns of noise: the shares are all there is to know."""
    rng = np.random.default_rng(0)
    log = hs.Log(rng.integers(0, 2, 200), rng.random(200), rng.standard_normal((200, 60)))
    chances = fill_missing(log).log.propensities
    assert np.abs(chances - 0.5).max() < 0.25  # plain logistic regression has some below 0.01


def test_chances_of_a_real_policy_are_believed():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 1))
    p = 1 / (1 + np.exp(-2 * x[:, 0]))
    actions = (rng.random(2000) < p).astype(int)
    chances = fill_missing(hs.Log(actions, rng.random(2000), x)).log.propensities
    assert np.abs(chances - np.where(actions == 1, p, 1 - p)).mean() < 0.03


def test_shares_are_all_that_few_rows_or_no_contexts_know():
    """Three of four rows took action 0; the third action has no chance, and no row."""
    filled = fill_missing(hs.Log([0, 0, 1, 0], np.zeros(4), n_actions=3))
    assert filled.log.propensity_matrix.tolist() == [[0.75, 0.25, 0.0]] * 4
    assert filled.belief == 0.0
    assert filled.note == "the chance of an action is taken to be its share of the log, which has so few rows"
    assert fill_missing(hs.Log([0], [1.0], [[2.0]])).log.propensities.tolist() == [1.0]


def test_the_chances_of_a_row_are_a_distribution_and_an_action_never_shown_has_none():
    log, _ = make_log(400, n_actions=3)
    matrix = fill_missing(log).log.propensity_matrix
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-9)
    assert (matrix[:, 2] == 0.0).all()
    assert (matrix[:, :2] > 0.0).all()


@pytest.mark.parametrize("as_table", [False, True])
def test_rows_beyond_the_sample_are_believed_as_far(as_table):
    """A model of 1,000 rows, 3 parameters: its chances are off by about sqrt(3 / 1,000) / 4 = 0.014 on average."""
    log, truth = make_log()
    sample = log.take(np.arange(1000))
    source = log
    if as_table:
        import pandas

        frame = pandas.DataFrame(
            {"x0": log.contexts[:, 0], "x1": log.contexts[:, 1], "a": log.actions, "y": log.outcomes}
        )
        source = hs.scan_log(frame, action="a", outcome="y", contexts=["x0", "x1"])
    whole, part, _ = fill_with_sample(source, sample, 0)
    assert len(part) == 1000
    assert part.propensities.tolist() == fill_missing(sample).log.propensities.tolist()
    if as_table:
        assert whole.has_propensities
        expected = fill_with_sample(log, sample, 0).log.action_sums()
        np.testing.assert_allclose(whole.action_sums().w, expected.w, rtol=1e-9)
    else:
        assert np.abs(whole.propensities - truth).mean() < 0.04


def test_an_action_too_rare_for_the_sample_has_a_chance():
    log, _ = make_log(200)
    actions = log.actions.copy()
    actions[-1] = 2
    rare = hs.Log(actions, log.outcomes, log.contexts, n_actions=3)
    whole, *_ = fill_with_sample(rare, rare.take(np.arange(100)), 0)
    assert 0.0 < whole.propensities[-1] < 0.2


def test_a_sample_of_all_rows_stands_for_the_log():
    log, _ = make_log(100)
    whole, part, _ = fill_with_sample(log, log.take(np.arange(100)), 0)
    assert whole is part
