"""Outcomes with names: recorded each, learnt as a value, at once or when the window closes."""

import io

import pyarrow.parquet as pq
import pytest

from headstart.errors import OptionError, OutcomeError
from headstart.logs.tables.reading import read_log
from headstart.serve import Engine, Event, Unit
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from headstart.serve.telling.formats import as_jsonl, write_parquet
from tests.serve.experiments import Clock, make_config

SHOP = {
    "actions": ["mail", "nothing"],
    "outcomes": {"click": {}, "revenue": {"range": [0, 1000]}},
    "value": 'revenue - 0.5 * shown("mail")',
}
WINDOWED = {
    **SHOP,
    "outcomes": {"click": {"default": 0}, "revenue": {"sum": True, "delay": 10}, "rating": {}},
    "outcome_window": 60,
}


def verify(address):
    store = open_store(address)
    try:
        return verify_store(store.query)
    finally:
        store.close()


def show(engine, action, event_id, **others):
    return engine.decide("ads", available=[action], event_id=event_id, **others)


def test_without_a_window_the_value_is_learnt_when_all_have_come(address):
    """12.5 less the cost of 0.5 of the mail, and 0 where nothing was sent and nothing came."""
    with Engine.open(make_config(address, **SHOP)) as engine:
        show(engine, "mail", "u1")
        show(engine, "nothing", "u2")
        first = engine.outcome("ads", "u1", {"click": 1})
        assert (first.status, first.outcomes) == ("waiting", {"click": "waiting"})
        assert engine.state("ads")["learnt"] == 0
        assert engine.outcome("ads", "u1", {"revenue": 12.5, "click": 1}).outcomes == {
            "revenue": "waiting",
            "click": "duplicate",
        }
        assert engine.outcome("ads", "u2", {"revenue": 0, "click": 0}).status == "applied"
        assert engine.outcome("ads", "u1", {"revenue": 13}).status == "conflicting"
        assert engine.outcome("ads", "nobody", {"click": 1}).status == "dangling"
        state = engine.state("ads")
        assert [(a["online"]["n"], a["online"]["mean"]) for a in state["actions"]] == [(1, 12.0), (1, 0.0)]
        assert state["actions"][0]["outcomes"] == {"click": {"n": 1, "sum": 1.0}, "revenue": {"n": 1, "sum": 12.5}}
        assert (state["parts"], state["outcomes"], state["conflicting"], state["dangling"]) == (4, 2, 1, 1)
        rows = {row["event_id"]: row for row in engine.export("ads")}
        assert (rows["u1"]["outcome"], rows["u1"]["outcomes"]) == (12.0, {"click": 1.0, "revenue": 12.5})
    assert verify(address).faults == []


def test_with_a_window_the_value_is_made_when_it_closes(address):
    """By hand, revenue counts from 10 s on: u1 20 + 5 less 0.5; u2 has no rating, so no value; u3 got no mail: 0."""
    clock = Clock()
    with Engine.open(make_config(address, **WINDOWED), clock=clock) as engine:
        for event_id, action in (("u1", "mail"), ("u2", "mail"), ("u3", "nothing")):
            show(engine, action, event_id)
        early = engine.outcome("ads", "u1", {"revenue": 100, "rating": 4}, "order 1")
        assert early.outcomes == {"revenue": "early", "rating": "waiting"}
        engine.outcome("ads", "u3", {"rating": 3}, "stars")
        clock.seconds += 30
        assert engine.outcome("ads", "u1", {"revenue": 20}, "order 2").status == "waiting"
        assert engine.outcome("ads", "u1", {"revenue": 20}, "order 2").status == "duplicate"
        assert engine.outcome("ads", "u1", {"revenue": 5}, "order 3").status == "waiting"
        assert engine.state("ads")["learnt"] == 0
        clock.seconds += 31
        engine.close_windows()
        assert engine.outcome("ads", "u1", {"revenue": 7}, "order 4").status == "late"
        rows = {row["event_id"]: (row["outcome"], row["outcomes"]) for row in engine.export("ads")}
        assert rows == {
            "u1": (24.5, {"click": 0.0, "revenue": 25.0, "rating": 4.0}),
            "u2": (None, None),
            "u3": (0.0, {"click": 0.0, "revenue": 0.0, "rating": 3.0}),
        }
        state = engine.state("ads")
        assert (state["learnt"], state["early"], state["late"], state["parts"]) == (2, 1, 1, 4)
        page = engine.past("ads").read_page(*_start(engine), 100)
        assert page.heard.outcomes == [24.5, 0.0]
    assert verify(address).faults == []


def _start(engine):
    past = engine.past("ads")
    return past.mark()._replace(position=0, hash=""), ["mail", "nothing"], past.terms()


def test_verify_finds_a_value_that_nothing_came_of(tmp_path):
    path = str(tmp_path / "e.sqlite")
    with Engine.open(make_config(path, **SHOP)) as engine:
        show(engine, "mail", "u1")
        engine.outcome("ads", "u1", {"click": 1})
    store = open_store(path)
    with store.writing("ads") as turn:
        head, value = turn.head, {"outcome": 9.5, "outcomes": {"click": 1.0, "revenue": 10.0}}
        turn.insert([Event(head.sequence + 1, "ads", "outcome", "u1", head.time, 2, value)])
    store.close()
    assert verify(path).faults == ["outcome 4 ('u1') is not the value of what came"]


def test_what_is_set_aside_counts_in_no_sum(tmp_path):
    path = str(tmp_path / "e.sqlite")
    with Engine.open(make_config(path, **SHOP)) as engine:
        for event_id, revenue in (("u1", 10.0), ("u2", 900.0)):
            show(engine, "mail", event_id)
            engine.outcome("ads", event_id, {"click": 1, "revenue": revenue})
        engine.set_aside("ads", "u2", "a test order")
        assert engine.state("ads")["actions"][0]["outcomes"]["revenue"] == {"n": 1, "sum": 10.0}
        assert [row["outcomes"] for row in engine.export("ads")][1] is None
    with Engine.open(make_config(path, **SHOP)) as engine:  # and after a restart
        assert engine.state("ads")["actions"][0]["online"]["mean"] == 9.5
    assert verify(path).faults == []


def test_outcomes_of_a_unit_count_for_its_newest_decision(address):
    with Engine.open(make_config(address, **SHOP)) as engine:
        show(engine, "mail", "u1", unit="c1")
        show(engine, "mail", "u2", unit="c1")
        reports = [(Unit("c1"), {"click": 1.0}), (Unit("c1"), {"revenue": 2.0}), ("u1", {"click": 0.0})]
        assert [receipt[:2] for receipt in engine.outcome_many("ads", reports)] == [
            ("u2", "waiting"), ("u2", "applied"), ("u1", "waiting"),
        ]  # fmt: skip
    assert verify(address).faults == []


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (1.0, "has outcomes with names: report them by name; known: click, revenue"),
        ({}, "at least one outcome"),
        ({"clicks": 1}, "has no outcome 'clicks'; known: click, revenue"),
        ({"revenue": 2000}, r"outcome 'revenue' must be in \[0, 1000\], got 2000"),
        ({"click": float("nan")}, "finite"),
    ],
)
def test_what_does_not_fit_is_refused_whole(outcome, told, tmp_path):
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), **SHOP)) as engine:
        show(engine, "mail", "u1")
        with pytest.raises(OutcomeError, match=told):
            engine.outcome("ads", "u1", outcome)
        assert engine.state("ads")["parts"] == 0


def test_a_sum_needs_to_know_its_reports(tmp_path):
    with (
        Engine.open(make_config(str(tmp_path / "e.sqlite"), **WINDOWED)) as engine,
        pytest.raises(OptionError, match="report_id must be 1 to 100 printable characters where one of"),
    ):
        engine.outcome("ads", "u1", {"revenue": 1.0})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"value": None}, "value is missing: what are click and revenue worth together"),
        ({"value": "clicks"}, "value has clicks, which is no outcome; known: click, revenue"),
        ({"outcomes": None}, "value needs experiments.ads.outcomes"),
        ({"outcomes": {}}, "must have at least one"),
        ({"outcomes": {"a b": {}}}, "a name is letters"),
        ({"outcomes": {"click": {"sum": True}}}, "click.sum needs experiments.ads.outcome_window"),
        ({"outcomes": {"click": {"default": 0}}}, "click.default needs experiments.ads.outcome_window"),
        ({"outcomes": {"click": {"delay": 9}}, "outcome_window": 9}, "delay must be shorter"),
        ({"default_outcome": 0.0, "outcome_window": 9}, "declare experiments.ads.outcomes.NAME.default"),
    ],
)
def test_a_wrong_declaration_names_its_place(changes, told, tmp_path):
    table = {name: value for name, value in {**SHOP, **changes}.items() if value is not None}
    with pytest.raises(OptionError, match=told):
        make_config(str(tmp_path / "e.sqlite"), **table)


def test_a_value_speaks_of_actions_that_there_are_or_were(tmp_path):
    path = str(tmp_path / "e.sqlite")
    with pytest.raises(OptionError, match=r"value has shown\('male'\), which is no action; known: \['mail'"):
        Engine.open(make_config(path, **{**SHOP, "value": 'revenue * shown("male")'}))
    Engine.open(make_config(path, **SHOP)).close()
    Engine.open(make_config(path, **{**SHOP, "actions": ["letter", "nothing"]})).close()


def test_outcomes_are_fixed_for_life(tmp_path):
    path = str(tmp_path / "e.sqlite")
    Engine.open(make_config(path, **SHOP)).close()
    with pytest.raises(OptionError, match=r"value was revenue - 0.5 .* and cannot become revenue"):
        Engine.open(make_config(path, **{**SHOP, "value": "revenue"}))


def test_the_next_log_can_take_any_of_them(tmp_path):
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), **SHOP, oracle="ABTest")) as engine:
        for i in range(40):
            event_id = engine.decide("ads").event_id
            engine.outcome("ads", event_id, {"click": i % 2, "revenue": float(i)})
        file = io.BytesIO()
        write_parquet(engine.export("ads"), file)
        (tmp_path / "next.jsonl").write_bytes(b"".join(as_jsonl(engine.export("ads"))))
    assert pq.read_table(file).column("outcomes").to_pylist()[3] == {"click": 1.0, "revenue": 3.0}
    log = read_log(str(tmp_path / "next.jsonl"), outcome="outcome.revenue")
    assert sorted(log.outcomes.tolist()) == [float(i) for i in range(40)]
