"""Health: whether an engine can write and how far it has come, from memory, so at any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from headstart.serve.engine.ledger import Ledger
from headstart.serve.engine.writer import Writer

_HANG = 5.0  # seconds after which a turn of writing is said to hang


class ExperimentHealth(TypedDict):
    """One experiment's."""

    error: str | None  # why the last turn of writing failed; None after one that did not
    broken: str | None  # why there is no fold at present
    is_opening: bool  # it is folded for the first time
    is_hanging: bool  # the store has not answered for a while
    has_lost_history: bool  # events that were acknowledged are not in the store
    clock_behind: float  # seconds that the clock is behind the newest event; 0 within what clocks may differ by
    waiting: int  # requests before the writer
    position: int  # events folded
    lag: int  # events that this process has not folded
    is_folder: bool
    since_commit: float | None  # seconds since the last event was written by this process; None: none was


class Health(TypedDict):
    """Over all experiments."""

    is_writable: bool
    error: str | None
    broken: dict[str, str]  # experiments that have no fold at present, and why
    opening: list[str]  # those of them that are folded for the first time
    waiting: int  # requests before the writers
    position: int  # events folded
    lag: int  # events that this process has not folded
    is_folder: bool


def describe_health(ledger: Ledger, writer: Writer) -> ExperimentHealth:
    """One experiment, at this moment."""
    committed, position = ledger.status.committed, ledger.fold.position
    return {
        "error": ledger.status.error,
        "broken": ledger.broken,
        "is_opening": ledger.is_opening,
        "is_hanging": ledger.status.hangs(_HANG),
        "has_lost_history": ledger.status.has_lost,
        "clock_behind": ledger.clock_watch.behind,
        "waiting": writer.n_waiting,
        "position": position,
        "lag": max(0, ledger.newest - position),
        "is_folder": ledger.is_folder,
        "since_commit": None if committed is None else ledger.ticks() - committed,
    }


def sum_health(experiments: Mapping[str, ExperimentHealth]) -> Health:
    """Whether writing works, how many wait for it, and how far this process is behind the store."""
    each = experiments.values()
    errors = [one["error"] for one in each if one["error"] is not None]
    errors += [
        f"{name!r}: the store has not answered for {_HANG:g} s"
        for name, one in experiments.items()
        if one["is_hanging"]
    ]
    return {
        "is_writable": not errors,
        "error": errors[0] if errors else None,
        "broken": {name: one["broken"] for name, one in experiments.items() if one["broken"] is not None},
        "opening": [name for name, one in experiments.items() if one["is_opening"]],
        "waiting": sum(one["waiting"] for one in each),
        "position": sum(one["position"] for one in each),
        "lag": sum(one["lag"] for one in each),
        "is_folder": any(one["is_folder"] for one in each),
    }
