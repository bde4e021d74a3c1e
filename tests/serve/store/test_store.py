"""Stores: migrations, snapshots, and what the schema itself forbids."""

import sqlite3
import time

import psycopg
import pytest

from headstart.errors import LogError, OptionError
from headstart.serve import Engine, StoreCorrupt, StoreUnavailable
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from headstart.serve.store import questions, schema, sqlite
from tests.serve.experiments import CONTEXTS, Clock, make_config, make_log
from tests.serve.ready import fill_store


def run_sql(address, *statements):
    if address.startswith("postgresql://"):
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)
        return
    connection = sqlite3.connect(address, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def as_of_version(address, version, target):
    """The events of a store in the tables of an earlier version, where all experiments had one row of numbers."""
    store = open_store(address)
    columns = "sequence, experiment, kind, event_id, time, about, body"
    rows = [
        (2 * sequence, experiment, kind, event_id, time, about and 2 * about, body)
        for sequence, experiment, kind, event_id, time, about, body in store.query(f"SELECT {columns} FROM events")
    ]
    store.close()
    is_postgres = target.startswith("postgresql://")
    steps = (schema.POSTGRES if is_postgres else schema.SQLITE)[:version]
    run_sql(target, schema.VERSIONS, *(statement for step in steps for statement in step.before))
    run_sql(target, *(f"INSERT INTO schema_version VALUES ({n + 1})" for n in range(version)))
    insert = f"INSERT INTO events ({columns}) VALUES ({', '.join(['%s' if is_postgres else '?'] * 7)})"
    if is_postgres:
        with psycopg.connect(target, autocommit=True) as connection:
            connection.cursor().executemany(insert, rows)
    else:
        connection = sqlite3.connect(target)
        connection.executemany(insert, rows)
        connection.commit()
        connection.close()


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_of_an_earlier_version_is_brought_up_to_date_and_folds_the_same(address, another, version):
    config, clock = make_config(address), Clock()
    with Engine.open(config, clock=clock) as engine:
        for i in range(10):
            engine.outcome("ads", engine.decide("ads", event_id=f"u{i}").event_id, 1.0)
        before = engine.state("ads")["actions"]
    as_of_version(address, version, another)
    with Engine.open(make_config(another), clock=clock) as engine:
        assert engine.state("ads")["actions"] == before
        assert len(engine.events("ads")) == 21
        assert engine.decide("ads").version == engine.state("ads")["version"] == 42
    store = open_store(another)
    assert store.query("SELECT max(version) FROM schema_version")[0][0] == schema.CURRENT
    assert verify_store(store.query).events == 22
    store.close()


def test_a_store_of_before_there_were_units_gets_their_indices(address):
    """Version 3 as it was: the same tables without the two indices."""
    with Engine.open(make_config(address)) as engine:
        for i in range(5):
            engine.outcome("ads", engine.decide("ads", event_id=f"u{i}").event_id, 1.0)
        before = engine.fingerprint("ads")
    run_sql(address, "DROP INDEX by_unit", "DROP INDEX by_decision", "DELETE FROM schema_version WHERE version = 4")
    with Engine.open(make_config(address)) as engine:
        assert engine.fingerprint("ads") == before
        first, again = engine.decide("ads", unit="c1"), engine.decide("ads", unit="c1")
        assert again.follows == first.event_id


def test_a_store_of_a_newer_headstart_is_left_alone(address):
    open_store(address).close()
    run_sql(address, "INSERT INTO schema_version VALUES (99)")
    with pytest.raises(StoreCorrupt, match="schema version 99: a newer headstart wrote it"):
        open_store(address)


def test_the_schema_itself_forbids_a_second_decision(address):
    with Engine.open(make_config(address)) as engine:
        engine.decide("ads", event_id="u1")
    again = (
        "INSERT INTO events SELECT sequence + 100, experiment, kind, event_id, time, about, body, hash FROM events"
    )
    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.UniqueViolation)):
        run_sql(address, f"{again} WHERE kind = 'decision'")


def test_a_snapshot_and_what_came_after_it_are_the_whole(address):
    config, clock = make_config(address, oracle="ThompsonBeta"), Clock()
    with Engine.open(config, clock=clock) as engine:
        ids = [engine.decide("ads").event_id for _ in range(30)]
        for event_id in ids[:10]:
            engine.outcome("ads", event_id, 0.4)  # a draw of the oracle's own decides what it counts as
        engine._ledgers["ads"].save_snapshot(every=1)
        for event_id in ids[10:]:
            engine.outcome("ads", event_id, 0.4)
        whole = engine.fingerprint("ads")
    with Engine.open(config, clock=clock) as engine:
        assert engine.fingerprint("ads") == whole
    run_sql(address, "DELETE FROM snapshots")
    with Engine.open(config, clock=clock) as engine:
        assert engine.fingerprint("ads") == whole


def test_a_snapshot_of_another_format_is_not_read(address):
    config, clock = make_config(address), Clock()
    with Engine.open(config, clock=clock) as engine:
        engine.outcome("ads", engine.decide("ads").event_id, 1.0)
        engine._ledgers["ads"].save_snapshot(every=1)
        whole = engine.fingerprint("ads")
    run_sql(address, """UPDATE snapshots SET body = '{"format":0}'""")
    with Engine.open(config, clock=clock) as engine:
        assert engine.fingerprint("ads") == whole


def test_two_snapshots_are_kept(address):
    with Engine.open(make_config(address)) as engine:
        for _ in range(5):
            engine.decide("ads")
            engine._ledgers["ads"].save_snapshot(every=1)
        assert engine._store.query("SELECT count(*) FROM snapshots")[0][0] == 2


def test_a_store_is_folded_quickly(tmp_path):
    """20,000 events without a snapshot; the campaign does 100,000 in under 2 s. Ten times the expected time."""
    address = str(tmp_path / "events.sqlite")
    fill_store(address, 20_000)
    started = time.perf_counter()
    with Engine.open(make_config(address)) as engine:
        assert time.perf_counter() - started < 4.0
        assert engine.health()["position"] >= 20_000


def test_a_log_that_changed_is_a_new_warm_start(tmp_path):
    address = str(tmp_path / "events.sqlite")
    settings = {"contexts": CONTEXTS, "evaluator": "IPSWeighting", "schedule": "batch"}
    with Engine.open(make_config(address, log=make_log(100), **settings)) as engine:
        engine.outcome("ads", engine.decide("ads", {"age": 1, "likes": "videos"}).event_id, 1.0)
    with Engine.open(make_config(address, log=make_log(300), **settings)) as engine:
        kinds = [event.kind for event in engine.events("ads")]
        assert kinds == ["configuration", "warm_start", "decision", "outcome", "warm_start"]
        assert sum(a["policy"]["counts"] for a in engine.state("ads")["actions"]) == 301


def test_a_log_that_is_gone_is_an_error_that_says_so(tmp_path):
    address = str(tmp_path / "events.sqlite")
    settings = {"contexts": CONTEXTS, "evaluator": "IPSWeighting"}
    Engine.open(make_config(address, log=make_log(), **settings)).close()
    with pytest.raises(LogError, match="began with a log in memory"):
        Engine.open(make_config(address, log={"rows": "in memory"}, **settings))


def test_addresses_that_are_none_are_refused(tmp_path):
    with pytest.raises(OptionError, match="store must be a path or postgresql"):
        open_store("mysql://somewhere")
    with pytest.raises(StoreUnavailable, match="unable to open database file"):
        open_store(str(tmp_path / "no" / "folder.sqlite"))
    with pytest.raises(StoreUnavailable, match="PostgreSQL"):
        open_store("postgresql://127.0.0.1:1/nothing")


def test_what_is_asked_for_every_user_is_found_by_an_index(tmp_path):
    """Neither a turn nor the next page of events may become slower as the log grows."""
    path = str(tmp_path / "events.sqlite")
    open_store(path).close()
    connection = sqlite3.connect(path)
    for statement, index in (
        (sqlite._FIND, "one_per_id (experiment=? AND event_id=?)"),
        (questions.READ_HEAD, "PRIMARY KEY (experiment=?)"),
        (questions.READ_EVENTS, "PRIMARY KEY (experiment=? AND sequence>?)"),
        (questions.READ_DUE, "PRIMARY KEY (experiment=? AND sequence>?)"),
        (questions.READ_STEERING, "one_per_id (experiment=? AND event_id=? AND kind=?)"),
        (questions.READ_CLOSED, "one_per_id (experiment=? AND event_id=? AND kind=? AND sequence<?)"),
    ):
        parameters = ("x",) * statement.count("?")
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
        assert any(index in row[3] for row in plan), (statement, plan)
    connection.close()
