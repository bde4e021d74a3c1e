"""Balance before and after weighting."""

import numpy as np
import pytest

from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.checks.likeness import judge_columns
from headstart.logs.log import Log
from tests.judgement.audit.planted import Making


def test_by_hand():
    """x = 0, 0, 1, 1 with mean 1/2 and s.d. 1/2. Action a has x = 0, 0, 1: mean 1/3, (1/3 - 1/2) / (1/2) = -1/3.

    Weighted by 1/p = 1, 1, 2 its mean is 1/2: balanced. Action b has x = 1: +1, before and after.
    """
    log = Log(["a", "a", "a", "b"], [0.0, 1.0, 2.0, 3.0], [[0.0], [0.0], [1.0], [1.0]], [1.0, 1.0, 0.5, 0.5])
    found = audit(log).balance
    assert found.columns[0].before == pytest.approx((-1 / 3, 1.0))
    assert found.columns[0].after == pytest.approx((0.0, 1.0))
    assert found.worst_after == pytest.approx(1.0)


def test_true_propensities_balance_what_was_not():
    found = audit(Making(n=20_000).draw(1)[0]).balance
    assert found.worst_before > 0.3
    assert found.worst_after < 0.1
    assert found.unbalanced == ()


def test_a_column_that_does_not_vary_is_left_out():
    log = Log([0, 1] * 50, np.arange(100.0), np.column_stack([np.ones(100), np.arange(100)]), [0.5] * 100)
    assert [column.name for column in audit(log).balance.columns] == ["x1"]


def test_few_rows_are_not_called_unbalanced():
    """Ten rows of an action differ by 1 / sqrt(10) = 0.3 standard deviations by chance: no finding."""
    rng = np.random.default_rng(0)
    log = Log([0] * 10 + [1] * 10, rng.random(20), rng.standard_normal((20, 3)), [0.5] * 20)
    found = audit(log).balance
    assert found.worst_after > 0.1
    assert found.unbalanced == ()


def test_a_category_of_one_row_is_no_imbalance():
    """Of 34 actions by lot one has the only row of a category: it is off by 34 times its share, and by chance."""
    rng = np.random.default_rng(0)
    n = 10_000
    city = np.where(rng.random(n) < 0.5, "a", "b").astype(object)
    city[0] = "once"
    log = Log(rng.integers(34, size=n), rng.random(n), {"city": city.tolist()}, np.full(n, 1 / 34), n_actions=34)
    found = audit(log)
    assert found.balance.worst_after > 0.3
    assert found.balance.unbalanced == ()
    assert found.verdict.decision == "use it"


def test_a_common_category_that_is_left_unbalanced_is_found():
    """Half of the users, of whom the action has 60 % after weighting: 0.2 standard deviations."""
    rng = np.random.default_rng(0)
    city = rng.choice(["a", "b"], 5000)
    actions = (rng.random(5000) < np.where(city == "a", 0.6, 0.4)).astype(int)
    found = audit(Log(actions, rng.random(5000), {"city": city.tolist()}, np.full(5000, 0.5), n_actions=2)).balance
    assert abs(found.unbalanced[0][2]) == pytest.approx(0.2, abs=0.06)


def test_by_units_a_coin_per_user_is_balanced():
    """120 users of 40 rows: a column of theirs is off by 1 / sqrt(120) = 0.09 by chance, which rows would not be."""
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(120), 40)
    x, actions = rng.standard_normal((120, 6))[unit], rng.integers(2, size=120)[unit]
    log = Log(actions, rng.random(4800), x, np.full(4800, 0.5), n_actions=2)
    by_rows = judge_columns(log, np.arange(6), 2.0, is_logged=True)
    by_units = judge_columns(log.with_units(unit.tolist()), np.arange(6), 2.0, is_logged=True)
    assert by_rows.min() < 1e-8
    assert by_units.min() > 1e-3
