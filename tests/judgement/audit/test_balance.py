"""Balance before and after weighting."""

import numpy as np
import pytest

from headstart.judgement.audit.audit import audit
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
