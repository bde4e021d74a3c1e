"""From a configuration to a policy: every built-in part by its name, and errors that say what to write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.judgement.start.start import start
from headstart.serve.config import read_experiment
from headstart.serve.engine import policies
from headstart.serve.engine.bounds import Bounds
from headstart.serve.engine.packing import pack
from headstart.serve.engine.policies import build_policy
from headstart.warmstart.conflict import Guarded
from headstart.warmstart.warmstart import WarmStart


def logged(has_propensities: bool = True) -> hs.Log:
    rng = np.random.default_rng(0)
    n = 120
    contexts = {"age": rng.normal(size=n), "device": np.array(["phone", "desk"])[rng.integers(0, 2, n)]}
    propensities = np.full(n, 0.5) if has_propensities else None
    return hs.Log(np.array(["a", "b"])[rng.integers(0, 2, n)], rng.random(n), contexts, propensities=propensities)


def built(log: hs.Log | None = None, **settings: Any) -> Any:
    """The policy of an experiment with these settings; a log has the columns `age` and `device`."""
    declared = {"actions": ["a", "b"], "contexts": {"age": "number", "device": ["desk", "phone"]}, **settings}
    if log is not None:
        declared["log"] = log = log if declared["contexts"] else log.without(["age", "device"])
    return build_policy(read_experiment("ads", declared), log).policy


@pytest.mark.parametrize("name", ["KnowledgeGradient", "MinUCB", "RobustThompson"])
def test_an_oracle_that_starts_from_a_summary_gets_the_logs(name: str):
    log = logged()
    policy = built(log, oracle=name, evaluator="DoublyRobust")
    assert type(policy).__name__ == name
    rng = np.random.default_rng(0)
    summary = hs.DoublyRobust(log).summary()
    twin = getattr(hs, name)(2, summary, **({} if name == "MinUCB" else {"rng": rng}))
    np.testing.assert_array_equal(policy.probabilities(None), twin.probabilities(None))


@pytest.mark.parametrize("name", ["KnowledgeGradient", "MinUCB", "RobustThompson"])
def test_an_oracle_that_starts_from_a_summary_needs_a_log(name: str):
    with pytest.raises(OptionError, match=f"ads.oracle {name} needs a summary of a log: declare experiments.ads.log"):
        built(oracle=name)


def test_virtual_plays_would_tell_a_summary_twice():
    with pytest.raises(OptionError, match=r"ads\.schedule is of virtual plays, and MinUCB takes the log as a whole"):
        built(logged(), oracle="MinUCB", schedule="batch")


def test_an_evaluator_without_a_summary_is_named_with_those_that_have_one():
    with pytest.raises(OptionError, match=r'ExactMatching has not: declare .*evaluator = "IPSWeighting" or "Doubly'):
        built(logged(), oracle="KnowledgeGradient", evaluator="ExactMatching")


@pytest.mark.parametrize("log", [None, logged()])
def test_what_is_no_oracle_is_not_listed(log: hs.Log | None):
    with pytest.raises(OptionError, match=r"ads\.oracle has no 'UBC'; did you mean 'UCB'. known: ") as error:
        built(log, oracle="UBC", evaluator=None if log is None else "IPSWeighting")
    known = str(error.value).split("known: ")[1].split(", ")
    assert {"UCB", "LinUCB", "EpsilonForest", "KnowledgeGradient", "MinUCB", "RobustThompson"} <= set(known)
    assert not {"Readings", "CompiledOracle", "LinKnowledgeGradient", "StochasticDelayedBandit"} & set(known)


def test_a_part_that_no_configuration_can_hold_says_why():
    with pytest.raises(OptionError, match="LinKnowledgeGradient needs models, which a configuration cannot hold"):
        built(oracle="LinKnowledgeGradient")


def test_every_listed_part_can_be_built():
    """A number where a setting has no default; otherwise the name alone."""
    with pytest.raises(OptionError) as error:
        built(oracle="?")
    for name in str(error.value).split("known: ")[1].split(", "):
        settings = {"half_life": 10.0} if "Discounted" in name else {"window": 9} if "Window" in name else {}
        built(logged(), oracle={"name": name, **settings}, evaluator="IPSWeighting")


def test_a_guard_goes_around_what_start_chooses_as_around_a_warm_start():
    for settings in ({}, {"oracle": "ThompsonNormal", "evaluator": "IPSWeighting"}, {"oracle": "MinUCB"}):
        guarded = built(logged(), contexts={}, guard="Guarded", **settings)
        assert isinstance(guarded, Guarded)
        for _ in range(60):  # the log's mean is 1/2
            guarded.update(None, 0, 5.0 + np.sin(guarded.readings().counts.sum()))
        assert [conflict.action for conflict in guarded.withdrawals] == [0]
    assert isinstance(built(logged(), oracle="ThompsonNormal", evaluator="IPSWeighting"), WarmStart)


@pytest.mark.parametrize("settings", [{}, {"oracle": "LinUCB", "evaluator": "LinearModel"}])
def test_a_guard_of_a_policy_that_decides_by_context_says_what_to_write(settings: dict[str, Any]):
    with pytest.raises(OptionError, match=r'Leave the guard out, or declare .* experiments\.ads\.oracle = "Thompson'):
        built(logged(), guard="Guarded", **settings)


def test_a_guard_needs_a_log():
    with pytest.raises(OptionError, match=r"ads\.guard needs a log to guard against: declare experiments\.ads\.log"):
        built(guard="Guarded")


def test_a_log_without_propensities_needs_an_evaluator():
    with pytest.raises(OptionError, match=r"ads\.evaluator is missing and the log has no propensities"):
        built(logged(has_propensities=False), oracle="UCB")


@pytest.mark.parametrize("name", ["KnowledgeGradient", "MinUCB", "RobustThompson", "ThompsonNormal"])
def test_a_policy_goes_on_without_a_log_that_was_withdrawn(name: str):
    """Withdrawing the log of an experiment with a guard, or of an oracle that starts from a summary, broke it for
    good: neither could be built without the log."""
    declared = {"actions": ["a", "b"], "oracle": name, "log": logged().without(["age", "device"]), "guard": "Guarded"}
    served = build_policy(read_experiment("ads", declared), None)
    assert type(served.policy).__name__ == name
    assert sum(served.probabilities({}, None)) == pytest.approx(1.0)
    for i in range(60):
        served.learn({}, i % 2, float(i % 2))
    assert served.probabilities({}, None)[1] > 0.9


def test_a_guard_without_any_log_is_refused():
    with pytest.raises(OptionError, match=r"experiments.ads.guard needs a log to guard against"):
        built(guard="Guarded")


@pytest.mark.parametrize(
    "contexts", [{}, {"age": "number", "device": ["desk", "phone"]}], ids=["for all", "by context"]
)
def test_a_start_is_made_once_and_copied(monkeypatch: pytest.MonkeyPatch, contexts: dict[str, Any]):
    """Whatever one copy learns, the next begins as a policy that was made anew; other bounds are another start."""
    log, made, starts = logged(), [], {}
    declared = read_experiment("ads", {"actions": ["a", "b"], "contexts": contexts, "log": log})
    fresh = pack(build_policy(declared, log).policy.get_state())
    monkeypatch.setattr(policies, "start", lambda *given, **options: made.append(1) or start(*given, **options))
    first = build_policy(declared, log, starts=starts)
    for i in range(5):
        first.learn({"age": 0.5, "device": "desk"}, i % 2, 1.0)
    assert pack(first.policy.get_state()) != fresh
    assert pack(build_policy(declared, log, starts=starts).policy.get_state()) == fresh
    assert len(made) == 1
    within = Bounds((0.2, 0.8))
    clipped = pack(build_policy(declared, log, within, starts=starts).policy.get_state())
    assert clipped == pack(build_policy(declared, log, within).policy.get_state()) != fresh
    assert len(made) == 3
