"""Stores of every released version, opened with the present code: migrated, sound, and folded to the same.

write_store.py wrote them, and beside each what it said of itself when it was written.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from headstart.serve import Engine
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from headstart.serve.store.schema import CURRENT
from tests.serve.experiments import Clock
from tests.serve.stores.write_store import FOLDER, ask, read_config

STORES = sorted(path.stem for path in FOLDER.glob("*.sqlite"))


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A copy of a kept store, in a folder with its log."""
    name: str = request.param
    shutil.copy(FOLDER / f"{name}.sqlite", tmp_path / "events.sqlite")
    shutil.copy(FOLDER / f"{name}.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    return name


def test_there_is_a_store_of_each_schema_that_was_released():
    assert {f"0.1.0-schema{version}" for version in range(2, CURRENT + 1)} <= set(STORES)


def test_a_kept_store_folds_to_what_it_was(store: str):
    """Nothing is declared anew by opening it: the next decisions come from the state that it had."""
    told = json.loads((FOLDER / f"{store}.json").read_text(encoding="utf-8"))
    with Engine.open(read_config(store), store=open_store("events.sqlite"), clock=Clock(told["time"])) as engine:
        for name, expected in told["experiments"].items():
            found = ask(engine, name)
            assert found["kinds"] == expected["kinds"], name
            assert len(found["decisions"]) == len(expected["decisions"]), name
            _agree(expected, found, name)


def test_a_kept_store_verifies(store: str):
    opened = open_store("events.sqlite")
    verdict = verify_store(opened.query)
    opened.close()
    told = json.loads((FOLDER / f"{store}.json").read_text(encoding="utf-8"))["experiments"].values()
    assert verdict.faults == []
    # Decisions for an erased person cannot be made again, nor those that learnt from them until the next snapshot.
    assert verdict.decided_again + verdict.redacted + verdict.clouded == verdict.decisions
    assert verdict.redacted == (3 if store == "0.1.0-schema4" else 0)
    assert verdict.decisions == sum(len(each["decisions"]) for each in told)
    assert verdict.events == sum(len(each["kinds"]) for each in told)


def _agree(expected: Any, found: Any, at: str) -> None:
    """Everything that was told is told again; what a later version tells besides is its own."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert name in found, f"{at}.{name} is no longer told"
            _agree(value, found[name], f"{at}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), at
        for i, (ours, theirs) in enumerate(zip(expected, found, strict=True)):
            _agree(ours, theirs, f"{at}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12), at
    else:
        assert found == expected, at
