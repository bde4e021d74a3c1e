"""Worlds of stated means whose outcomes scatter as a log's did."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.worlds import Resampled

LOG = hs.Log([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0], n_actions=2)


def make(kind: str) -> Resampled:
    if kind == "binary":
        return Resampled(LOG, np.array([[0.3, 0.6]]))
    expected, contexts = np.array([[0.0, 1.0], [2.0, 1.5]]), np.array([[0.0], [1.0]])
    residuals = [np.array([-1.0, 1.0]), np.array([-2.0, 0.0, 2.0])]
    return Resampled(LOG, expected, contexts, residuals, is_contextual=kind == "contextual")


@pytest.mark.parametrize("kind", ["binary", "for all", "contextual"])
def test_it_is_a_world(kind: str):
    hs.testing.check_world(make(kind))


def test_outcomes_are_means_and_the_actions_own_residuals():
    drawn = make("contextual").draw(np.random.default_rng(0))
    seen: dict[int, set[float]] = {0: set(), 1: set()}
    for _ in range(200):
        user = int(drawn.draw_user()[0])
        np.testing.assert_array_equal(drawn.expected_outcomes(), [[0.0, 1.0], [2.0, 1.5]][user])
        seen[user].add(drawn.draw_outcome(1))
    assert seen == {0: {-1.0, 1.0, 3.0}, 1: {-0.5, 1.5, 3.5}}


def test_regret_for_all_is_against_the_mean():
    drawn = make("for all").draw(np.random.default_rng(0))
    drawn.draw_user()
    np.testing.assert_allclose(drawn.expected_outcomes(), [1.0, 1.25])


def test_zero_one_outcomes_have_their_rates():
    """4,000 draws of 0.3: the error is sqrt(0.21 / 4000) = 0.0072; 4 of them are chance once in 15,000."""
    drawn = make("binary").draw(np.random.default_rng(1))
    outcomes = []
    for _ in range(4000):
        drawn.draw_user()
        outcomes.append(drawn.draw_outcome(0))
    assert set(outcomes) == {0.0, 1.0}
    assert abs(np.mean(outcomes) - 0.3) < 4 * 0.0073


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros((1, 3)),), "2 actions"),
        ((np.array([[0.5, 1.2]]),), r"in \[0, 1\]"),
        ((np.zeros((1, 2)), None, [np.ones(1)]), "residuals"),
        ((np.zeros((1, 2)), np.zeros((2, 1))), "one row per row"),
    ],
)
def test_what_is_wrong_is_said(arguments, words):
    with pytest.raises(hs.errors.OptionError, match=words):
        Resampled(LOG, *arguments)
