"""Power cuts: the disk that is left when the power goes between any two operations.

What was written before a file's last fsync is there. Of what came after it each sector of 512 bytes is there or not,
as the drive pleased. On every such disk everything that had been acknowledged must be found, once.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

from headstart.serve import Engine
from headstart.serve.engine.verification import verify_store
from headstart.serve.store.read_only import reading
from headstart.serve.store.sqlite import SQLiteStore
from tests.serve.experiments import Clock, make_config
from tests.serve.failing_disk import FailingDisk, Operation

_SECTOR = 512
_ORACLE = {"oracle": "ThompsonBeta"}


class Acknowledged(NamedTuple):
    """What a client was told, and after how many operations of the disk."""

    n_operations: int
    event_id: str
    action: object
    propensity: float
    outcome: float | None  # None: the decision alone


def record_traffic(folder: Path, disk: FailingDisk, n_users: int) -> tuple[list[Operation], list[Acknowledged]]:
    """Decisions and outcomes on a new store; the write-ahead log is folded into the file every few commits."""
    path = str(folder / "recorded.sqlite")
    disk.heal()
    disk.recorded = operations = []

    def connect(place: str):  # type: ignore[no-untyped-def]
        connection = disk.connect(place)
        connection.execute("PRAGMA wal_autocheckpoint = 16")
        return connection

    told: list[Acknowledged] = []
    engine = Engine.open(make_config(path, **_ORACLE), clock=Clock(), store=SQLiteStore(path, connect))
    for i in range(n_users):
        decision = engine.decide("ads", event_id=f"u{i}")
        known = decision.event_id, decision.action, decision.propensity
        told.append(Acknowledged(len(operations), *known, None))
        if i % 3:
            engine.outcome("ads", f"u{i}", float(i % 2))
            told.append(Acknowledged(len(operations), *known, float(i % 2)))
    whole = list(operations)
    disk.recorded = None
    engine.close()
    return whole, told


def leave_disk(operations: list[Operation], rng: random.Random, folder: Path) -> Path:
    """The files as a power cut after these operations leaves them; the path of the store."""
    last_sync = {each.path: i for i, each in enumerate(operations) if each.kind == "sync"}
    files: dict[str, bytearray] = {}
    for i, operation in enumerate(operations):
        is_durable = i < last_sync.get(operation.path, -1) or operation.kind == "sync_delete"
        if operation.kind == "write":
            content = files.setdefault(operation.path, bytearray())
            for at in range(0, len(operation.data), _SECTOR):
                if is_durable or rng.random() < 0.5:
                    piece, start = operation.data[at : at + _SECTOR], operation.offset + at
                    content.extend(bytes(max(0, start + len(piece) - len(content))))
                    content[start : start + len(piece)] = piece
        elif operation.kind != "sync" and (is_durable or rng.random() < 0.5):
            if operation.kind == "cut":
                del files.setdefault(operation.path, bytearray())[operation.offset :]
            else:
                files.pop(operation.path, None)
    for path, content in files.items():
        (folder / Path(path).name).write_bytes(content)
    return folder / "recorded.sqlite"


def check_cut(store: Path, operations: int, told: list[Acknowledged]) -> int:
    """Open what is left; how many acknowledged answers were looked for. Raises if one is missing or changed."""
    config, clock = make_config(str(store), **_ORACLE), Clock()
    with Engine.open(config, clock=clock) as engine:
        rows = {row["event_id"]: row for row in engine.export("ads")}
        live = engine.fingerprint("ads")
    n = 0
    for each in told:
        if each.n_operations <= operations:
            n += 1
            row = rows[each.event_id]
            assert (row["action"], row["propensity"]) == (each.action, each.propensity)
            assert each.outcome is None or row["outcome"] == each.outcome
    with reading(str(store)) as query:
        verdict = verify_store(query)
    assert verdict.faults == []
    assert verdict.fingerprints["ads"] == live
    return n


def run_power_cuts(folder: Path, disk: FailingDisk, n_cuts: int, n_users: int, seed: int) -> int:
    """Cut the power at random moments of one recorded run; how many answers were looked for and found."""
    rng, found = random.Random(seed), 0
    operations, told = record_traffic(folder, disk, n_users)
    for cut in range(n_cuts):
        at = rng.randrange(told[0].n_operations, len(operations) + 1)
        left = folder / f"cut-{cut}"
        left.mkdir()
        found += check_cut(leave_disk(operations[:at], rng, left), at, told)
    return found
