"""The anchor: what it remembers of each experiment, in whose epoch, and what it says when it cannot."""

import os
import shutil

import orjson
import pytest

from headstart.serve import Engine, load_config
from headstart.serve.engine.acceptance import accept_history
from headstart.serve.engine.anchor import Anchor, read_anchor
from headstart.serve.engine.opening import open_store
from headstart.serve.errors import HistoryLost
from headstart.serve.store.reader import Reader
from headstart.serve.store.store import Head

EXPERIMENT = {"actions": ["video", "image"], "oracle": {"name": "UCB", "beta": 0.5}, "seed": 7}


def config_of(path, *names):
    return load_config({"store": str(path), "experiments": dict.fromkeys(names, EXPERIMENT)})


def fill(engine, name, n):
    for _ in range(n):
        engine.outcome(name, engine.decide(name).event_id, 1.0)


def test_an_accepted_loss_stays_accepted_for_experiments_that_were_not_seen_since(tmp_path):
    """The process ends after one of two experiments was seen in the new epoch, or runs only one of them."""
    path = tmp_path / "events.sqlite"
    with Engine.open(config_of(path, "ads", "offers")) as engine:
        fill(engine, "ads", 2)
        fill(engine, "offers", 2)
    shutil.copy(path, tmp_path / "copy.sqlite")
    with Engine.open(config_of(path, "ads", "offers")) as engine:
        fill(engine, "ads", 2)
        fill(engine, "offers", 2)
    shutil.copy(tmp_path / "copy.sqlite", path)
    store = open_store(str(path))
    accept_history(store, "an old copy")
    store.close()
    with Engine.open(config_of(path, "ads")):
        pass
    with Engine.open(config_of(path, "ads", "offers")) as engine:
        assert engine.state("offers")["outcomes"] == 2
        assert not engine.health()["broken"]


def test_an_anchor_of_another_store_is_not_overwritten_by_an_experiment_that_it_does_not_know(tmp_path):
    path = tmp_path / "events.sqlite"
    with Engine.open(config_of(path, "ads")) as engine:
        fill(engine, "ads", 3)
    known = read_anchor(tmp_path / "events.sqlite.anchor")
    for file in tmp_path.glob("events.sqlite*"):
        if file.suffix != ".anchor":
            file.unlink()
    for _ in range(2):
        with pytest.raises(HistoryLost, match="another store"):
            Engine.open(config_of(path, "ads", "new"))
    assert read_anchor(tmp_path / "events.sqlite.anchor") == known


def test_an_anchor_that_cannot_be_written_is_said_once_and_when_it_can_be_again(tmp_path, caplog):
    place = tmp_path / "gone"
    place.mkdir()
    anchor = Anchor(place / "anchor")
    place.rmdir()
    for i in range(5):
        anchor.note("ads", Head(i, 0, "h", "store", 1), now=True)
    assert sum("cannot be written" in record.getMessage() for record in caplog.records) == 1
    place.mkdir()
    anchor.note("ads", Head(4, 0, "h", "store", 1), now=True)
    assert "is written again" in caplog.text
    assert orjson.loads((place / "anchor").read_bytes())["heads"] == {"ads": [1, 4, "h"]}


def test_an_anchor_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    Anchor(tmp_path / "anchor").note("ads", Head(1, 0, "h", "store", 1), now=True)
    assert len(synced) == 1
    assert synced[0].startswith(str(tmp_path / "anchor."))


def test_a_head_in_an_older_epoch_is_no_loss(tmp_path):
    path = tmp_path / "events.sqlite"
    with Engine.open(config_of(path, "ads")) as engine:
        fill(engine, "ads", 1)
    anchor = Anchor(tmp_path / "events.sqlite.anchor")
    store = open_store(str(path))
    head = Reader(store.query).head("ads")
    anchor.note("ads", head._replace(sequence=99, epoch=head.epoch))
    with pytest.raises(HistoryLost, match="had come to event 99"):
        anchor.check("ads", Reader(store.query))
    accept_history(store, "so be it")
    anchor.check("ads", Reader(store.query))
    store.close()
