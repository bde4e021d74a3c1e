"""A real failover: PostgreSQL's own streaming standby, cut off, takes over from a primary that died."""

import psycopg
import pytest
from typer.testing import CliRunner

from headstart.cli import app
from headstart.serve import Engine, StoreUnavailable
from headstart.serve.engine.acceptance import accept_history
from headstart.serve.engine.opening import open_store
from headstart.serve.errors import HistoryLost
from tests.serve.experiments import make_config
from tests.serve.postgres_server import PostgresServer
from tests.serve.waiting import wait


def fill(engine, first, n):
    for i in range(first, first + n):
        engine.outcome("ads", engine.decide("ads", event_id=f"u{i}").event_id, float(i % 2))


def await_standby(primary):
    """Wait until the standby has all that the primary has."""

    def has_all():
        with psycopg.connect(primary.address, autocommit=True) as connection:
            found = connection.execute(
                "SELECT bool_and(replay_lsn >= pg_current_wal_lsn()) FROM pg_stat_replication"
            ).fetchone()
        return bool(found and found[0])

    wait(has_all)


def test_a_standby_that_lagged_is_refused_and_folded_anew_once_it_is_accepted():
    """It lacks 40 events that were acknowledged: not one more is answered by a fold that knows them."""
    with PostgresServer() as primary:
        address = primary.new_store()
        with primary.standby() as standby, Engine.open(make_config(address)) as engine:
            fill(engine, 0, 50)
            await_standby(primary)
            standby.cut_off()
            fill(engine, 50, 20)
            standby.take_over()
            with pytest.raises(HistoryLost, match="has gone back"):
                _until_answered(engine)
            wait(lambda: not engine.health()["is_writable"])
            store = open_store(address)
            kept = accept_history(store, "the standby lagged", by="ana")["ads"]
            store.close()
            wait(lambda: engine.health()["is_writable"])
            assert engine.state("ads")["outcomes"] == 50  # of 70: said, and on the record
            assert kept == 101  # the configuration, 50 decisions and their outcomes
            fill(engine, 100, 10)
            assert engine.state("ads")["learnt"] == 60
            result = CliRunner().invoke(app, ["store", "verify", address])
            assert result.exit_code == 0, result.output


def _until_answered(engine):
    """While nobody answers at the address the store is unavailable; the first answer must be a refusal."""
    for _ in range(200):
        try:
            engine.decide("ads")
        except StoreUnavailable as error:
            if isinstance(error, HistoryLost):
                raise
            continue
        raise AssertionError("a decision was answered by a store that lacks what was acknowledged")
    raise AssertionError("the store never answered")
