"""A ledger among others: what it may not do with a fold or a history that is not whole."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headstart.errors import ContextError, OutcomeError
from headstart.serve import StoreUnavailable
from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.asks import CloseAsk, SteerAsk, as_decide, as_outcome
from headstart.serve.engine.ledger import Ledger
from headstart.serve.engine.sources import Sources
from headstart.serve.errors import HistoryLost
from headstart.serve.store import events as kinds
from headstart.serve.store.events import LOG_WITHDRAWN
from headstart.serve.store.questions import READ_CLOSED, READ_LEARNT
from headstart.serve.store.sqlite import SQLiteStore, connect_sqlite
from tests.serve.experiments import CONTEXTS, Clock, make_config, make_log


class _Failing(sqlite3.Connection):
    """Fails at a statement, once."""

    at = ""

    def execute(self, statement, *parameters):
        if self.at and statement == self.at:
            self.at = ""
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(statement, *parameters)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "events.sqlite")


def _config(path: str, **settings) -> ExperimentConfig:
    return make_config(path, **settings).experiments["ads"]


def _opened(path: str, config: ExperimentConfig, clock: Clock, connect=connect_sqlite) -> Ledger:
    ledger = Ledger(config, SQLiteStore(path, connect), Sources(), clock)
    ledger.open()
    return ledger


def _decide(ledger: Ledger, event_id: str):
    return ledger.run_group([as_decide(ledger.fold, {"event_id": event_id}, 0)])[0]


def test_a_fold_that_failed_while_it_caught_up_decides_nothing(path: str):
    """It went on with the rest of its turn, and decided by the state before the events that it could not fold."""
    clock, config = Clock(), _config(path, outcome_window=60, default_outcome=0.0)
    opened: list[sqlite3.Connection] = []

    def connect(place: str) -> sqlite3.Connection:
        opened.append(sqlite3.connect(place, isolation_level=None, check_same_thread=False, factory=_Failing))
        return opened[-1]

    first, second = _opened(path, config, clock), _opened(path, config, clock, connect)
    _decide(first, "u1")
    clock.seconds += 61
    first.run_group([CloseAsk("ads")])
    for connection in opened:
        connection.at = READ_CLOSED
    with pytest.raises(StoreUnavailable, match=r"cannot be folded: event 3: .*disk I/O error"):
        _decide(second, "u2")
    assert [event.kind for event in first.reader.events("ads")] == ["configuration", "decision", "window_closed"]
    second.look_after()
    assert second.broken is None
    assert _decide(second, "u2").version == 3
    for ledger in (first, second):
        ledger.store.close()


def test_a_request_is_fitted_again_where_another_process_changed_the_bounds(path: str):
    """The log's range had taken the number; without the log there is none, and the number is beyond all measure."""
    clock, sources = Clock(), Sources()
    config = _config(path, oracle="ABTest", evaluator="IPSWeighting", contexts=CONTEXTS, log=make_log())
    first, second = (Ledger(config, SQLiteStore(path), sources, clock) for _ in range(2))
    for ledger in (first, second):
        ledger.open()
    wild = as_decide(second.fold, {"context": {"age": 1e200, "likes": "images"}, "event_id": "u1"}, 0)
    first.run_group([SteerAsk("ads", LOG_WITHDRAWN, {})])
    (answer,) = second.run_group([wild])
    assert isinstance(answer, ContextError)
    assert "must be within" in str(answer)
    for ledger in (first, second):
        ledger.store.close()


def test_a_longer_history_that_was_swapped_in_is_refused_until_it_is_accepted(path: str, tmp_path: Path):
    """As many events as were folded and more, but others: the hash that the next event follows is not ours."""
    clock, config = Clock(), _config(path)
    ledger = _opened(path, config, clock)
    _decide(ledger, "kept")
    _decide(ledger, "lost")
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM events WHERE sequence > 2")
    connection.close()
    other = _opened(path, config, clock)
    for i in range(3):
        _decide(other, f"another {i}")
    with pytest.raises(HistoryLost, match=r"event 4 of 'ads' does not follow .*swapped for another history"):
        ledger.run_group([as_outcome(ledger.fold, "lost", 1.0)])
    ledger.look_after()
    assert "swapped" in (ledger.status.error or "")
    assert len(list(other.reader.events("ads"))) == 5
    for each in (ledger, other):
        each.store.close()


def test_nothing_is_taken_while_the_policy_cannot_be_folded_anew(path: str):
    """An outcome of 7 was recorded for a policy of rates: what it can learn is not known while it is not built."""
    clock, config = Clock(), _config(path, oracle="ThompsonBeta")
    opened: list[_Failing] = []

    def connect(place: str) -> sqlite3.Connection:
        opened.append(sqlite3.connect(place, isolation_level=None, check_same_thread=False, factory=_Failing))
        return opened[-1]

    def fail_to_read() -> None:
        for connection in opened:
            connection.at = READ_LEARNT

    ledger = _opened(path, config, clock, connect)
    for event_id in ("u1", "u2"):
        _decide(ledger, event_id)
    ledger.run_group([as_outcome(ledger.fold, "u1", 1.0)])
    fail_to_read()
    ledger.run_group([SteerAsk("ads", kinds.ROLLED_BACK, {"to": ledger.fold.version, "reason": ""})])
    fail_to_read()
    with pytest.raises(StoreUnavailable, match="cannot be folded anew now"):
        ledger.run_group([as_outcome(ledger.fold, "u2", 7.0)])
    (answer,) = ledger.run_group([as_outcome(ledger.fold, "u2", 7.0)])
    assert isinstance(answer, OutcomeError)


def test_a_store_that_is_silent_when_the_role_is_asked_for_is_a_store_that_fails(path: str):
    """It was a `no` from another process, so the service said that it was ready until the next call had failed."""
    ledger = _opened(path, _config(path), Clock())
    ledger.look_after()
    assert ledger.is_folder
    ledger.store.is_folder = _raise_silence
    ledger._looked = -1e9  # a while later
    ledger.look_after()
    assert not ledger.is_folder
    assert ledger.status.error == "silent"


def _raise_silence(experiment: str) -> bool:
    raise StoreUnavailable("silent")
