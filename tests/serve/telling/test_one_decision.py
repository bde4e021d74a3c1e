"""One decision as it is told, and what decides."""

import numpy as np
import pytest

from headstart.errors import LogError
from headstart.experiments.demo import example_log
from headstart.serve.engine.engine import Engine
from headstart.serve.errors import UnknownDecision
from headstart.serve.store.read_only import reading
from headstart.serve.telling.one_decision import tell_decision
from headstart.serve.telling.overviews import Overviews
from headstart.serve.telling.stored_decision import tell_stored
from tests.serve.in_process import configure


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    log = example_log(7)
    started = {"actions": list(log.action_names), "contexts": {"likes_videos": ["yes", "no"]}, "log": log, "seed": 7}
    held_out = {"actions": ["a", "b", "c"], "oracle": "UCB", "holdout": 1.0}
    store = tmp_path_factory.mktemp("one") / "s.sqlite"
    with Engine.open(configure(store, {"ads": started, "even": held_out})) as engine:
        yield engine


def test_what_the_policy_expects_is_for_this_user(engine):
    """Who likes videos clicks three times as often, whatever is shown; the experiment's columns are yes and no."""
    started = engine._fold("ads").policy.policy
    believed = {}
    for likes, user in (("yes", [1.0, 0.0]), ("no", [0.0, 1.0])):
        engine.decide("ads", {"likes_videos": likes}, event_id=likes)
        told = tell_decision(engine, "ads", likes)
        assert told["context"] == {"likes_videos": likes}
        believed[likes] = [each["believed"] for each in told["actions"]]
        assert believed[likes] == pytest.approx(started.expected_outcomes(np.array([user]))[0][0].tolist())
    assert np.all(np.array(believed["yes"]) > 2.0 * np.array(believed["no"]))
    assert sum(each["chance"] for each in told["actions"]) == pytest.approx(1.0)
    assert told["outcome"] is None
    assert told["outcome_text"] == "not known"


def test_a_decision_is_explained_as_its_policy_explains_itself(engine):
    """Sentences and numbers are those of `policy.explain`; the first sentence says that they are of now."""
    engine.decide("ads", {"likes_videos": "yes"}, event_id="why")
    told = tell_decision(engine, "ads", "why")
    fold = engine._fold("ads")
    user = fold.policy.as_vector({"likes_videos": "yes"})
    own = fold.policy.policy.explain(user)
    assert told["why"][1:] == list(own.sentences)
    assert "version" in told["why"][0] or told["why"][0].startswith("Nothing has changed")
    for each, case in zip(told["actions"], own.cases, strict=True):
        assert (each["name"], each["log"], each["believed"]) == (case.name, case.log_mean, case.expected)
        assert each["worth"] == case.worth
    assert told["actions"][0]["users_text"].startswith("0 users")


def test_a_store_that_is_only_read_says_the_same(engine):
    """But for a log that was handed over in memory, which a store cannot read again."""
    for experiment in ("even", "ads"):
        engine.decide(experiment, {"likes_videos": "no"} if experiment == "ads" else {}, event_id=f"{experiment} 1")
    engine.outcome("ads", "ads 1", 1.0)
    with reading(engine.config.store) as query:
        assert tell_stored(query, "even 1") == tell_decision(engine, "even", "even 1")
        with pytest.raises(LogError, match="began with a log in memory"):
            tell_stored(query, "ads 1", "ads")
        with pytest.raises(UnknownDecision, match="no decision 'nobody' in ads, even"):
            tell_stored(query, "nobody")


def test_outcomes_that_do_not_count_are_told(engine):
    engine.decide("ads", {"likes_videos": "no"}, event_id="u2")
    engine.outcome("ads", "u2", 1.0)
    engine.outcome("ads", "u2", 0.0)
    engine.set_aside("ads", "u2", "a test order")
    told = tell_decision(engine, "ads", "u2")
    assert (told["outcome"], told["is_set_aside"], told["outcome_text"]) == (1.0, True, "1, set aside")
    assert [line.split(": ", 1)[1] for line in told["events"]][1:] == [
        "outcome 1 counts",
        "outcome 0 came when another was known: kept, the first one counts",
    ]


def test_a_held_out_user_is_told_to_be_one(engine):
    engine.decide("even", {}, event_id="h")
    told = tell_decision(engine, "even", "h")
    assert told["is_holdout"]
    assert "in the hold-out" in told["sentence"]
    assert [each["chance_text"] for each in told["actions"]] == ["33.3 %"] * 3
    with pytest.raises(UnknownDecision, match="no decision 'nobody'"):
        tell_decision(engine, "even", "nobody")


def test_the_report_names_what_decides_and_why(engine):
    overviews = Overviews(engine)
    try:
        report, even = overviews["ads"].as_dict(), overviews["even"].as_dict()
    finally:
        overviews.close()
    assert report["policy"]["name"] == "LinKnowledgeGradient"
    assert "started from the log" in report["policy"]["text"]
    assert any("decisions are by a linear model" in reason for reason in report["policy"]["reasons"])
    assert all(0.0 < action["trust"] <= 1.0 for action in report["actions"])
    assert all(action["believed_text"] == "by context" for action in report["actions"])
    assert (even["policy"]["name"], even["policy"]["reasons"]) == ("UCB", [])
    assert even["actions"][0]["trust_text"] == "-"
    assert even["sentence"].endswith("No outcome has come yet.")
