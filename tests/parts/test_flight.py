"""Decisions in flight: a second table before any outcome is explored only as far as the first one leaves a reason."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from tools.calling import call_headstart

import headstart as hs
from headstart.errors import ContextError
from headstart.parts.abilities import OracleAbilities
from tests.cli.test_campaign import write_csv

NAMES = ["none", "mail", "call"]


def make_log(n=300):
    rng = np.random.default_rng(4)
    actions, age = rng.integers(3, size=n), rng.normal(40, 9, n)
    outcomes = rng.normal(0.05 * actions, 1.0) + 0.02 * (actions == 1) * (age - 40)
    return hs.Log(np.array(NAMES)[actions], outcomes, {"age": age}, np.full(n, 1 / 3))


LOG = make_log()


def users(n, first=0):
    return pa.table({"id": np.arange(first, first + n), "age": np.random.default_rng(first).normal(40, 9, n)})


def exploring(policy, table):
    decisions = policy.decide(table)
    decisions.to_arrow()
    return decisions.account.n_exploring


@pytest.fixture(params=[None, ["age"]], ids=["for all", "by context"])
def policy(request):
    return hs.start(LOG, decide_on=request.param, horizon=100_000, rng=0)


def test_a_second_table_is_not_explored_again(policy, tmp_path):
    """The first is explored until nothing more is worth buying, up to an eighth of what is in flight."""
    first = policy.decide(users(50_000))
    first.write(tmp_path / "first.parquet")
    alone = exploring(policy, users(50_000, first=50_000))
    assert first.account.n_exploring > 5.0
    assert alone > 5.0  # nobody has told it of the first table
    assert policy.expect_outcomes(tmp_path / "first.parquet") == 50_000
    policy.save(tmp_path / "sent.policy")
    for knows in (policy, hs.load(tmp_path / "sent.policy")):
        assert exploring(knows, users(50_000, first=50_000)) < alone / 8


def test_decisions_that_have_been_learnt_are_in_flight_no_more(policy):
    """Told of and learnt is learnt: the state is that of a policy that was never told."""
    decisions = policy.decide(users(400)).to_arrow()
    never_told = OracleAbilities(policy).copy()
    outcomes = {"id": np.arange(400), "outcome": np.random.default_rng(0).normal(size=400)}
    policy.expect_outcomes(decisions)
    assert policy.decide(users(400)).salt != never_told.decide(users(400)).salt
    for each in (policy, never_told):
        each.learn(outcomes, decisions)
    assert policy.decide(users(400)).salt == never_told.decide(users(400)).salt  # the digest of all it holds


def test_who_is_waited_for_stays_in_flight():
    policy = hs.start(LOG, horizon=10_000, rng=0)
    decisions = policy.decide(users(10), floor=1.0)
    policy.expect_outcomes(decisions)
    got = np.array(decisions.to_arrow().column("action").to_pylist())
    assert in_flight(policy) == [int((got == name).sum()) for name in policy.audit.facts.action_names]
    policy.learn({"id": np.arange(4), "outcome": np.zeros(4)}, decisions)
    assert in_flight(policy) == [int((got[4:] == name).sum()) for name in policy.audit.facts.action_names]
    policy.learn({"id": np.arange(4, 5), "outcome": np.zeros(1)}, decisions.to_arrow().slice(4), default=0.0)
    assert in_flight(policy) == [0, 0, 0]


def in_flight(policy):
    found = [value for name, value in _leaves(OracleAbilities(policy).get_state()) if name.endswith("pending")]
    assert len(found) == 1
    return found[0].astype(int).tolist()


def _leaves(saved, prefix=""):
    for name, value in saved.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def test_a_policy_that_weighs_nothing_in_flight_is_told_in_vain():
    policy = hs.EpsilonGreedy(2, 0.1, rng=0)
    before = policy.decide({"id": [1]}).salt
    assert policy.expect_outcomes(policy.decide({"id": np.arange(5)})) == 5
    assert policy.decide({"id": [1]}).salt == before


def test_decisions_that_are_wrong_change_nothing(policy):
    before = policy.decide(users(3)).salt
    strange = pa.table({"id": [1, 2], "age": [30.0, 40.0], "action": ["mail", "fax"]})
    with pytest.raises(ContextError, match="row 2: the action 'fax' is none of the policy's"):
        policy.expect_outcomes(strange)
    assert policy.decide(users(3)).salt == before


def test_on_the_command_line_the_saved_policy_knows_of_the_decisions(tmp_path):
    hs.start(LOG, horizon=100_000, rng=0).save(tmp_path / "0.policy")
    for name, first in (("one", 0), ("two", 40_000)):
        parquet.write_table(users(40_000, first), tmp_path / f"{name}.parquet")
    told = []
    for source, table, saved in (("0", "one", "1"), ("1", "two", "2"), ("0", "two", "3")):
        arguments = (f"{source}.policy", f"{table}.parquet", "--save", f"{saved}.policy", "--out", "d.parquet")
        done = call_headstart("decide", *arguments, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout)["exploring"])
    assert told[1] < told[2] / 8


def test_a_policy_is_not_saved_with_decisions_that_it_could_not_learn_from(tmp_path):
    hs.start(LOG, decide_on=["age"], rng=0).save(tmp_path / "0.policy")
    write_csv(tmp_path / "users.csv", "id,age", [(1, 30), (2, 50)])
    arguments = ("0.policy", "users.csv", "--keep", "id", "--save", "1.policy", "--out", "d.csv")
    done = call_headstart("decide", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert "--save needs the columns that are decided on; add age to --keep" in " ".join(done.stderr.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.policy", "users.csv"]
