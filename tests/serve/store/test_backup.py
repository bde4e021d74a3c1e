"""Backups taken beside traffic, restored into either kind of store; files that belong to somebody else."""

import sqlite3
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headstart.cli import app
from headstart.errors import OptionError
from headstart.serve import Engine, StoreCorrupt
from headstart.serve.store.backup import back_up, restore
from tests.serve.experiments import Clock, make_config


def fill(engine, n, first=0):
    for i in range(first, first + n):
        engine.outcome("ads", engine.decide("ads", event_id=f"u{i}").event_id, float(i % 2))


def test_a_backup_beside_traffic_is_a_state_that_the_store_was_in(address, another, tmp_path):
    copy = tmp_path / "backup.sqlite"
    with Engine.open(make_config(address)) as engine:
        fill(engine, 20)
        done = threading.Event()

        def go_on():
            i = 100
            while not done.is_set():
                fill(engine, 1, first=i)
                i += 1

        traffic = threading.Thread(target=go_on)
        traffic.start()
        n = back_up(address, copy)
        done.set()
        traffic.join()
        assert n >= 41
        whole = engine.events("ads", limit=10**6)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert CliRunner().invoke(app, ["store", "verify", str(copy)]).exit_code == 0
    assert restore(copy, another) == n
    with Engine.open(make_config(another)) as engine:
        restored = engine.events("ads", limit=10**6)
        assert restored == whole[:n]
        fill(engine, 2, first=1000)
    assert CliRunner().invoke(app, ["store", "verify", another]).exit_code == 0


def test_a_restored_store_begins_an_epoch_so_that_its_anchor_lets_it_in(tmp_path):
    """The service had gone on after the backup: its anchor knows more than the backup has."""
    path, copy = tmp_path / "events.sqlite", tmp_path / "backup.sqlite"
    config = make_config(str(path))
    with Engine.open(config) as engine:
        fill(engine, 5)
        back_up(str(path), copy)
        fill(engine, 5, first=10)
    for file in tmp_path.glob("events.sqlite*"):
        if file.suffix != ".anchor":
            file.unlink()
    result = CliRunner().invoke(app, ["store", "restore", str(copy), str(path)])
    assert result.exit_code == 0, result.output
    with Engine.open(config) as engine:
        assert engine.state("ads")["outcomes"] == 5


def test_nothing_is_written_over(tmp_path):
    path = tmp_path / "events.sqlite"
    with Engine.open(make_config(str(path))) as engine:
        fill(engine, 1)
        back_up(str(path), tmp_path / "backup.sqlite")
    with pytest.raises(OptionError, match="is there already: nothing is written over"):
        back_up(str(path), tmp_path / "backup.sqlite")
    with pytest.raises(OptionError, match="is there already: nothing is written over"):
        restore(tmp_path / "backup.sqlite", str(path))
    with pytest.raises(OptionError, match="there is no store at"):
        back_up(str(tmp_path / "none.sqlite"), tmp_path / "new.sqlite")


def make_strange(path: Path) -> bytes:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE customers (name TEXT)")
    connection.commit()
    connection.close()
    return path.read_bytes()


def test_a_strangers_database_is_left_as_it_is(tmp_path):
    path = tmp_path / "crm.sqlite"
    before = make_strange(path)
    result = CliRunner().invoke(app, ["store", "verify", str(path)])
    assert result.exit_code == 1
    assert "is no store of headstart" in str(result.exception)
    with pytest.raises(StoreCorrupt, match="is a database of something else: it has the tables customers"):
        Engine.open(make_config(str(path)))
    assert path.read_bytes() == before  # its journal's mode too
    with pytest.raises(StoreCorrupt):
        back_up(str(path), tmp_path / "backup.sqlite")
    assert [file.name for file in tmp_path.iterdir()] == ["crm.sqlite"]


def test_verify_writes_nothing(tmp_path):
    path = tmp_path / "events.sqlite"
    with Engine.open(make_config(str(path))) as engine:
        fill(engine, 3)
    path.chmod(0o400)
    before = path.read_bytes()
    assert CliRunner().invoke(app, ["store", "verify", str(path)]).exit_code == 0
    assert path.read_bytes() == before


def test_garbage_pages_are_found_at_the_start(tmp_path):
    path, clock = tmp_path / "events.sqlite", Clock()
    config = make_config(str(path))
    with Engine.open(config, clock=clock) as engine:
        for _ in range(3):
            engine.decide_many("ads", [{}] * 500)
    content = bytearray(path.read_bytes())
    content[40960 : 40960 + 4096] = bytes(range(256)) * 16
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match=r"is damaged .*restore a backup by `headstart store restore`"):
        Engine.open(config, clock=clock)
    assert CliRunner().invoke(app, ["store", "verify", str(path)]).exit_code == 1


def test_a_store_is_for_its_owner_alone(tmp_path):
    path = tmp_path / "events.sqlite"
    with Engine.open(make_config(str(path))) as engine:
        engine.decide("ads")
        assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("events.sqlite*")} == {0o600}


def test_a_backup_is_not_restored_beside_the_write_ahead_log_of_another_file(tmp_path):
    """Only the file itself was moved away after a crash: SQLite would read the old log into the restored store."""
    path, copy = tmp_path / "events.sqlite", tmp_path / "backup.sqlite"
    with Engine.open(make_config(str(path))) as engine:
        fill(engine, 3)
        back_up(str(path), copy)
        fill(engine, 3, first=10)
        crashed = {file: file.read_bytes() for file in tmp_path.glob("events.sqlite-*")}
    path.unlink()
    for file, content in crashed.items():
        file.write_bytes(content)
    with pytest.raises(OptionError, match=r"events.sqlite-wal is there already"):
        restore(copy, str(path))
    assert not path.exists()
    for file in crashed:
        file.unlink()
    assert restore(copy, str(path)) == 7


def test_a_store_that_was_not_restored_to_its_end_is_refused(tmp_path, postgres, monkeypatch):
    """Each page of a restore is sound in itself; a process that ends between two of them leaves half a history."""
    path, copy, address = tmp_path / "events.sqlite", tmp_path / "backup.sqlite", postgres.new_store()
    with Engine.open(make_config(str(path))) as engine:
        fill(engine, 5)
    back_up(str(path), copy)
    monkeypatch.setattr("headstart.serve.store.backup.PAGE", 4)

    def end(n):
        if n >= 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore(copy, address, end)
    with pytest.raises(StoreCorrupt, match="was not restored to its end"):
        Engine.open(make_config(address))
    result = CliRunner().invoke(app, ["store", "verify", address])
    assert result.exit_code == 1
    with pytest.raises(StoreCorrupt, match="drop the schema"):
        restore(copy, address)
    another = postgres.new_store()
    assert restore(copy, another) == 11
    with Engine.open(make_config(another)) as engine:
        assert engine.state("ads")["outcomes"] == 5
