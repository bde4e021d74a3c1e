"""Stores for tests: a SQLite file, and a schema of a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of a process."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "events.sqlite")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_store()
