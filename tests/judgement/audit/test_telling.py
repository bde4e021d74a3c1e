"""A column that is the action, or was written down with it."""

import numpy as np
import pytest

from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.checks.telling import find_telling
from headstart.logs.log import Log
from headstart.worlds.installed import installed_file, read_columns
from tests.judgement.audit.planted import Making


def stops(found):
    return [reason for reason in found.verdict.reasons if reason.severity == "stop"]


@pytest.mark.parametrize("is_logged", [True, False])
def test_treat_beside_the_arm_is_named_and_left_out(is_logged):
    """`treat` is 0 in the first arm and 1 in the others; nobody is said to have "never seen" an arm."""
    log, _ = Making(n=2000).draw(0)
    contexts = {f"x{j}": log.contexts[:, j] for j in range(4)} | {"treat": (log.actions > 0) * 1.0}
    found = audit(Log(log.actions, log.outcomes, contexts, log.propensities if is_logged else None, n_actions=3))
    assert found.telling.names == ("treat",)
    assert [reason.rule for reason in stops(found)] == ["tells the action"]
    assert "treat" in stops(found)[0].text
    assert "leave out treat" in stops(found)[0].advice
    assert max(action.never_share for action in found.overlap.actions) == 0.0


def test_the_amount_of_an_incentive_tells_whether_there_was_one():
    rng = np.random.default_rng(1)
    given = rng.integers(2, size=1500)
    amount = np.where(given == 1, np.round(0.01 + 3.0 * rng.random(1500), 2), 0.0)
    log = Log(given, rng.random(1500), {"age": rng.standard_normal(1500), "amount": amount}, n_actions=2)
    assert audit(log).telling.names == ("amount",)


def test_all_categories_of_a_column_count_together():
    """The ward says which of three drugs; no single ward is a drug."""
    rng = np.random.default_rng(2)
    drug = rng.integers(3, size=900)
    ward = [f"{'abc'[d]}{rng.integers(4)}" for d in drug]
    log = Log(drug, rng.random(900), {"ward": ward, "age": rng.standard_normal(900)}, n_actions=3)
    assert find_telling(log, 0).names == ("ward",)


def test_an_identifier_tells_nothing_that_it_did_not_learn():
    """A name per row settles every row's own action, and nobody else's."""
    rng = np.random.default_rng(3)
    names = [f"user{i}" for i in range(190)]
    log = Log(rng.integers(2, size=190), rng.random(190), {"name": names}, n_actions=2)
    assert find_telling(log, 0).columns[0].share < 0.5


def test_a_policy_that_went_by_the_column_and_says_so_is_not_accused():
    """Action 1 for the members with 0.98, else 0.02, as logged; logged as even, the column tells it."""
    rng = np.random.default_rng(4)
    member = rng.integers(2, size=3000)
    chance = np.where(member == 1, 0.98, 0.02)
    actions = (rng.random(3000) < chance).astype(int)
    p = np.where(actions == 1, chance, 1.0 - chance)
    log = Log(actions, rng.random(3000), {"member": member * 1.0, "age": rng.standard_normal(3000)}, p, n_actions=2)
    assert find_telling(log, 0).names == ()
    assert find_telling(log.with_propensities(np.full(3000, 0.5)), 0).names == ("member",)


def test_actg_175_with_all_its_columns_is_told_which_one_to_leave_out():
    """The trial's file has `treat` (0 in the first arm, 1 in the others) beside the arm; 2,139 patients by lot."""
    columns = read_columns(installed_file("lifelines", "datasets/ACTG175.csv"))
    whole = {name: np.array(column, float) for name, column in columns.items() if name and "NA" not in column}
    arms, outcomes = whole.pop("arms").astype(int), whole.pop("cd420")
    found = audit(Log(arms, outcomes, whole, n_actions=4))
    assert found.telling.names == ("treat",)
    assert "no overlap" not in [reason.rule for reason in found.verdict.reasons]
