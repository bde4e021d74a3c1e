"""A history that cannot be swapped: stores that go back, other stores, lost tails, and what people do about it."""

import logging
import shutil
import sqlite3

import psycopg
import pytest
from typer.testing import CliRunner

from headstart.cli import app
from headstart.serve import Engine, StoreUnavailable
from headstart.serve.engine.acceptance import accept_history
from headstart.serve.engine.opening import open_store
from headstart.serve.errors import HistoryLost
from tests.serve.experiments import Clock, make_config
from tests.serve.waiting import wait


def fill(engine, n, first=0):
    for i in range(first, first + n):
        engine.outcome("ads", engine.decide("ads", event_id=f"u{i}").event_id, float(i % 2))


def cut(address, after):
    """The store as it was: as a standby has it that lagged when it took over."""
    statements = [f"DELETE FROM events WHERE sequence > {after}"]
    if address.startswith("postgresql://"):
        last = f"SELECT sequence, time, hash FROM events WHERE sequence = {after}"
        statements.append(f"UPDATE heads SET (sequence, time, hash) = ({last})")
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)
    else:
        with sqlite3.connect(address) as connection:
            connection.execute(statements[0])
        connection.close()


def test_a_store_that_goes_back_is_refused_until_it_is_accepted(address, caplog):
    with Engine.open(make_config(address)) as engine:
        fill(engine, 10)
        cut(address, after=11)
        with pytest.raises(HistoryLost, match="has gone back from event 21 to event 11: 10 that were acknowledged"):
            engine.decide("ads", event_id="u20")
        with pytest.raises(HistoryLost):
            engine.outcome("ads", "u1", 1.0)
        wait(lambda: not engine.health()["is_writable"])
        assert "has gone back" in str(engine.health()["error"])
        assert sum("has gone back" in record.getMessage() for record in caplog.records) == 1
        store = open_store(address)
        assert accept_history(store, "the standby lagged", by="ana") == {"ads": 11}
        store.close()
        wait(lambda: engine.health()["is_writable"])
        assert engine.state("ads")["outcomes"] == 5
        fill(engine, 3, first=30)
        assert engine.state("ads")["learnt"] == 8
        accepted = engine.last_event("ads", "accepted")
        assert (accepted.body["reason"], accepted.body["by"]) == ("the standby lagged", "ana")
        here = engine.fingerprint("ads")
    with Engine.open(make_config(address)) as engine:
        assert engine.fingerprint("ads") == here
    result = CliRunner().invoke(app, ["store", "verify", address])
    assert result.exit_code == 0, result.output


def test_a_history_that_was_swapped_is_refused(address, another):
    clock = Clock()
    with Engine.open(make_config(another), clock=clock) as engine:
        fill(engine, 5)
        other = engine.events("ads")[-1].hash
    with Engine.open(make_config(address), clock=clock) as engine:
        fill(engine, 5)
        statement = f"UPDATE events SET hash = '{other[::-1]}' WHERE sequence = 11"
        with psycopg.connect(address) if address.startswith("postgres") else sqlite3.connect(address) as connection:
            connection.execute(statement)
            if address.startswith("postgres"):
                connection.execute(f"UPDATE heads SET hash = '{other[::-1]}'")
        with pytest.raises(HistoryLost, match="is not the one that was folded: its history was swapped"):
            engine.decide("ads")


@pytest.mark.parametrize("place", ["nothing", "a new store", "an old copy"])
def test_a_file_that_is_moved_away_under_the_service_takes_no_more_answers(tmp_path, place):
    """SQLite would go on writing to the open file, which nobody finds again."""
    path = tmp_path / "events.sqlite"
    with Engine.open(make_config(str(path))) as engine:
        fill(engine, 3)
    shutil.copy(path, tmp_path / "copy.sqlite")
    with Engine.open(make_config(str(path))) as engine:
        fill(engine, 3, first=10)
        for file in tmp_path.glob("events.sqlite*"):
            if file.suffix != ".anchor":
                file.rename(tmp_path / f"old-{file.name}")
        if place == "a new store":
            open_store(str(path)).close()
        elif place == "an old copy":
            shutil.copy(tmp_path / "copy.sqlite", path)
        with pytest.raises(StoreUnavailable if place == "nothing" else HistoryLost):
            engine.decide("ads")
        wait(lambda: not engine.health()["is_writable"])


def test_events_changed_by_hand_are_noticed_by_a_replica(postgres):
    address = postgres.new_store()
    with Engine.open(make_config(address)) as one, Engine.open(make_config(address)) as other:
        fill(one, 3)
        wait(lambda: other.state("ads")["outcomes"] == 3)
        with psycopg.connect(address, autocommit=True) as connection:
            rows = "sequence + 1, experiment, 'frozen', NULL, time, NULL, '{}', hash"
            connection.execute(f"INSERT INTO events SELECT {rows} FROM events WHERE sequence = 7")
            connection.execute("UPDATE heads SET sequence = 8")
        wait(lambda: not other.health()["is_writable"])
        assert "does not follow the event before it" in str(other.health()["error"])


LOSSES = {
    "the write-ahead log was deleted": "wal",
    "the file is empty": "empty",
    "an old copy was put back": "copy",
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
def test_a_lost_tail_is_found_by_its_anchor(tmp_path, loss):
    path = tmp_path / "events.sqlite"
    config, clock = make_config(str(path)), Clock()
    with Engine.open(config, clock=clock) as engine:
        fill(engine, 3)
    shutil.copy(path, tmp_path / "copy.sqlite")
    engine = Engine.open(config, clock=clock)
    reader = sqlite3.connect(path)  # keeps the write-ahead log from being folded into the file
    reader.execute("SELECT count(*) FROM events").fetchone()
    fill(engine, 3, first=10)
    engine.close()
    assert (tmp_path / "events.sqlite-wal").stat().st_size > 0
    files = {file: file.read_bytes() for file in tmp_path.glob("events.sqlite*")}
    reader.close()
    for file in tmp_path.glob("events.sqlite-*"):
        file.unlink()
    path.write_bytes({"wal": files[path], "empty": b"", "copy": (tmp_path / "copy.sqlite").read_bytes()}[loss])
    result = CliRunner().invoke(app, ["store", "verify", str(path)])
    assert result.exit_code == 1, result.output
    with pytest.raises(
        HistoryLost, match="another store" if loss == "empty" else "events that were acknowledged are lost"
    ):
        Engine.open(config, clock=clock)
    if loss != "empty":
        result = CliRunner().invoke(app, ["store", "accept", str(path), "--reason", "the disk is gone"])
        assert "ads: goes on from event 7." in result.output
        with Engine.open(config, clock=clock) as engine:
            assert engine.state("ads")["outcomes"] == 3
        assert CliRunner().invoke(app, ["store", "verify", str(path)]).exit_code == 0


def test_a_loss_may_be_accepted_beforehand(tmp_path, caplog):
    config = make_config(str(tmp_path / "events.sqlite"), after_loss="go on")
    with Engine.open(config) as engine:
        fill(engine, 5)
        cut(config.store, after=5)
        with pytest.raises(HistoryLost):  # this group was decided by a state that is gone
            engine.decide("ads")
        assert engine.decide("ads").version == 6
        assert engine.state("ads")["outcomes"] == 2
        cut(config.store, after=3)
    with Engine.open(config) as engine:
        assert engine.state("ads")["outcomes"] == 1
    assert sum("after_loss is 'go on'" in record.getMessage() for record in caplog.records) == 2


def test_a_service_without_an_anchor_still_opens(tmp_path):
    config = make_config(str(tmp_path / "events.sqlite"))
    with Engine.open(config) as engine:
        fill(engine, 2)
    assert (tmp_path / "events.sqlite.anchor").stat().st_mode & 0o777 == 0o600
    (tmp_path / "events.sqlite.anchor").unlink()
    with Engine.open(config) as engine:
        assert engine.state("ads")["outcomes"] == 2


def test_a_snapshot_of_another_history_is_dropped(tmp_path, caplog):
    path = str(tmp_path / "events.sqlite")
    with Engine.open(make_config(path)) as engine:
        fill(engine, 5)
        engine._ledgers["ads"].save_snapshot(every=1)
    cut(path, after=7)
    (tmp_path / "events.sqlite.anchor").unlink()
    with caplog.at_level(logging.WARNING), Engine.open(make_config(path)) as engine:
        assert engine.state("ads")["outcomes"] == 3
    assert "of another history" in caplog.text
