"""The n-th write, fsync, statement or commit fails: an error to the caller, nothing half-applied, reads go on.

`make test` takes every so-many-th n; `python -m tests.serve.campaign faults` takes every one.
"""

import sqlite3

import pytest

from headstart.serve import Engine, StoreUnavailable
from headstart.serve.store.sqlite import SQLiteStore
from tests.serve.experiments import Clock, make_config
from tests.serve.faults import count_calls, count_writes, run_failing_call, run_failing_write

STRIDE = 37


def test_every_so_many_writes_and_fsyncs_of_the_disk_may_fail(tmp_path, disk):
    n = count_writes(tmp_path, disk)
    assert n > 100
    errors = sum(run_failing_write(tmp_path, disk, i) for i in range(3, n, STRIDE))
    assert errors > 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_every_so_many_statements_may_fail(address, when):
    """ "after": the statement was carried out, and the answer was lost; a commit may have happened unseen."""
    n = count_calls(address, when)
    assert n > 50
    errors = sum(run_failing_call(f"{address}", when, i) for i in range(2, n, STRIDE))
    assert errors > 0


def test_on_a_full_disk_writes_fail_and_reads_go_on(tmp_path, disk):
    path, clock = str(tmp_path / "events.sqlite"), Clock()
    disk.heal()
    with Engine.open(make_config(path), clock=clock, store=SQLiteStore(path, disk.connect)) as engine:
        engine.decide("ads", event_id="before")
        disk.fail_at(0, goes_on=True)
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="database or disk is full"):
                engine.decide("ads", event_id="during")
            with pytest.raises(StoreUnavailable):
                engine.outcome("ads", "before", 1.0)
        assert disk.n_failed >= 6
        assert engine.state("ads")["decisions"] == 1
        assert [row["event_id"] for row in engine.export("ads")] == ["before"]
        assert not engine.health()["is_writable"]
        disk.heal()
        assert engine.outcome("ads", "before", 1.0).status == "applied"
        engine.decide("ads", event_id="during")
        assert engine.health()["is_writable"]
        assert engine.state("ads")["decisions"] == 2


def test_a_file_that_has_reached_its_limit_is_a_full_disk(tmp_path):
    """SQLite's own limit of pages, without the shim."""
    path = str(tmp_path / "events.sqlite")
    Engine.open(make_config(path)).close()

    def connect(place: str) -> sqlite3.Connection:
        connection = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        return connection

    def decide_until_full(engine: Engine) -> None:
        for _ in range(1000):
            engine.decide("ads")

    with Engine.open(make_config(path), store=SQLiteStore(path, connect)) as engine:
        with pytest.raises(StoreUnavailable, match="full"):
            decide_until_full(engine)
        n = engine.state("ads")["decisions"]
        assert n == len(list(engine.export("ads")))


def test_a_group_fails_as_a_whole(tmp_path, disk):
    path = str(tmp_path / "events.sqlite")
    disk.heal()
    with Engine.open(make_config(path), store=SQLiteStore(path, disk.connect)) as engine:
        disk.fail_at(2)
        with pytest.raises(StoreUnavailable):
            engine.decide_many("ads", [{"event_id": str(i)} for i in range(50)])
        assert engine.state("ads")["decisions"] == 0
        assert list(engine.export("ads")) == []
