"""Leaks: a context that is the outcome."""

import numpy as np
import pytest

from headstart.judgement.audit.checks.leakage import find_leaks
from headstart.logs.log import Log
from tests.judgement.audit.planted import Making, with_leak


def kinds(log):
    return {column.name: column.kind for column in find_leaks(log).columns}


@pytest.mark.parametrize("is_binary", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_the_outcome_among_the_contexts_is_a_leak(is_binary, noise, seed):
    """The outcome plus noise of at most 0.3 of its spread: R2 is 1 / (1 + 0.09) = 0.92 or more."""
    found = kinds(with_leak(seed, noise, Making(is_binary=is_binary)))
    assert found.pop("leak") == "leak"
    assert set(found.values()) == {"none"}


def test_auc_by_hand():
    """Successes at 2, 3 and failures at 1, 2: of four pairs three are won, (2, 2) is a tie: 3.5 / 4."""
    column = np.tile([2.0, 3.0, 1.0, 2.0], 50)
    log = Log(np.zeros(200, int), np.tile([1.0, 1.0, 0.0, 0.0], 50), column, n_actions=1)
    assert find_leaks(log).columns[0].auc == pytest.approx(3.5 / 4)


def test_a_column_that_settles_the_outcome_of_one_action_only_is_no_leak():
    """Under action 1 the outcome is x1, under action 0 it is noise: a leak would tell both."""
    rng = np.random.default_rng(0)
    x, actions = rng.standard_normal((4000, 3)), rng.integers(2, size=4000)
    outcomes = np.where(actions == 1, x[:, 1], rng.standard_normal(4000))
    assert kinds(Log(actions, outcomes, x)) == {"x0": "none", "x1": "suspect", "x2": "none"}


def test_a_strong_honest_column_is_none():
    """R2 of 0.5 beside one of 0.25: much, but not four times any other."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4000, 2))
    outcomes = np.sqrt(2) * x[:, 0] + x[:, 1] + rng.standard_normal(4000)
    assert set(kinds(Log(rng.integers(2, size=4000), outcomes, x)).values()) == {"none"}


def test_a_skewed_outcome_does_not_hide_its_copy():
    rng = np.random.default_rng(0)
    outcomes = np.exp(2.0 * rng.standard_normal(2000))
    log = Log(rng.integers(3, size=2000), outcomes, np.column_stack([outcomes, rng.random(2000)]))
    assert kinds(log) == {"x0": "leak", "x1": "none"}


def test_without_contexts_there_is_nothing_to_leak():
    assert find_leaks(Log([0, 1] * 60, np.arange(120.0))).columns == ()
