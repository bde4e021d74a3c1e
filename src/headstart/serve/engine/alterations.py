"""Alterations: what a configuration would change of what a store holds, before it is taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from headstart.errors import HeadstartError
from headstart.serve.config import ExperimentConfig, ServiceConfig
from headstart.serve.engine.declaration import plan_declaration
from headstart.serve.engine.sources import Sources
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body
from headstart.serve.store.questions import READ_NAMES
from headstart.serve.store.reader import Reader
from headstart.serve.store.store import Query

_OWN = ("actions", "contexts")  # told by what is in them


class Alteration(NamedTuple):
    """Of one experiment: what becomes of it, and each change."""

    experiment: str
    says: str
    changes: list[str]
    is_refused: bool = False


def find_alterations(query: Query, config: ServiceConfig, sources: Sources | None = None) -> list[Alteration]:
    """By what would be recorded if a process were started with this configuration now."""
    reader, known = Reader(query), sources or Sources()
    found = [_compare(reader, each, known) for each in config.experiments.values()]
    gone = [name for (name,) in query(READ_NAMES) if name not in config.experiments]
    return found + [
        Alteration(name, "is not in the configuration: it is closed, its events stay", []) for name in gone
    ]


def _compare(reader: Reader, config: ExperimentConfig, sources: Sources) -> Alteration:
    recorded = reader.last(config.name, kinds.CONFIGURATION)
    try:
        plan = plan_declaration(reader, config, sources)
    except HeadstartError as error:
        return Alteration(config.name, f"cannot be taken: {error}", [], is_refused=True)
    if plan.is_old:
        return Alteration(config.name, plan.said or "", [])
    if not plan.changes:
        return Alteration(config.name, "stays as it is", [])
    if recorded is None:
        return Alteration(config.name, f"is new, with {len(config.actions)} actions", [])
    kind, body = plan.changes[0]
    changes = [] if kind != kinds.CONFIGURATION else list(_tell_changes(recorded.body, body))
    if any(kind == kinds.WARM_START for kind, _ in plan.changes):
        begun = next(body for kind, body in plan.changes if kind == kinds.WARM_START)
        changes.append(f"log: it begins with {begun['rows']:,} rows, hash {begun['hash']}")
    return Alteration(config.name, "changes; its policy is built anew and learns again what users taught", changes)


def _tell_changes(before: Body, after: Body) -> Iterator[str]:
    yield from _tell_actions(before["actions"], after["actions"])
    yield from _tell_table("contexts", before["contexts"], after["contexts"])
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if key not in _OWN and old != new:
            yield f"{key}: {_say(old)} becomes {_say(new)}"


def _tell_actions(before: list[Any], after: list[Any]) -> Iterator[str]:
    for label in after:
        if label not in before:
            yield f"actions: {label!r} is added"
    for label in before:
        if label not in after:
            yield (
                f"actions: {label!r} is removed: its decisions leave the exported log and are not learnt any more. "
                "To show it no more and keep them, leave it in actions and retire it"
            )
    kept = [label for label in before if label in after]
    if kept != [label for label in after if label in before]:
        yield f"actions: their order becomes {after}"


def _tell_table(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for column in dict.fromkeys([*before, *after]):
        old, new = before.get(column), after.get(column)
        if old != new:
            yield f"{name}.{column}: {_say(old)} becomes {_say(new)}"
    if before == after and list(before) != list(after):
        yield f"{name}: their order becomes {', '.join(after)}"


def _say(value: object) -> str:
    return "nothing" if value is None else repr(value)
