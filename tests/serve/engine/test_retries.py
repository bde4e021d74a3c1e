"""A retry gets the answer that is recorded, whatever the configuration has become since."""

import pytest

from headstart.errors import ActionError, ContextError, OutcomeError
from headstart.serve import ConflictError, Engine
from headstart.serve.engine.retries import is_same_request
from tests.serve.experiments import CONTEXTS, Clock, make_config

USER = {"age": 31, "likes": "videos"}
CHANGES = {
    "a column more": {"contexts": {**CONTEXTS, "country": ["de", "fr"]}},
    "a column less": {"contexts": {"age": "number"}},
    "no columns": {"contexts": {}},
    "other categories": {"contexts": {"age": "number", "likes": ["cats", "dogs"]}},
    "another kind": {"contexts": {"age": ["young", "old"], "likes": ["videos", "images"]}},
    "other actions": {"contexts": CONTEXTS, "actions": ["text", "sound"]},
}


def open_engine(address, **settings):
    return Engine.open(make_config(address, **settings), clock=Clock())


@pytest.mark.parametrize("change", CHANGES)
def test_a_decision_is_answered_again_under_any_configuration(tmp_path, change):
    address = str(tmp_path / "events.sqlite")
    with open_engine(address, contexts=CONTEXTS) as engine:
        whole = engine.decide("ads", USER, event_id="all")
        part = engine.decide("ads", USER, available=["image"], event_id="one")
    with open_engine(address, **CHANGES[change]) as engine:
        assert engine.decide("ads", USER, event_id="all") == whole
        assert engine.decide("ads", {"age": 31.0, "likes": "videos"}, ["image", "video"], event_id="all") == whole
        assert engine.decide("ads", USER, available=["image"], event_id="one") == part
        both = [{"context": USER, "event_id": "all"}, {"context": USER, "event_id": "one", "available": ["image"]}]
        assert engine.decide_many("ads", both) == [whole, part]
        with pytest.raises(ConflictError):
            engine.decide("ads", {**USER, "age": 32}, event_id="all")
        with pytest.raises(ConflictError):
            engine.decide("ads", USER, event_id="one")
        assert engine.state("ads")["decisions"] == 2


def test_an_unknown_id_that_does_not_fit_is_refused_as_before(address):
    with open_engine(address, contexts=CONTEXTS) as engine:
        n = len(engine.events("ads"))
        with pytest.raises(ContextError, match="'age' is missing"):
            engine.decide("ads", {"likes": "videos"}, event_id="new")
        with pytest.raises(ActionError, match="unknown action 'radio'"):
            engine.decide("ads", USER, available=["radio"], event_id="new")
        bad, good = engine.decide_many("ads", [{"event_id": "bad"}, {"context": USER, "event_id": "good"}])
        assert isinstance(bad, ContextError)
        assert good.event_id == "good"
        assert len(engine.events("ads")) == n + 1


def test_a_request_is_fitted_to_the_configuration_that_decides_it(address):
    """Checked by this replica's configuration, decided by the other's newer one: it is checked again."""
    with open_engine(address, contexts={}) as old, open_engine(address, contexts={"age": "number"}) as new:
        with pytest.raises(ContextError, match="'age' is missing"):
            old.decide("ads", {})
        assert new.state("ads")["decisions"] == 0


def test_an_outcome_is_a_duplicate_though_the_policy_could_not_take_it_now(address):
    with open_engine(address, oracle="UCB") as engine:
        engine.decide("ads", event_id="a")
        engine.decide("ads", event_id="b")
        assert engine.outcome("ads", "a", 3.0).status == "applied"
        assert engine.outcome("ads", "a", 4.0).status == "conflicting"
    with open_engine(address, oracle="ThompsonBeta") as engine:  # takes outcomes in [0, 1]
        assert engine.outcome("ads", "a", 3.0).status == "duplicate"
        assert engine.outcome("ads", "a", 4.0).status == "conflicting"
        with pytest.raises(OutcomeError, match=r"in \[0, 1\]"):
            engine.outcome("ads", "b", 3.0)
        n = len(engine.events("ads"))
        again, new = engine.outcome_many("ads", [("a", 3.0), ("b", 3.0)])
        assert again.status == "duplicate"
        assert isinstance(new, OutcomeError)
        assert len(engine.events("ads")) == n


@pytest.mark.parametrize(
    ("given", "recorded", "is_same"),
    [
        (1, 1.0, True),
        (2**53 + 1, float(2**53 + 1), True),
        (-0.0, 0.0, True),
        (10**400, 1.0, False),
        (True, 1.0, False),
        (True, True, True),
        (1, True, False),
        ("1", 1, False),
        ([1], 1.0, False),
        (None, "x", False),
    ],
)
def test_values_are_compared_as_they_were_recorded(given, recorded, is_same):
    body = {"context": {"x": recorded}, "action": "a", "propensity": 1.0, "probabilities": [1.0], "version": 1}
    assert is_same_request({"context": {"x": given}}, body, ["a"]) is is_same


def test_the_order_and_repetition_of_actions_do_not_matter():
    body = {
        "context": {},
        "action": 1,
        "propensity": 1.0,
        "probabilities": [1.0],
        "version": 1,
        "available": [1, "b"],
    }
    assert is_same_request({"available": ["b", 1, 1]}, body, [1, "b", "c"])
    assert not is_same_request({"available": ["b", "1"]}, body, [1, "b", "c"])
    assert not is_same_request({}, body, [1, "b", "c"])
