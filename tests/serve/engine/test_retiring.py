"""Actions that are retired have no chance and keep their rows; what a configuration changes is told beforehand."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from headstart.cli import app
from headstart.errors import ActionError, LogError
from headstart.serve import Engine, load_config
from headstart.serve.engine.alterations import find_alterations
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from headstart.serve.errors import NotNow
from tests.serve.experiments import Clock, make_config, make_log

EVEN = {"actions": ["a", "b", "c"], "oracle": "ABTest", "epsilon": 0.3}


def look(address, question):
    store = open_store(address)
    try:
        return question(store.query)
    finally:
        store.close()


def test_a_retired_action_has_no_chance_and_keeps_its_rows(address):
    """Of three even actions two are left: 1/2 each, with the floor and in the hold-out too."""
    with Engine.open(make_config(address, **EVEN, holdout=0.5)) as engine:
        drawn = [engine.decide("ads") for _ in range(30)]
        for decision in drawn:
            engine.outcome("ads", decision.event_id, 1.0)
        before = engine.state("ads")["actions"]
        assert engine.retire("ads", "b", "sold out", by="ann") == engine.retire("ads", "b")
        after = [engine.decide("ads") for _ in range(30)]
        assert {tuple(decision.probabilities) for decision in after} == {(0.5, 0.0, 0.5)}
        assert {decision.is_holdout for decision in after} == {True, False}
        found = engine.state("ads")["actions"]
        assert [each["is_retired"] for each in found] == [False, True, False]
        assert found[1]["online"] == before[1]["online"]
        assert found[1]["policy"] == before[1]["policy"]
        shown = sum(decision.action == "b" for decision in drawn)
        assert sum(row["action"] == "b" for row in engine.export("ads")) == shown > 0
    with Engine.open(make_config(address, **EVEN, holdout=0.5)) as engine:  # and after a restart
        assert engine.decide("ads").probabilities[1] == 0.0
        assert engine.reinstate("ads", "b") > 0
        assert engine.decide("ads").probabilities[1] > 0.0
        assert engine.reinstate("ads", "b") == 0
    verdict = look(address, verify_store)
    assert verdict.faults == []
    assert verdict.decisions == verdict.decided_again


def test_it_ends_what_units_keep_and_refuses_what_offers_nothing_else(tmp_path):
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), **EVEN), clock=Clock()) as engine:
        drawn = engine.decide("ads", unit="c1")
        engine.retire("ads", drawn.action)
        anew = engine.decide("ads", unit="c1")
        assert anew.follows is None
        assert anew.action != drawn.action
        with pytest.raises(ActionError, match="available has only actions that are retired"):
            engine.decide("ads", available=[drawn.action])
        assert engine.decide("ads", available=[drawn.action, anew.action]).action == anew.action
        with pytest.raises(ActionError, match="no action 'd'; known"):
            engine.retire("ads", "d")
        engine.retire("ads", anew.action)
        last = next(label for label in "abc" if label not in (drawn.action, anew.action))
        with pytest.raises(NotNow, match=f"'{last}' is the last action that is shown"):
            engine.retire("ads", last)


def test_a_retry_of_a_decision_for_a_retired_action_gets_its_answer(tmp_path):
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), **EVEN)) as engine:
        first = engine.decide("ads", available=["a"], event_id="u1")
        engine.retire("ads", "a")
        assert engine.decide("ads", available=["a"], event_id="u1") == first
        assert engine.outcome("ads", "u1", 1.0).status == "applied"


def test_an_action_of_the_log_that_is_left_out_names_the_way_out(tmp_path):
    config = make_config(
        str(tmp_path / "e.sqlite"), actions=["image", "text"], oracle="UCB", log={"rows": make_log()}
    )
    with pytest.raises(LogError, match=r"has the action 'video'.*To show it no more and keep its rows, retire it"):
        Engine.open(config)


def test_the_command_line_tells_them(tmp_path):
    text = 'store = "e.sqlite"\n[experiments.ads]\nactions = ["a", "b"]\nepsilon = {}\noracle = "UCB"\n'
    path = tmp_path / "ads.toml"
    path.write_text(text.format(0.1))
    Engine.open(load_config(path)).close()
    path.write_text(text.format(0.2))
    told = CliRunner().invoke(app, ["store", "diff", str(path)])
    assert (told.exit_code, "epsilon: 0.1 becomes 0.2" in told.output) == (0, True)
    path.write_text(text.format(0.2) + "outcome_window = 5")
    told = CliRunner().invoke(app, ["store", "diff", str(path)])
    assert (told.exit_code, "cannot be taken" in told.output) == (1, True)


def test_differences_are_told_and_nothing_is_written(address):
    Engine.open(make_config(address, **EVEN, contexts={"age": "number"})).close()
    changed = {
        **EVEN,
        "actions": ["c", "a", "d"],
        "epsilon": 0.1,
        "contexts": {"age": {"range": [0, 9]}, "x": "number"},
    }
    found = look(address, lambda query: find_alterations(query, make_config(address, **changed)))[0]
    assert found.says == "changes; its policy is built anew and learns again what users taught"
    assert found.changes == [
        "actions: 'd' is added",
        "actions: 'b' is removed: its decisions leave the exported log and are not learnt any more. To show it no "
        "more and keep them, leave it in actions and retire it",
        "actions: their order becomes ['c', 'a', 'd']",
        "contexts.age: 'number' becomes {'range': [0.0, 9.0]}",
        "contexts.x: nothing becomes 'number'",
        "epsilon: 0.3 becomes 0.1",
    ]
    same = look(
        address, lambda query: find_alterations(query, make_config(address, **EVEN, contexts={"age": "number"}))
    )
    assert same[0].says == "stays as it is"
    fixed = make_config(address, **EVEN, contexts={"age": "number"}, outcome_window=5)
    refused = look(address, lambda query: find_alterations(query, fixed))[0]
    assert refused.is_refused
    assert "outcome_window was None and cannot become 5.0" in refused.says
    ads = make_config(address, **EVEN)
    renamed = replace(ads, experiments={"offers": replace(ads.experiments["ads"], name="offers")})
    told = look(address, lambda query: find_alterations(query, renamed))
    assert [each.says for each in told] == [
        "is new, with 3 actions", "is not in the configuration: it is closed, its events stay",
    ]  # fmt: skip
    assert look(address, lambda query: len(query("SELECT sequence FROM events"))) == 1
