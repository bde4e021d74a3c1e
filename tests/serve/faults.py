"""One failure at the n-th write, fsync or statement of a scripted scenario."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from headstart.serve import Engine
from headstart.serve.engine.opening import open_store
from headstart.serve.store.postgres import PostgresStore
from headstart.serve.store.sqlite import SQLiteStore
from headstart.serve.store.store import Store
from tests.serve.experiments import Clock, make_config
from tests.serve.failing_disk import FailingDisk
from tests.serve.scenario import GUARDED, Client, check_nothing_lost

_ORACLE = {"oracle": "ThompsonBeta", **GUARDED}


def count_writes(folder: Path, disk: FailingDisk) -> int:
    """Writes and fsyncs of the scenario when nothing fails."""
    _run_on_disk(str(folder / "counted.sqlite"), disk, -1)
    return disk.n


def run_failing_write(folder: Path, disk: FailingDisk, n: int) -> int:
    """The scenario with the n-th write or fsync failing; how many errors the client saw."""
    return _run_on_disk(str(folder / f"write-{n}.sqlite"), disk, n)


def _run_on_disk(path: str, disk: FailingDisk, n: int) -> int:
    clock, config = Clock(), make_config(path, **_ORACLE)
    disk.fail_at(n)
    with TemporaryDirectory() as archives:
        client = Client(
            lambda: Engine.open(config, clock=clock, store=SQLiteStore(path, disk.connect)), Path(archives)
        )
        client.run()
        counted = disk.n
        check_nothing_lost(client, lambda: Engine.open(config, clock=clock), lambda: open_store(path))
    disk.n = counted
    return client.n_errors


class _Calls:
    """Counts statements, and fails at one."""

    def __init__(self, fails_at: int, when: str) -> None:
        self.n, self.fails_at, self.when = 0, fails_at, when

    def run(self, real: Any, error: Exception) -> Any:
        n, self.n = self.n, self.n + 1
        if n != self.fails_at:
            return real()
        if self.when == "after":
            real()
        raise error


def _failing_store(address: str, calls: _Calls) -> Store:
    if address.startswith("postgresql://"):

        class FailingPostgres(psycopg.Connection):  # type: ignore[type-arg]
            def execute(self, *args: Any, **kwargs: Any) -> Any:
                def real() -> Any:
                    return psycopg.Connection.execute(self, *args, **kwargs)

                return calls.run(real, psycopg.OperationalError("injected"))

        return PostgresStore(address, FailingPostgres)

    class FailingSQLite(sqlite3.Connection):
        def execute(self, *args: Any) -> Any:
            return calls.run(lambda: sqlite3.Connection.execute(self, *args), sqlite3.OperationalError("injected"))

    def connect(path: str) -> sqlite3.Connection:
        return sqlite3.connect(path, 10.0, isolation_level=None, check_same_thread=False, factory=FailingSQLite)

    return SQLiteStore(address, connect)


def count_calls(address: str, when: str) -> int:
    """Statements of the scenario when nothing fails."""
    return _run_with_calls(_fresh(address, f"count_{when}"), _Calls(-1, when))[0]


def run_failing_call(address: str, when: str, n: int) -> int:
    """The scenario with the n-th statement failing; how many errors the client saw."""
    return _run_with_calls(_fresh(address, f"{when}_{n}"), _Calls(n, when))[1]


def _run_with_calls(address: str, calls: _Calls) -> tuple[int, int]:
    clock, config = Clock(), make_config(address, **_ORACLE)
    with TemporaryDirectory() as archives:
        client = Client(
            lambda: Engine.open(config, clock=clock, store=_failing_store(address, calls)), Path(archives)
        )
        client.run()
        n = calls.n
        check_nothing_lost(client, lambda: Engine.open(config, clock=clock), lambda: open_store(address))
    return n, client.n_errors


def _fresh(address: str, name: str) -> str:
    """An empty store beside this one."""
    if not address.startswith("postgresql://"):
        return f"{address}.{name}"
    base, _, schema = address.rpartition("%3D")
    with psycopg.connect(base.split("?")[0], autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}_{name}")
    return f"{address}_{name}"
