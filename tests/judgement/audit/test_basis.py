"""What a verdict rests on is said with it; estimated propensities never get a bare "use it"."""

import numpy as np
import pytest

from headstart.judgement.audit.audit import audit
from headstart.logs.log import Log


def drawn(n=3000, propensities=None, columns=("age", "wealth")):
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, n)
    contexts = {name: rng.standard_normal(n) for name in columns} or None
    return Log(actions, 0.5 * actions + rng.standard_normal(n), contexts, propensities, n_actions=2)


def hidden_confounder(strength, seed=0, n=4000):
    """Action 0 is better by 0.1; what nobody wrote down draws to action 1 and lifts the outcome."""
    rng = np.random.default_rng([seed, 6])
    hidden, x = rng.standard_normal(n), rng.standard_normal((n, 2))
    actions = (rng.random(n) < 1.0 / (1.0 + np.exp(-(2.0 * strength * hidden + 0.5 * x[:, 0])))).astype(int)
    outcomes = -0.1 * actions + strength * hidden + 0.3 * x[:, 0] + rng.standard_normal(n)
    return Log(actions, outcomes, x, n_actions=2)


def test_logged_chances_rest_on_being_those_drawn_with():
    verdict = audit(drawn(propensities=np.full(3000, 0.5))).verdict
    assert verdict.decision == "use it"
    assert "actions were drawn with the logged chances" in verdict.summary
    assert "the users to come are like these" in verdict.summary


def test_estimated_chances_rest_on_the_columns_by_name():
    found = audit(drawn())
    assert found.verdict.decision == "use it with a cap"
    assert "nothing besides age and wealth decided who saw what" in found.verdict.summary
    assert ("estimated", "cap") in [(reason.rule, reason.severity) for reason in found.verdict.reasons]


def test_many_columns_are_counted():
    found = audit(drawn(columns=tuple("abcdef")))
    assert "nothing besides a, b, c and 3 more columns decided" in found.verdict.summary


def test_with_nothing_to_adjust_by_it_rests_on_a_lot():
    assert "actions were drawn by lot" in audit(drawn(columns=())).verdict.summary


@pytest.mark.parametrize("strength", [0.25, 0.5, 1.0])
def test_no_strength_of_a_hidden_confounder_ends_in_a_bare_use_it(strength):
    """A larger hidden bias enlarges the lead, which must not silence the doubt."""
    assert audit(hidden_confounder(strength)).verdict.decision == "use it with a cap"
