"""Units: who comes back keeps the action that was drawn, wherever and whenever, and is counted as one draw."""

import threading
from collections import Counter

import numpy as np
import pytest

from headstart.errors import OptionError
from headstart.logs.tables.reading import read_log
from headstart.serve import ConflictError, Engine, Event, Unit
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.tally import EventTally
from headstart.serve.engine.verification import verify_store
from headstart.serve.errors import UnknownDecision
from headstart.serve.telling.formats import as_jsonl
from tests.serve.experiments import Clock, make_config
from tests.serve.returning import ask_returning

EVEN = {"oracle": "ABTest", "epsilon": 0.0}  # every action has the same chance, whatever comes


def verify(address):
    store = open_store(address)
    try:
        return verify_store(store.query)
    finally:
        store.close()


def test_a_unit_keeps_its_action_and_its_propensity_across_restarts(address):
    with Engine.open(make_config(address)) as engine:
        first = {f"c{i}": engine.decide("ads", unit=f"c{i}") for i in range(20)}
        for i, decision in enumerate(first.values()):
            engine.outcome("ads", decision.event_id, float(i % 2))
    with Engine.open(make_config(address)) as engine:
        for unit, drawn in first.items():
            again = engine.decide("ads", unit=unit)
            assert (again.action, again.propensity, again.probabilities) == drawn[1:4]
            assert (again.follows, drawn.follows) == (drawn.event_id, None)
            assert again.event_id != drawn.event_id
            assert engine.decide("ads", unit=unit).follows == drawn.event_id
        assert (engine.state("ads")["decisions"], engine.state("ads")["repeated"]) == (60, 40)
    verdict = verify(address)
    assert verdict.faults == []
    assert verdict.decisions == verdict.decided_again == 60


def test_a_race_of_two_processes_for_one_unit_is_one_draw(address):
    with Engine.open(make_config(address)) as one, Engine.open(make_config(address)) as other:
        answers = {}

        def ask(engine, name):
            answers[name] = [engine.decide("ads", unit=f"c{i}") for i in range(30)]

        threads = [threading.Thread(target=ask, args=pair) for pair in ((one, "one"), (other, "other"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for first, second in zip(answers["one"], answers["other"], strict=True):
            assert (first.action, first.propensity) == (second.action, second.propensity)
            assert sorted([first.follows, second.follows], key=str)[1] is None  # one was drawn
            assert {first.follows, second.follows} & {first.event_id, second.event_id}


def test_returning_units_keep_their_action_at_replicas_after_restarts_and_under_other_configurations(address):
    """Chi-square of the units' actions against their chances: a false alarm in 1 of 10,000 seeds."""
    found = ask_returning(address, 300)
    assert found[:4] == (300, 1200, 300, 0)
    assert found.p_value > 1e-4
    assert verify(address).faults == []


def forge(path, body, event_id, about=None):
    """One more decision, in the chain, that no engine would have written."""
    store = open_store(path)
    with store.writing("ads") as turn:
        head = turn.head
        turn.insert([Event(head.sequence + 1, "ads", "decision", event_id, head.time, about, body)])
    store.close()


def test_verify_finds_a_draw_that_a_unit_did_not_need_and_a_repeat_of_nothing(tmp_path):
    path = str(tmp_path / "e.sqlite")
    with Engine.open(make_config(path, **EVEN)) as engine:
        drawn = engine.decide("ads", unit="c1", event_id="u1")
        body = dict(engine.events("ads")[-1].body)
        sequence = engine.events("ads")[-1].sequence
        other = engine.decide("ads", event_id="u2")
    forge(path, body, "u3")
    faults = "\n".join(verify(path).faults)
    assert "decision 4 ('u3') was drawn, though its unit keeps the action of 'u1'" in faults
    forge(path, {**body, "unit": "c2", "follows": "u1", "number": 2}, "u4", sequence)
    assert "decision 5 ('u4') repeats 'u1', which its unit does not keep" in "\n".join(verify(path).faults)
    forge(path, {**body, "follows": "u3", "number": 7}, "u5", 4)
    assert "decision 6 ('u5') is not what it says it repeats" in "\n".join(verify(path).faults)
    assert (drawn.follows, other.follows) == (None, None)


def test_a_unit_within_one_batch_is_drawn_for_once(tmp_path):
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), **EVEN)) as engine:
        users = [{"unit": "c1"}, {"unit": "c2"}, {"unit": "c1"}, {"unit": "c1"}]
        a, _, b, c = engine.decide_many("ads", users)
        assert b.follows == c.follows == a.event_id
        assert [event.body.get("number") for event in engine.events("ads") if event.kind == "decision"] == [
            None, None, 2, 3,
        ]  # fmt: skip


def test_time_is_counted_from_the_draw(tmp_path):
    """Sticky for 60 s: drawn at 0, kept at 59 (which does not prolong it), drawn anew at 60, kept at 61."""
    clock = Clock()
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), sticky=60, **EVEN), clock=clock) as engine:
        follows = []
        for wait in (0, 59, 1, 1):
            clock.seconds += wait
            follows.append(engine.decide("ads", unit="c1", event_id=f"at {clock.seconds - 1_700_000_000:g}").follows)
    assert follows == [None, "at 0", None, "at 60"]


def test_sticky_0_keeps_nothing(tmp_path):
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), sticky=0, **EVEN), clock=Clock()) as engine:
        drawn = [engine.decide("ads", unit="c1") for _ in range(40)]
    assert {decision.follows for decision in drawn} == {None}
    assert len({decision.action for decision in drawn}) == 2


def test_an_action_that_cannot_be_shown_ends_it_and_the_new_one_is_kept(tmp_path):
    path = str(tmp_path / "e.sqlite")
    with Engine.open(make_config(path, actions=["a", "b", "c"], **EVEN)) as engine:
        drawn = engine.decide("ads", unit="c1")
        others = [label for label in "abc" if label != drawn.action]
        elsewhere = engine.decide("ads", unit="c1", available=others)
        assert elsewhere.follows is None
        assert engine.decide("ads", unit="c1").follows == elsewhere.event_id
    left = [label for label in "abc" if label != elsewhere.action]  # a configuration without it, and with a new one
    with Engine.open(make_config(path, actions=["d", *left], **EVEN)) as engine:
        anew = engine.decide("ads", unit="c1")
        assert anew.follows is None
        assert engine.decide("ads", unit="c1").follows == anew.event_id
    assert verify(path).faults == []


def test_a_new_configuration_keeps_actions_with_the_chances_that_were_drawn_with(tmp_path):
    """Two actions with 1/2 each; then a third, and another order: 0 for what was not there."""
    path = str(tmp_path / "e.sqlite")
    with Engine.open(make_config(path, actions=["a", "b"], **EVEN)) as engine:
        drawn = engine.decide("ads", unit="c1")
    with Engine.open(make_config(path, actions=["b", "c", "a"], **EVEN)) as engine:
        again = engine.decide("ads", unit="c1", event_id="again")
        assert (again.action, again.propensity, again.probabilities) == (drawn.action, 0.5, (0.5, 0.0, 0.5))
        assert engine.decide("ads", unit="c1", event_id="again") == again
        rows = list(engine.export("ads"))
        assert [row["probabilities"] for row in rows] == [[0.5, 0.0, 0.5]] * 2


def test_an_outcome_of_a_unit_counts_for_its_newest_decision(address):
    with Engine.open(make_config(address)) as engine:
        first, second = (engine.decide("ads", unit="c1").event_id for _ in range(2))
        assert engine.outcome("ads", Unit("c1"), 1.0)[:2] == (second, "applied")
        assert engine.outcome("ads", Unit("c1"), 1.0)[:2] == (second, "duplicate")
        assert engine.outcome("ads", first, 0.0)[:2] == (first, "applied")
        with pytest.raises(UnknownDecision, match="no decision of 'ads' is of the unit 'c2'"):
            engine.outcome("ads", Unit("c2"), 1.0)
        receipts = engine.outcome_many("ads", [(Unit("c1"), 0.0), (first, 0.0)])
        assert [receipt.status for receipt in receipts] == ["conflicting", "duplicate"]


def test_an_event_id_belongs_to_its_unit(tmp_path):
    with Engine.open(make_config(str(tmp_path / "e.sqlite"))) as engine:
        engine.decide("ads", unit="c1", event_id="u1")
        with pytest.raises(ConflictError, match="another context, unit"):
            engine.decide("ads", unit="c2", event_id="u1")
        with pytest.raises(OptionError, match="unit must be 1 to 200 printable"):
            engine.decide("ads", unit="")


def test_a_unit_is_held_out_for_life(tmp_path):
    """Also when it is drawn for again and again: with half of the units held out, each always is or never."""
    config = make_config(str(tmp_path / "e.sqlite"), sticky=0, holdout=0.5)
    with Engine.open(config, clock=Clock()) as engine:
        held = {f"c{i}": {engine.decide("ads", unit=f"c{i}").is_holdout for _ in range(6)} for i in range(60)}
    assert all(len(each) == 1 for each in held.values())
    n = sum(each == {True} for each in held.values())
    assert 15 <= n <= 45  # 30 +- 4 standard deviations of sqrt(60) / 2


def test_the_draws_fit_their_chances_and_repeats_say_nothing_of_them(tmp_path):
    """400 units, 3 decisions each: of action a with chance 1/3, +- 4 standard deviations of sqrt(400 * 2 / 9)."""
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), actions=["a", "b", "c"], **EVEN)) as engine:
        users = [{"unit": f"c{i}"} for i in range(400)]
        rounds = [engine.decide_many("ads", users) for _ in range(3)]
        assert [d.action for d in rounds[0]] == [d.action for d in rounds[1]] == [d.action for d in rounds[2]]
        assert abs(Counter(d.action for d in rounds[0])["a"] - 400 / 3) < 4 * (400 * 2 / 9) ** 0.5
        page = engine.past("ads").read_page(*_from_the_start(engine), 2000)
        drawn = [chances for decided in page.decided for chances in decided.chances]
        assert sum(max(chances) < 1.0 for chances in drawn) == 400


def _from_the_start(engine):
    past = engine.past("ads")
    return past.mark()._replace(position=0, hash=""), ["a", "b", "c"], past.terms()


def test_a_draws_outcomes_count_as_one_in_the_interval(tmp_path):
    """By hand: two units of one action, 2 outcomes of 1 each and 2 of 0: n = 4, worth 16 / (4 + 4) = 2 outcomes.

    The variance is 1/4, so the interval reaches 1.96 sqrt(1/4 / (2 - 1)) = 0.98 to each side of 1/2.
    """
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), **EVEN)) as engine:
        for unit, outcome in (("c1", 1.0), ("c2", 0.0)):
            for _ in range(2):
                engine.decide("ads", unit=unit, available=["image"])
                engine.outcome("ads", Unit(unit), outcome)
        online = engine.state("ads")["actions"][1]["online"]
    assert online == {
        "n": 4,
        "mean": 0.5,
        "low": pytest.approx(0.5 - 0.98, abs=1e-3),
        "high": pytest.approx(1.48, abs=1e-3),
    }


def test_the_interval_covers_where_units_do_the_same_again_and_again():
    """95 % of 400 runs less 4 standard deviations, sqrt(0.95 * 0.05 / 400), and 1 % for 100 units' normal law: 90 %.

    One by one the outcomes would cover in 65 %.
    """
    rng, covered = np.random.default_rng(9), 0
    for _ in range(400):
        tally = EventTally()
        for n, outcome in zip(rng.geometric(0.4, 100).tolist(), (rng.random(100) < 0.3).tolist(), strict=True):
            for number in range(1, n + 1):
                tally.add_learnt("a", float(outcome), number=number, is_default=False)
        found = tally.mean("a")
        covered += found["low"] <= 0.3 <= found["high"]
    assert covered / 400 >= 0.95 - 4 * (0.95 * 0.05 / 400) ** 0.5 - 0.01


def test_the_next_log_is_clustered_by_unit(tmp_path):
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), **EVEN)) as engine:
        for i in range(60):
            unit = None if i % 6 == 5 else f"c{i % 20}"
            decision = engine.decide("ads", unit=unit)
            engine.outcome("ads", decision.event_id, float(i % 3 == 0))
        path = tmp_path / "next.jsonl"
        path.write_bytes(b"".join(as_jsonl(engine.export("ads"))))
    log = read_log(str(path))
    assert len(log) == 60
    named, alone = len({f"c{i % 20}" for i in range(60) if i % 6 != 5}), 10
    assert log.units is not None
    assert len(set(log.units.tolist())) == named + alone


@pytest.mark.parametrize("value", ["always", -1, [1]])
def test_sticky_is_a_time(value, tmp_path):
    with pytest.raises(OptionError, match=r"experiments\.ads\.sticky must be"):
        make_config(str(tmp_path / "e.sqlite"), sticky=value)
