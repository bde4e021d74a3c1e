"""The log's users against the users to come."""

import numpy as np
import pytest

from headstart.errors import ContextError
from headstart.judgement.audit.audit import audit
from headstart.logs.log import Log
from tests.judgement.audit.planted import Making, shifted_users


def test_the_same_users_are_not_told_apart():
    """AUC within four standard errors of 1/2; no reason in the verdict."""
    found = audit(Making().draw(0)[0], population=shifted_users(0, 0.0))
    assert found.population.auc == pytest.approx(0.5, abs=4 * found.population.auc_error)
    assert found.population.kept_share > 0.98
    assert found.verdict.decision == "use it"


def test_a_shift_is_measured():
    """One standard deviation in one column: AUC is Phi(1 / sqrt 2) = 0.760; exp(-1) = 0.368 of the worth is left."""
    found = audit(Making(n=20_000).draw(0)[0], population=shifted_users(0, 1.0, n=20_000)).population
    assert found.columns[0].name == "x0"
    assert found.columns[0].difference == pytest.approx(1.0, abs=0.05)
    assert found.auc == pytest.approx(0.760, abs=0.01)
    assert found.kept_share == pytest.approx(np.exp(-1.0), abs=0.05)


def test_a_wider_spread_is_noticed_though_the_means_are_equal():
    users = 2.0 * shifted_users(0, 0.0)
    assert audit(Making().draw(0)[0], population=users).population.auc > 0.65


@pytest.mark.parametrize(("by", "decision"), [(0.5, "use it with a cap"), (3.0, "do not use it")])
def test_other_users_are_a_reason(by, decision):
    found = audit(Making().draw(0)[0], population=shifted_users(0, by))
    assert found.verdict.decision == decision
    assert found.verdict.reasons[0].rule == "other users"


def test_means_for_the_users_to_come_may_turn_the_decision():
    """Action 1 gives x, action 0 gives 0.2: users of mean 0 are better off with 0, those of mean 1 with 1 by 0.8."""
    rng = np.random.default_rng(0)
    x, actions = rng.standard_normal(20_000), rng.integers(2, size=20_000)
    outcomes = np.where(actions == 1, x, 0.2) + rng.standard_normal(20_000)
    log = Log(actions, outcomes, x, np.full(20_000, 0.5), context_names=["x"], n_actions=2)
    found = audit(log, population={"x": rng.standard_normal(5000) + 1.0})
    assert (found.actions.best, found.population.best) == (0, 1)
    assert found.population.lead == pytest.approx(0.8, abs=4 * found.population.lead_error + 0.06)
    assert found.verdict.decision == "use it with a cap"
    assert "for them 1 is best" in found.verdict.reasons[0].text
    assert found.summary.means[1] > found.summary.means[0]  # what a start begins from is of them


def test_users_drawn_like_the_log_s_are_no_others():
    """300 of them, 20 logs, each 1 in 1,000: a column a quarter of a deviation off is chance among so few."""
    for seed in range(20):
        found = audit(Making().draw(seed)[0], population=shifted_users(seed + 100, 0.0, n=300))
        assert all(reason.rule != "other users" for reason in found.verdict.reasons)


def test_unknown_categories_are_counted():
    rng = np.random.default_rng(0)
    log = Log(rng.integers(2, size=500), rng.random(500), {"city": rng.choice(["Oslo", "Rome"], 500)}, [0.5] * 500)
    found = audit(log, population={"city": ["Oslo"] * 40 + ["Rome"] * 40 + ["Paris"] * 20})
    assert found.population.unseen_share == pytest.approx(0.2)
    assert found.population.n_users == 100
    assert found.verdict.decision == "do not use it"
    with pytest.raises(ContextError, match="no user whose categories"):
        audit(log, population={"city": ["Paris"]})


def test_a_file_of_users_is_read_and_missing_values_are_counted_and_filled_in(tmp_path):
    users = shifted_users(0, 0.0, n=500)
    lines = ["x0,x1,x2,x3,other", *(",".join(map(str, row)) + ",a" for row in users), ",1,2,3,a"]
    (tmp_path / "users.csv").write_text("\n".join(lines) + "\n")
    log = Making(n=1000).draw(0)[0]
    found = audit(log, population=tmp_path / "users.csv").population
    assert (found.n_users, found.n_missing) == (501, 1)
    whole = audit(log, population=np.vstack([users, [log.encoding.means["x0"], 1.0, 2.0, 3.0]])).population
    assert found.auc == pytest.approx(whole.auc)


def test_a_population_without_the_log_s_columns_is_refused(tmp_path):
    log = Making(n=200).draw(0)[0]
    with pytest.raises(ContextError, match="lacks the context column 'x2'"):
        audit(log, population={"x0": [1.0], "x1": [1.0]})
    (tmp_path / "users.csv").write_text("x0,x1\n1,2\n")
    with pytest.raises(ContextError, match=r"users\.csv.*lacks the context column 'x2'"):
        audit(log, population=tmp_path / "users.csv")
    with pytest.raises(ContextError, match="4 context columns"):
        audit(log, population=np.ones((5, 3)))
