"""A policy as rules: they copy it, they say what they cost, and their SQL decides as they do."""

from __future__ import annotations

import json
import math

import duckdb
import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.estimates.regression import predict_others
from headstart.judgement.audit.intake import take_in
from headstart.judgement.ope import doubly_robust
from headstart.judgement.rules.rules import Rules, find_cost, make_rules
from headstart.judgement.rules.sql import write_value

ACTIONS = ["red", "it's", "a,b"]
AWKWARD = 'ci"ty; --'


def make_log(n: int = 3000, seed: int = 0) -> hs.Log:
    """Action 1 earns 1 above the age of 45, action 2 earns 2 in O'Fallon, action 0 earns 1/2; noise of 1; chosen by
    lot. Ages and cities are missing at times."""
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(n) < 0.05, np.nan, rng.integers(18, 80, n))
    city = rng.choice(["Rome", "O'Fallon", "Paris", ""], n, p=[0.4, 0.3, 0.25, 0.05]).astype(object)
    a = rng.integers(3, size=n)
    gain = 0.5 * (a == 0) + (a == 1) * (np.nan_to_num(age, nan=50) > 45) + 2.0 * (a == 2) * (city == "O'Fallon")
    contexts = {"age": age, AWKWARD: city, "member": rng.random(n) < 0.5}
    names = [ACTIONS[each] for each in a]
    return hs.Log(names, gain + rng.standard_normal(n), contexts, np.full(n, 1 / 3), action_names=ACTIONS)


@pytest.fixture(scope="module")
def log() -> hs.Log:
    return make_log()


@pytest.fixture(scope="module")
def policy(log: hs.Log) -> hs.Started:
    return hs.start(log, decide_on=["age", AWKWARD], rng=0)


@pytest.fixture(scope="module")
def by_all_columns(log: hs.Log) -> hs.Started:
    return hs.start(log, decide_on=log.encoding.columns, rng=0)


@pytest.fixture(scope="module")
def eight(policy: hs.Started) -> Rules:
    """The policy's rules when nothing is said of how many."""
    return policy.to_rules()


USERS = pd.DataFrame(
    {
        "age": [20.0, 70.0, None, math.inf, math.nan, 44.0, 45.0, 46.0, 18.0, -1e300],
        AWKWARD: [
            "Rome",
            "Nowhere",
            None,
            "O'Fallon",
            "",
            "Paris",
            "missing",
            "other",
            "O'Fallon",
            "'; DROP TABLE x",
        ],
        "member": [True, False, None, True, True, False, True, None, False, True],
    }
)


def test_the_rules_are_the_truth(log: hs.Log, policy: hs.Started):
    """The policy has found what the log was made by, and three rules say it: the age of 45 within 3 years."""
    rules = policy.to_rules(3)
    assert rules.n_leaves == 3
    assert rules.columns == (AWKWARD, "age")
    assert rules.decide({"age": 70, AWKWARD: "O'Fallon"}) == "a,b"
    assert rules.decide({"age": 49, AWKWARD: "Rome"}) == "it's"
    assert rules.decide({"age": 41, AWKWARD: "Rome"}) == "red"
    assert rules.agreement > 0.95


@pytest.mark.parametrize("max_leaves", [1, 2, 3, 8])
def test_sql_decides_as_the_tree(by_all_columns: hs.Started, max_leaves: int):
    """On DuckDB: missing values, infinite ones, categories never seen, quotes in names, values and actions."""
    rules = by_all_columns.to_rules(max_leaves)
    assert rules.n_leaves <= max_leaves
    users = USERS  # noqa: F841  # DuckDB reads it by its name
    answered = duckdb.sql(rules.to_sql("users", name="the action")).df()["the action"]
    assert answered.tolist() == [rules.decide(user) for user in USERS.to_dict("records")]


def test_sql_decides_as_the_tree_for_the_logs_users(log: hs.Log, eight: Rules):
    rng = np.random.default_rng(4)
    ages, cities = rng.normal(50, 30, 500).round(), rng.choice(["Rome", "O'Fallon", "Oslo", ""], 500)
    frame = pd.DataFrame({"age": ages, AWKWARD: cities})
    contexts = np.array([log.encoding.encode({**user, "member": None}) for user in frame.to_dict("records")])
    answered = duckdb.sql(f"SELECT {eight.to_sql()} AS chosen FROM frame").df()["chosen"]
    assert answered.tolist() == [ACTIONS[a] for a in eight.actions(contexts)]


def test_levels_for_what_is_missing_and_for_the_rest_are_in_the_sql():
    """A tree whose lists hold "missing" and "other": a column of text where each level wants its own action."""
    from headstart.judgement.rules.columns import IsAmong
    from headstart.judgement.rules.tree import Leaf, Split
    from headstart.logs.encoding import Encoding

    known = ("a", "b", "missing", "other")
    encoding = Encoding(("c",), {"c": known})
    for levels in [("missing",), ("other",), ("a", "other"), ("b", "missing"), ("a", "missing", "other")]:
        rules = Rules(Split(IsAmong("c", levels, known), Leaf(0, 0.5), Leaf(1, 0.5)), ("yes", "no"), encoding, 1.0, 1)
        users = pd.DataFrame({"c": ["a", "b", None, "", "zz", "missing", "other"]})
        answered = duckdb.sql(rules.to_sql("users")).df()["action"].tolist()
        assert answered == [rules.decide(user) for user in users.to_dict("records")], levels


def test_levels_that_are_truth_values_are_in_the_sql():
    rng = np.random.default_rng(0)
    member, a = rng.random(600) < 0.5, rng.integers(2, size=600)
    log = hs.Log(
        a, (member == a) + 0.1 * rng.standard_normal(600), {"member": member}, np.full(600, 0.5), n_actions=2
    )
    rules = hs.start(log, decide_on=["member"], rng=0).to_rules()
    assert rules.n_leaves == 2
    users = pd.DataFrame({"member": [True, False, None]})
    answered = duckdb.sql(rules.to_sql("users")).df()["action"].tolist()
    assert answered[:2] == [1, 0]
    assert answered == [rules.decide(user) for user in users.to_dict("records")]


def test_one_rule_for_a_policy_that_does_not_look(log: hs.Log):
    policy = hs.start(log, rng=0)
    rules = policy.to_rules()
    best = ACTIONS[int(np.nanargmax(policy.readings().means))]
    assert (rules.n_leaves, rules.columns, rules.agreement) == (1, (), 1.0)
    assert rules.decide({}) == best
    assert rules.to_sql() == write_value(best)
    assert rules.cost is not None
    assert (rules.cost.value, rules.cost.standard_error) == (0.0, 0.0)


def test_values_are_those_of_ope(log: hs.Log, policy: hs.Started):
    """The same estimator as everywhere, on the log as it is taken in; one rule loses what deciding by context gains,
    beyond noise."""
    rules, rows = policy.to_rules(1), take_in(log, 20_000, 0).whole
    action = int(rules.actions(log.contexts[:1])[0])
    assert rules.value is not None
    assert rules.value.value == pytest.approx(doubly_robust(rows, np.full(len(rows), action)).value)
    assert rules.cost is not None
    assert rules.policy_value is not None
    assert rules.cost.low > 0.0
    gap = rules.policy_value.value - rules.value.value
    assert abs(rules.cost.value - gap) < 2.0 * rules.cost.standard_error


def test_the_cost_by_hand():
    """No contexts; chances of 1/2. Rows (0, 1), (1, 0), (0, 1), (1, 0): others predict each outcome exactly, so no
    residual is left, and action 0 instead of 1 earns 1 more in every row."""
    log = hs.Log([0, 1, 0, 1], [1.0, 0.0, 1.0, 0.0], None, [0.5] * 4, n_actions=2)
    cost = find_cost(log, np.zeros(4, dtype=np.int64), np.ones(4, dtype=np.int64), predict_others(log).inside)
    assert cost.value == pytest.approx(1.0)
    assert cost.standard_error == pytest.approx(0.0)


def test_costs_cover():
    """100 logs: the 95 % interval of what one action for all loses to the two rules of the truth (age, city as made):
    E = 0.3 x 2 + 0.7 x (share above 45 x 1 + below x 1/2) - the mean of action 1. Fewer than 89 covering would be
    chance once in 200."""
    rng_truth = make_log(200_000, seed=99)
    covered = 0
    best_of = _best_actions(rng_truth)
    truth = float((_gains(rng_truth)[np.arange(200_000), best_of] - _gains(rng_truth)[:, 1]).mean())
    for seed in range(100):
        log = make_log(600, seed=seed)
        cost = find_cost(log, _best_actions(log), np.ones(len(log), dtype=np.int64), predict_others(log).inside)
        covered += cost.low <= truth <= cost.high
    assert covered >= 89


def _gains(log: hs.Log) -> np.ndarray:
    ages = log.contexts[:, log.context_names.index("age")]
    ages = np.where(log.contexts[:, log.context_names.index("age is missing")] > 0, 50.0, ages)
    fallon = log.contexts[:, log.context_names.index(f"{AWKWARD}=O'Fallon")]
    return np.stack([np.full(len(log), 0.5), 1.0 * (ages > 45), 2.0 * fallon], axis=1)


def _best_actions(log: hs.Log) -> np.ndarray:
    return np.argmax(_gains(log), axis=1)


def test_a_policy_of_another_kind_is_copied(log: hs.Log):
    """LinUCB has no say on what it expects: its most likely action is copied all the same."""
    oracle = hs.LinUCB(3, log.n_features)
    for context, action, outcome in zip(log.contexts, log.actions, log.outcomes, strict=True):
        oracle.update(context / 50.0, int(action), float(outcome))
    rules = make_rules(oracle, log, 8)
    assert 0.3 < rules.agreement <= 1.0
    assert rules.n_leaves <= 8


def test_a_forest_is_copied(log: hs.Log):
    forest = hs.EpsilonForest(3, log.n_features, rng=0).from_rows(log.contexts, log.actions, log.outcomes, 3, rng=0)
    assert make_rules(forest, log, 4).agreement > 0.8


def test_text_and_json(eight: Rules):
    assert f'if {AWKWARD} is "O\'Fallon":' in str(eight)
    assert "simplicity costs" in str(eight)
    told = json.loads(json.dumps(eight.to_dict()))
    assert told["tree"]["question"]["is_among"] == ["O'Fallon"]
    assert told["tree"]["yes"]["action"] == "a,b"


def test_a_column_that_is_asked_for_must_be_there(eight: Rules):
    with pytest.raises(hs.errors.ContextError, match="'age'"):
        eight.decide({AWKWARD: "Rome"})


def test_what_has_no_literal_is_said():
    with pytest.raises(hs.errors.OptionError, match="tuple"):
        write_value((1, 2))
    with pytest.raises(hs.errors.OptionError, match="NUL"):
        write_value("a\0b")


def test_max_leaves_is_a_count(policy: hs.Started):
    with pytest.raises(hs.errors.OptionError, match="max_leaves"):
        policy.to_rules(0)


def test_a_policy_that_left_its_log_behind_is_given_one(log: hs.Log, policy: hs.Started, tmp_path):
    policy.save(tmp_path / "policy")
    loaded = hs.load(tmp_path / "policy")
    with pytest.raises(hs.errors.OptionError, match="log="):
        loaded.to_rules(3)
    assert str(loaded.to_rules(3, log=log)) == str(policy.to_rules(3))
