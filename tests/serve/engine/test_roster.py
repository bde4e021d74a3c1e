"""Which experiments a process runs: opened beside each other, mended alone, exchanged while others decide."""

import logging
import threading

import pytest

from headstart.errors import LogError, OptionError
from headstart.serve import Engine, UnknownExperiment, load_config
from headstart.serve.errors import StillOpening
from tests.serve.experiments import make_config
from tests.serve.paused_store import PausedStore
from tests.serve.ready import fill_store
from tests.serve.waiting import wait

PLAIN = {"actions": ["a", "b"]}
LOG = "action,outcome,propensity\n" + "".join(f"{'ab'[i % 2]},{int(i % 3 == 0)},0.5\n" for i in range(40))


def configure(address, **experiments):
    return load_config({"store": str(address), "experiments": experiments})


def from_log(path):
    return {**PLAIN, "log": {"path": str(path)}, "oracle": "UCB"}


def test_an_experiment_decides_while_another_is_still_opened(tmp_path):
    address = str(tmp_path / "events.sqlite")
    fill_store(address, 10_000)
    config = configure(address, ads=make_config(address).experiments["ads"].as_dict(), quick=PLAIN)
    store = PausedStore(address)
    with Engine.start(config, store=store) as engine:
        wait(lambda: engine.health()["opening"] == ["ads"])
        assert engine.decide("quick").version == 1
        assert store.is_asked.wait(30)
        with pytest.raises(
            StillOpening, match=r"'ads' cannot decide yet: it is being opened: [1-9]\d% of its events"
        ):
            engine.decide("ads")
        store.is_free.set()
        engine.wait_until_open()
        assert engine.health()["opening"] == []
        assert engine.state("ads")["decisions"] == 5_000
        engine.decide("ads")


def test_a_process_that_is_ended_while_it_opens_does_not_open_first(tmp_path, caplog):
    address = str(tmp_path / "events.sqlite")
    fill_store(address, 10_000)
    store = PausedStore(address)
    engine = Engine.start(make_config(address), store=store)
    assert store.is_asked.wait(30)
    closing = threading.Thread(target=engine.close)
    closing.start()
    wait(lambda: engine._ledgers["ads"].is_closing)
    store.is_free.set()
    closing.join(30)
    assert engine._ledgers["ads"].fold.position == 0
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_missing_log_stops_its_own_experiment_until_it_is_back(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("headstart.serve.engine.ledger._MEND_SECONDS", 0.2)
    caplog.set_level(logging.INFO, "headstart.serve")
    path = tmp_path / "log.csv"
    with Engine.open(configure(tmp_path / "x.sqlite", ads=from_log(path), other=PLAIN)) as engine:
        engine.decide("other")
        assert "log.csv" in engine.health()["broken"]["ads"]
        wait(lambda: engine._ledgers["ads"]._mended > 0)
        threading.Event().wait(0.6)  # it is tried again, and not said again
        assert sum("'ads' cannot be folded" in record.message for record in caplog.records) == 1
        path.write_text(LOG)
        wait(lambda: not engine.health()["broken"])
        assert engine.state("ads")["log"]["rows"] == 40
        assert "experiment 'ads' is open: 2 events" in caplog.text


def test_a_wrong_configuration_ends_the_start_though_others_are_right(tmp_path):
    wrong = {**PLAIN, "oracle": "UBC"}
    with pytest.raises(OptionError, match="has no 'UBC'"):
        Engine.open(configure(tmp_path / "x.sqlite", ads=wrong, other=PLAIN))


def test_what_breaks_the_only_experiment_is_raised(tmp_path):
    with pytest.raises(LogError, match=r"none\.csv"):
        Engine.open(configure(tmp_path / "x.sqlite", ads=from_log(tmp_path / "none.csv")))


def test_opening_and_closing_are_told_once(tmp_path, caplog):
    caplog.set_level(logging.INFO, "headstart.serve")
    address = str(tmp_path / "events.sqlite")
    fill_store(address, 2_000, keeps_snapshots=True)
    caplog.clear()
    with Engine.open(make_config(address)) as engine:
        wait(lambda: engine.health()["is_folder"])
        engine.freeze("ads", "a look", by="anna")
    told = [record.message.split(" in ")[0] for record in caplog.records]
    assert told == [
        "experiment 'ads' is open: 2001 events",
        "experiment 'ads': outcome has no range",
        "experiment 'ads': this process looks after its windows and snapshots",
        "experiment 'ads': event 2002, frozen by anna: a look",
        "experiment 'ads' is closed at event 2002",
    ]
    assert "from a snapshot at event 2001" in caplog.text


def test_a_reload_declares_opens_and_closes(tmp_path, caplog):
    caplog.set_level(logging.INFO, "headstart.serve")
    address = tmp_path / "x.sqlite"
    with Engine.open(configure(address, same=PLAIN, changed=PLAIN, gone=PLAIN)) as engine:
        first = engine.decide("gone", event_id="u")
        told = engine.reload(configure(address, same=PLAIN, changed={**PLAIN, "epsilon": 1.0}, new=PLAIN))
        assert told == {"same": "taken up", "changed": "taken up", "new": "opened", "gone": "closed"}
        wait(lambda: engine.decide("changed").probabilities == (0.5, 0.5))
        assert engine.decide("new").version == 1
        assert len(engine.events("same")) == 1
        with pytest.raises(UnknownExperiment, match="no experiment 'gone'; known: same, changed, new"):
            engine.decide("gone")
        assert "experiment 'gone' is closed" in caplog.text
        engine.reload(configure(address, gone=PLAIN))  # and back
        assert engine.decide("gone", event_id="u") == first


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"new": {**PLAIN, "oracle": "UBC"}}, "has no 'UBC'"),
        ({"new": {**PLAIN, "log": {"path": "none.csv"}}}, "none.csv"),
        ({"ads": {**PLAIN, "outcome_window": 5}}, "outcome_window was None and cannot become 5"),
    ],
)
def test_a_reload_with_an_error_changes_nothing(tmp_path, wrong, message):
    address = tmp_path / "x.sqlite"
    with Engine.open(configure(address, ads=PLAIN, other=PLAIN)) as engine:
        with pytest.raises((OptionError, LogError), match=message):
            engine.reload(configure(address, **{"ads": {**PLAIN, "epsilon": 1.0}, **wrong}))
        assert set(engine._ledgers) == {"ads", "other"}
        assert [len(engine.events(name)) for name in ("ads", "other")] == [1, 1]
        engine.decide("other")


def test_a_reload_does_not_move_to_another_store(tmp_path):
    with Engine.open(configure(tmp_path / "x.sqlite", ads=PLAIN)) as engine:
        with pytest.raises(OptionError, match="store cannot change while the service runs"):
            engine.reload(configure(tmp_path / "y.sqlite", ads=PLAIN))
        engine.decide("ads")


def test_a_reload_takes_up_a_log_that_has_changed_and_leaves_a_broken_one(tmp_path):
    address, path = tmp_path / "x.sqlite", tmp_path / "log.csv"
    path.write_text(LOG)
    config = configure(address, ads=from_log(path), other=PLAIN, broken=from_log(tmp_path / "none.csv"))
    with Engine.open(config) as engine:
        path.write_text(LOG + "a,1,0.5\n")
        told = engine.reload(config)
        assert told["ads"] == "taken up"
        assert told["broken"].startswith("broken: ")
        wait(lambda: engine.state("ads")["log"]["rows"] == 41)


def test_a_reload_of_an_old_file_says_that_it_is_not_taken_up(tmp_path):
    address = tmp_path / "x.sqlite"
    old, new = configure(address, ads=PLAIN), configure(address, ads={**PLAIN, "epsilon": 1.0})
    with Engine.open(old) as engine:
        assert engine.reload(new) == {"ads": "taken up"}
        assert engine.reload(old)["ads"].startswith("not taken up: the configuration of this process is an old one")
        wait(lambda: engine.decide("ads").probabilities == (0.5, 0.5))
        assert [event.kind for event in engine.events("ads")].count("configuration") == 2


def test_a_reload_mends_an_experiment_that_broke_later(tmp_path, caplog):
    """Its log changed under it, and is then left out of the configuration."""
    address, path = tmp_path / "x.sqlite", tmp_path / "log.csv"
    path.write_text(LOG)
    with Engine.open(configure(address, ads=from_log(path), other=PLAIN)) as engine:
        ledger = engine._ledgers["ads"]
        ledger.stay_broken("somebody pulled the plug")
        told = engine.reload(configure(address, ads=PLAIN, other=PLAIN))
        assert told == {"ads": "taken up", "other": "taken up"}
        wait(lambda: engine.state("ads")["log"] is None)
        assert engine.events("ads")[-1].kind == "configuration"


def test_what_another_process_recorded_is_in_the_log(tmp_path, caplog):
    caplog.set_level(logging.INFO, "headstart.serve")
    address = tmp_path / "x.sqlite"
    with Engine.open(configure(address, ads=PLAIN)):
        Engine.open(configure(address, ads={**PLAIN, "epsilon": 1.0})).close()
        wait(lambda: "experiment 'ads': event 2, configuration" in caplog.text)


def test_a_log_that_was_cleaned_away_does_not_stop_a_reload(tmp_path):
    """The experiment has it in memory and decides on: keys and other experiments can still be changed."""
    address, path = tmp_path / "x.sqlite", tmp_path / "log.csv"
    path.write_text(LOG)
    with Engine.open(configure(address, ads=from_log(path), other=PLAIN)) as engine:
        path.unlink()
        told = engine.reload(configure(address, ads=from_log(path), other={**PLAIN, "epsilon": 1.0}))
        assert told["other"] == "taken up"
        assert told["ads"].startswith("left as it is: ")
        engine.decide("ads")
        wait(lambda: engine.decide("other").probabilities == (0.5, 0.5))
