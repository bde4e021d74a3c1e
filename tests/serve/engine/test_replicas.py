"""Two replicas on one PostgreSQL under load."""

import threading

import psycopg
import pytest

from headstart.serve import Engine
from headstart.serve.errors import HistoryLost
from tests.serve.experiments import Clock, make_config
from tests.serve.replicas import run_replicas
from tests.serve.waiting import wait


def test_two_replicas_apply_everything_once_and_fold_the_same(postgres):
    result = run_replicas(postgres.new_store(), n_replicas=2, n_users=150)
    first, second = result["told"]
    assert first["decisions"] == second["decisions"]
    assert len(first["decisions"]) == 150
    assert sorted(first["applied"] + second["applied"]) == sorted(first["decisions"])
    assert first["applied"]
    assert second["applied"]
    assert result["folds"][0]["fold"] == result["folds"][1]["fold"]
    assert sorted(fold["is_folder"] for fold in result["folds"]) == [False, True]
    assert result["verdict"].faults == []
    assert result["verdict"].fingerprints["ads"].decode() == result["folds"][0]["fold"]
    assert (result["verdict"].decisions, result["verdict"].outcomes) == (150, 150)


def test_the_same_id_on_two_replicas_at_once_is_one_decision(address):
    """On SQLite too: two processes may share the file."""
    clock = Clock()
    with (
        Engine.open(make_config(address), clock=clock) as one,
        Engine.open(make_config(address), clock=clock) as other,
    ):
        answers = {}

        def ask(engine: Engine, name: str) -> None:
            answers[name] = [engine.decide("ads", event_id=f"u{i}") for i in range(40)]

        threads = [threading.Thread(target=ask, args=pair) for pair in ((one, "one"), (other, "other"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers["one"] == answers["other"]
        assert len(list(one.export("ads"))) == 40


def test_a_replica_follows_the_others_and_takes_over_from_the_folder(postgres):
    address, clock = postgres.new_store(), Clock()
    config = make_config(address, outcome_window=60, default_outcome=0.0)
    with Engine.open(config, clock=clock) as other:
        with Engine.open(config, clock=clock) as folder:
            event_id = other.decide("ads").event_id
            assert folder.outcome("ads", event_id, 1.0).status == "waiting"
            wait(lambda: other.state("ads")["outcomes"] == 1)
            wait(lambda: sorted(engine.health()["is_folder"] for engine in (folder, other)) == [False, True])
        clock.seconds += 61
        wait(lambda: other.state("ads")["learnt"] == 1)
        assert other.health()["is_folder"]


def test_a_new_configuration_reaches_the_other_replica(postgres):
    address, clock = postgres.new_store(), Clock()
    with Engine.open(make_config(address), clock=clock) as old:
        old.outcome("ads", old.decide("ads").event_id, 1.0)
        with Engine.open(make_config(address, epsilon=1.0), clock=clock) as new:
            assert new.decide("ads").probabilities == (0.5, 0.5)
            assert old.decide("ads").probabilities == (0.5, 0.5)
            wait(lambda: old.fingerprint("ads") == new.fingerprint("ads"))


def test_a_restarted_server_is_found_again(postgres):
    """PostgreSQL goes down as if the power had gone, and comes back: the engine goes on by itself."""
    address = postgres.new_store()
    with Engine.open(make_config(address)) as engine:
        first = engine.decide("ads", event_id="u1")
        postgres.stop("immediate")
        postgres.start()
        assert engine.decide("ads", event_id="u1") == first
        assert engine.outcome("ads", "u1", 1.0).status == "applied"
        assert engine.health()["lag"] == 0


def test_a_failover_to_a_standby_that_lagged_is_refused_by_all_until_somebody_accepts_it(postgres, caplog):
    """The last ten events were not yet on the standby: as if a dump of an earlier moment stood in its place."""
    address = postgres.new_store()
    with Engine.open(make_config(address)) as one, Engine.open(make_config(address)) as other:
        for i in range(20):
            one.decide("ads", event_id=f"u{i}")
        wait(lambda: other.state("ads")["decisions"] == 20)
        with psycopg.connect(address, autocommit=True) as standby:
            standby.execute("DELETE FROM events WHERE sequence > 11")
            last = "SELECT sequence, time, hash FROM events WHERE sequence = 11"
            standby.execute(f"UPDATE heads SET (sequence, time, hash) = ({last})")
        for engine in (one, other):
            for _ in range(3):
                with pytest.raises(HistoryLost, match="has gone back from event 21 to event 11"):
                    engine.decide("ads", event_id="new")
            assert "has gone back" in engine.health()["error"]
            assert not engine.health()["is_writable"]
        told = [record for record in caplog.records if "has gone back" in record.getMessage()]
        assert len(told) == 2  # once by each
        with psycopg.connect(address, autocommit=True) as accepted:
            accepted.execute("UPDATE identity SET epoch = epoch + 1")
        wait(lambda: all(engine.health()["is_writable"] for engine in (one, other)))
        assert one.decide("ads", event_id="new") == other.decide("ads", event_id="new")
        wait(lambda: one.fingerprint("ads") == other.fingerprint("ads"))
        assert one.state("ads")["decisions"] == 11
