"""The TOML: what it declares, and errors that name the key."""

import pytest

from headstart.errors import LogError, OptionError
from headstart.serve import Engine, load_config
from headstart.serve.config import Part, read_experiment

WHOLE = """
store = "decisions.sqlite"

[server]
port = 9000

[experiments.ads]
actions = ["video", "image"]
oracle = { name = "UCB", beta = 0.5 }
evaluator = "IPSWeighting"
epsilon = 0.1
holdout = 0.05
outcome_window = 3600
default_outcome = 0
schedule = "batch"
seed = 3

[experiments.ads.contexts]
age = "number"
likes = ["videos", "images"]

[experiments.ads.log]
path = "log.csv"
action = "ad"
outcome = "click"
propensity = "p"
"""
LOG = "ad,click,p,age,likes\n" + "".join(
    f"{'video' if i % 2 else 'image'},{int(i % 3 == 0)},0.5,{20 + i % 7},{'videos' if i % 4 else 'images'}\n"
    for i in range(40)
)


@pytest.fixture
def toml(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    path = tmp_path / "service.toml"
    path.write_text(WHOLE)
    return path


def test_a_whole_configuration(toml):
    config = load_config(toml)
    ads = config.experiments["ads"]
    assert config.store == str(toml.parent / "decisions.sqlite")
    assert config.server == {"port": 9000}
    assert ads.actions == ("video", "image")
    assert ads.oracle == Part("UCB", {"beta": 0.5})
    assert ads.contexts == {"age": "number", "likes": ("videos", "images")}
    assert ads.encoding.names == ("age", "likes=videos", "likes=images")
    assert (ads.epsilon, ads.holdout, ads.outcome_window, ads.default_outcome) == (0.1, 0.05, 3600.0, 0.0)
    assert ads.log["path"] == str(toml.parent / "log.csv")
    assert read_experiment("ads", ads.as_dict()) == ads


def test_it_serves_from_its_log(toml):
    with Engine.open(load_config(toml)) as engine:
        state = engine.state("ads")
        assert state["log"]["rows"] == 40
        assert [a["log_rows"] for a in state["actions"]] == [20, 20]
        assert [a["virtual_plays"] for a in state["actions"]] == [20, 20]
        assert engine.decide("ads", {"age": 30, "likes": "images"}).action in ("video", "image")


def test_the_policy_may_adjust_for_what_no_user_brings(toml):
    """The log's `likes` is a confounder: matched on, not decided on."""
    text = WHOLE.replace('likes = ["videos", "images"]\n', "").replace("IPSWeighting", "ExactMatching")
    toml.write_text(text.replace('propensity = "p"', 'contexts = ["age"]\nconfounders = ["likes"]'))
    with Engine.open(load_config(toml)) as engine:
        assert engine.state("ads")["log"]["columns"][0] == "age"
        decision = engine.decide("ads", {"age": 30})
        assert engine.outcome("ads", decision.event_id, 1.0).status == "waiting"


def test_a_log_with_an_action_that_was_not_declared_is_refused(toml):
    toml.write_text(WHOLE.replace('actions = ["video", "image"]', 'actions = ["video", "text"]'))
    with pytest.raises(LogError, match="image"):
        Engine.open(load_config(toml))


def test_a_log_with_a_category_that_was_not_declared_is_refused(toml):
    toml.write_text(WHOLE.replace('likes = ["videos", "images"]', 'likes = ["videos", "cats"]'))
    with pytest.raises(LogError, match="the log has likes = 'images'"):
        Engine.open(load_config(toml))


def test_a_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(OptionError, match="cannot be read: No such file"):
        load_config(tmp_path / "none.toml")


def test_text_that_is_not_toml_says_where(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("store = \n")
    with pytest.raises(OptionError, match="is not TOML: Invalid value"):
        load_config(path)


PLAIN = {"actions": ["a", "b"]}
BAD = {
    "no experiments": ({}, "experiments must be a table"),
    "empty": ({"experiments": {}}, "declare at least one"),
    "unknown key": (
        {"experiments": {"ads": PLAIN}, "stroe": "x"},
        "no setting 'stroe'; did you mean 'store'. known: store",
    ),
    "name": ({"experiments": {"a b": PLAIN}}, "a name is 1 to 64"),
    "store": ({"experiments": {"ads": PLAIN}, "store": 3}, "store must be a path"),
}
BAD_EXPERIMENTS = {
    "unknown": (
        {"epsilom": 0.1},
        "experiments.ads has no setting 'epsilom'; did you mean 'epsilon'. known: actions, contexts",
    ),
    "one action": ({"actions": ["a"]}, "experiments.ads.actions must be a list of at least two"),
    "same actions": ({"actions": ["a", "a"]}, "experiments.ads.actions must differ"),
    "odd actions": ({"actions": ["a", 1.5]}, "experiments.ads.actions must be text or whole numbers"),
    "epsilon": ({"epsilon": 1.5}, "experiments.ads.epsilon must be a finite number in \\[0, 1\\]"),
    "holdout": ({"holdout": -0.1}, "experiments.ads.holdout"),
    "window": ({"outcome_window": 0}, "experiments.ads.outcome_window"),
    "default": ({"default_outcome": 0}, "default_outcome needs experiments.ads.outcome_window"),
    "seed": ({"seed": -1}, "experiments.ads.seed"),
    "schedule": ({"schedule": "daily"}, "experiments.ads.schedule must be"),
    "evaluator": ({"evaluator": "IPSWeighting"}, "experiments.ads.evaluator needs experiments.ads.log"),
    "context": ({"contexts": {"age": "integer"}}, "experiments.ads.contexts.age must be"),
    "categories": ({"contexts": {"kind": ["x", "x"]}}, "experiments.ads.contexts.kind must have different"),
    "oracle": ({"oracle": {"beta": 1}}, "experiments.ads.oracle must be a name"),
    "log": ({"log": {"action": "ad"}}, "experiments.ads.log.path must be"),
    "safe action": (
        {"safe_action": "c"},
        "experiments.ads.safe_action must be one of the actions \\['a', 'b'\\], got 'c'",
    ),
    "safe number": (
        {"actions": [0, 1], "safe_action": True},
        "experiments.ads.safe_action must be one of .*, got True",
    ),
}


def test_a_safe_action_is_one_of_the_actions():
    ads = load_config({"experiments": {"ads": {**PLAIN, "safe_action": "b"}}}).experiments["ads"]
    assert ads.safe_action == "b"
    assert read_experiment("ads", ads.as_dict()) == ads


def test_a_configuration_without_a_safe_action_is_written_as_before_there_were_any():
    assert "safe_action" not in load_config({"experiments": {"ads": PLAIN}}).experiments["ads"].as_dict()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_service_is_refused_by_name(name):
    tables, message = BAD[name]
    with pytest.raises(OptionError, match=message):
        load_config(tables)


@pytest.mark.parametrize("name", BAD_EXPERIMENTS)
def test_a_bad_experiment_is_refused_by_name(name):
    settings, message = BAD_EXPERIMENTS[name]
    with pytest.raises(OptionError, match=message):
        load_config({"experiments": {"ads": {**PLAIN, **settings}}})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"oracle": "UBC"}, "experiments.ads.oracle has no 'UBC'; did you mean 'UCB'. known: .*UCB"),
        ({"oracle": {"name": "UCB", "bta": 1}}, "UCB has no setting 'bta'; did you mean 'beta'. known: beta"),
        ({"oracle": {"name": "UCB", "n_actions": 3}}, "UCB has no setting 'n_actions'"),
        ({"oracle": {"name": "UCB", "beta": "wide"}}, "beta must be a number"),
        ({"guard": "Guarded"}, "experiments.ads.guard needs a log"),
    ],
)
def test_parts_that_do_not_exist_are_refused_before_the_first_user(tmp_path, settings, message):
    address = str(tmp_path / "x.sqlite")
    with pytest.raises(OptionError, match=message):
        Engine.open(load_config({"store": address, "experiments": {"ads": {**PLAIN, **settings}}}))
    with Engine.open(load_config({"store": address, "experiments": {"ads": PLAIN}})) as engine:
        assert len(engine.events("ads")) == 1


def test_without_an_oracle_the_log_itself_decides_how_to_start(toml):
    """hs.start: no oracle and no evaluator are named."""
    text = WHOLE.replace('oracle = { name = "UCB", beta = 0.5 }\nevaluator = "IPSWeighting"\n', "")
    toml.write_text(text)
    with Engine.open(load_config(toml)) as engine:
        assert all(a["virtual_plays"] > 0 for a in engine.state("ads")["actions"])
        decision = engine.decide("ads", {"age": 30, "likes": "images"})
        assert engine.outcome("ads", decision.event_id, 1.0).status == "waiting"
        assert engine.fingerprint("ads") == engine.fingerprint("ads")


def test_a_default_outcome_that_the_policy_cannot_take_is_refused(tmp_path):
    settings = {**PLAIN, "oracle": "ThompsonBeta", "outcome_window": 5, "default_outcome": -1.0}
    with pytest.raises(OptionError, match=r"default_outcome must be in \[0, 1\] for this policy, got -1"):
        Engine.open(load_config({"store": str(tmp_path / "x.sqlite"), "experiments": {"ads": settings}}))


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"revision": 2**63}, "experiments.ads.revision"),
        ({"seed": 2**70}, "experiments.ads.seed"),
        ({"actions": [1, -(2**63) - 1]}, "experiments.ads.actions"),
        ({"oracle": {"name": "UCB", "beta": 2**64}}, "experiments.ads.oracle.beta"),
    ],
    ids=["revision", "seed", "action", "setting"],
)
def test_a_whole_number_that_the_store_cannot_take_is_refused_by_name(settings, place):
    """JSON has no such number; it was a traceback."""
    table = {"actions": ["video", "image"], "oracle": "UCB", **settings}
    with pytest.raises(OptionError, match=f"{place} must be below 2\\^63"):
        load_config({"experiments": {"ads": table}})
