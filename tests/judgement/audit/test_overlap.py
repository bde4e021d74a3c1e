"""Overlap: histograms, and the users who never saw an action."""

import numpy as np
import pytest

from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.checks.overlap import EDGES
from headstart.logs.log import Log
from tests.judgement.audit.planted import Making, without_overlap


def test_histograms_by_hand():
    """Two rows of a below 0.01, one at exactly 0.05, which is not below it; a bin holds its lower edge."""
    p = [0.002, 0.009, 0.05, 0.5, 0.5, 1.0]
    log = Log(["a", "a", "a", "a", "b", "b"], np.arange(6.0), propensities=p)
    a, b = audit(log).overlap.actions
    assert sum(a.counts) == 4
    assert a.counts[list(EDGES).index(0.05)] == 1
    assert (a.rows_below_1, a.rows_below_5) == (0.5, 0.5)
    assert a.rarest == 0.002
    assert b.counts[-1] == 1  # 1.0 is in the last bin
    assert b.rows_below_5 == 0.0


def test_the_edges_are_the_numbers_they_are_written_as():
    assert {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0} <= set(EDGES.tolist())
    assert (np.diff(EDGES) > 0).all()


@pytest.mark.parametrize("chance", [0.0, 0.001])
def test_the_users_who_never_saw_an_action_are_found_and_described(chance):
    """38.2 % of the users have x1 > 0.3. The half that is looked at has 10,000 rows: s.d. 0.5 %."""
    found = audit(without_overlap(3, chance, Making(n=20_000))).overlap
    assert found.actions[2].never_share == pytest.approx(0.382, abs=0.03)
    assert found.actions[2].never_who.startswith("x1 > 0.")
    assert found.actions[2].never_high < 0.01
    assert [action.never_share for action in found.actions[:2]] == [0.0, 0.0]


def test_a_category_is_named():
    rng = np.random.default_rng(0)
    city = rng.choice(["Paris", "Rome"], 4000)
    chance = np.where(city == "Rome", 0.0, 0.5)
    actions = (rng.random(4000) < chance).astype(int)
    p = np.where(actions == 1, chance, 1 - chance)
    found = audit(Log(actions, rng.random(4000), {"city": city}, p, n_actions=2)).overlap
    assert found.actions[1].never_who in ("city is Rome", "city is not Paris")


def test_a_rare_action_that_everybody_may_see_has_overlap():
    rng = np.random.default_rng(1)
    actions = (rng.random(20_000) < 0.005).astype(int)
    p = np.where(actions == 1, 0.005, 0.995)
    found = audit(Log(actions, rng.random(20_000), rng.random((20_000, 3)), p, n_actions=2))
    assert found.overlap.actions[1].never_share == 0.0
    assert found.verdict.decision == "use it"
