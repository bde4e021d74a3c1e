"""Stores for tests: a SQLite file, and a schema of a real PostgreSQL."""

import random
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.failing_disk import FailingDisk
from tests.serve.postgres_server import PostgresServer
from tests.serve.ready import fill_store

_drawn = random.Random()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What the service draws for itself (seeds, event ids) is the test's own: a test that passes, passes again."""
    _drawn.seed(item.nodeid)


@pytest.fixture(scope="session", autouse=True)
def _drawn_secrets() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "token_hex", lambda n=None: _drawn.randbytes(n or 32).hex())
        patch.setattr(secrets, "randbits", _drawn.getrandbits)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of a process."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def disk() -> FailingDisk:
    """The one of the process: SQLite keeps it."""
    return FailingDisk()


@pytest.fixture(params=["sqlite", "postgres"])
def kind_of_store(request: pytest.FixtureRequest) -> str:
    """Both kinds, one after the other."""
    return str(request.param)


@pytest.fixture
def address(kind_of_store: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of each kind."""
    return _new_store(kind_of_store, request, tmp_path / "events.sqlite")


@pytest.fixture
def another(kind_of_store: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A second one of the same kind."""
    return _new_store(kind_of_store, request, tmp_path / "another.sqlite")


def _new_store(kind: str, request: pytest.FixtureRequest, path: Path) -> str:
    if kind == "sqlite":
        return str(path)
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_store()


@pytest.fixture(scope="session")
def filled_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite store of 100,000 events, with a snapshot of the policy and none of the report."""
    path = tmp_path_factory.mktemp("filled") / "events.sqlite"
    fill_store(str(path), 100_000, keeps_snapshots=True)
    return path


@pytest.fixture
def long_store(filled_store: Path, tmp_path: Path) -> str:
    """A copy of it."""
    return str(shutil.copy(filled_store, tmp_path / "events.sqlite"))
