"""Identity: whose words a policy speaks. The log's columns, the labels of its actions, and which log it was."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from headstart.logs.any_log import AnyLog
from headstart.logs.encoding import Encoding
from headstart.logs.fingerprint import Fingerprint
from headstart.logs.log import Log
from headstart.logs.tables.table import LogTable
from headstart.parts.contracts import Oracle
from headstart.parts.wrapper import layers

IDENTITY = "_identity"  # the attribute of a policy from a file


@dataclass(frozen=True)
class Identity:
    """How users become numbers and numbers become actions; `log` is None if nobody knows where a policy came from."""

    encoding: Encoding
    action_names: tuple[Hashable, ...]
    log: Fingerprint | None
    outcome: str | None = None  # the log's column of outcomes, where it was read from a table

    @classmethod
    def of_log(cls, log: AnyLog) -> Identity:
        """Of a policy that comes from this log."""
        outcome = None if log.reading is None else log.reading.columns.get("outcome")
        return cls(log.encoding, tuple(log.action_names), Fingerprint.of(log), outcome)


def identity_of(policy: Oracle, log: AnyLog | None = None) -> Identity | None:
    """What a policy knows of its log, or what of `log`, if it is said; None: it speaks numbers alone."""
    if log is not None:
        return Identity.of_log(log)
    for layer in layers(policy):
        kept = vars(layer).get(IDENTITY)
        if isinstance(kept, Identity):
            return kept
        origin = _log_of(layer)
        if origin is not None:
            return Identity.of_log(origin)
    return None


def keep_identity(policy: Oracle, identity: Identity | None) -> None:
    """A policy from a file remembers the log that is not there."""
    if identity is not None:
        vars(policy)[IDENTITY] = identity


def _log_of(layer: object) -> AnyLog | None:
    """The log that a layer, or the evaluator in it, was made from."""
    for owner in (layer, vars(layer).get("evaluator")):
        for name in ("origin_log", "_log", "log"):
            found = getattr(owner, name, None)
            if isinstance(found, Log | LogTable):
                return found
    return None
