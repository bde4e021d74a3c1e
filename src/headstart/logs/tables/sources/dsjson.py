"""dsjson, the decision log of Vowpal Wabbit's services: one JSON object a decision.

The action is the index of the chosen candidate, counted from 0 (`_labelIndex`, else `_label_Action` - 1, else the
first of `a`); the outcome is minus `_label_cost`; `p`, in the order of `a`, gives the probability of every candidate.
Contexts are the shared features of `c`: what `_multi` (the candidates) holds, and keys that begin with an underscore,
are not read. Candidates that carry a `_tag` can be told apart by it: action="tag".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from headstart.errors import LogError
from headstart.logs.tables.connection import DatabaseLimits, connect_duckdb
from headstart.logs.tables.sources.decisions import Decisions, Fixed
from headstart.logs.tables.sources.opened import Files, Opened, SourceKind
from headstart.logs.tables.sources.paths import open_text, read_first_line
from headstart.logs.tables.sources.vowpal_wabbit import NEGATED, SPARSE

if TYPE_CHECKING:
    import ibis.expr.types as ir


def open_dsjson(files: Files, settings: DatabaseLimits) -> Opened:
    """One decision a line; lines that are none (rewards on their own) are counted."""
    decisions = Decisions(connect_duckdb(settings), files.place)
    others = dropped = tagged = 0
    most = 0
    for path in files.paths:
        with open_text(path) as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                place = f"{path}, line {number}"
                event = _parse(line, place)
                if "c" not in event or _first(event, "_label_cost", "_label_Cost") is None:
                    others += 1
                    continue
                fixed, chances, n_candidates = _decision(event, place)
                fixed["line"] = number
                most = max(most, n_candidates, fixed["action"] + 1)
                dropped += bool(event.get("pdrop"))
                tagged += fixed["tag"] is not None
                decisions.add(fixed, dict(_features(event["c"], "", place)), chances)
    table = decisions.as_table()
    notes = [NEGATED, SPARSE, "an action is the index of a candidate, counted from 0"]
    if tagged:
        notes.append(f"{tagged} decisions name the chosen candidate (_tag): action='tag' reads the names as actions")
    if dropped:
        notes.append(f"{dropped} lines say that others like them were dropped (pdrop); they are not weighted for it")
    return Opened(
        table,
        "dsjson",
        files.place,
        roles=decisions.roles,
        contexts=decisions.features,
        labels=tuple(range(most)),
        chance_of=partial(_chance_of, decisions.n_chances) if decisions.n_chances else None,
        counts={"lines that are no decisions": others} if others else {},
        notes=tuple(notes),
        line_column="line",
    )


def _chance_of(n_chances: int, rows: ir.Table, label: int) -> ir.Column | None:
    return rows[f"chance {label}"] if label < n_chances else None


def _parse(line: str, place: str) -> dict[str, object]:
    try:
        event = json.loads(line)
    except json.JSONDecodeError as wrong:
        raise LogError(f"{place}: not JSON ({wrong.msg}): {line.strip()[:80]!r}") from None
    if not isinstance(event, dict):
        raise LogError(f"{place}: not a JSON object: {line.strip()[:80]!r}")
    return event


def _decision(event: Mapping[str, object], place: str) -> tuple[Fixed, dict[int, float], int]:
    """Label and probabilities of one decision, and how many candidates it had."""
    order = [_whole(place, "a", k) for k in _list(place, "a", event.get("a"))]
    shift = 0 if order and min(order) == 0 else 1  # candidates are counted from 1; some writers begin with 0
    order = [k - shift for k in order]
    if "_labelIndex" in event:
        action = _whole(place, "_labelIndex", event["_labelIndex"])
    elif "_label_Action" in event:
        action = _whole(place, "_label_Action", event["_label_Action"]) - 1
    elif order:
        action = order[0]
    else:
        raise LogError(f"{place}: no _labelIndex, _label_Action or a: which action was taken?")
    chances = [_number(place, "p", p) for p in _list(place, "p", event.get("p"))]
    if chances and len(chances) != len(order):
        raise LogError(f"{place}: 'a' has {len(order)} actions and 'p' {len(chances)} probabilities")
    by_action = dict(zip(order, chances, strict=True)) if chances else {}
    probability = _first(event, "_label_probability", "_label_Probability")
    cost = _number(place, "_label_cost", _first(event, "_label_cost", "_label_Cost"))
    shared = event["c"]
    candidates = _list(place, "_multi", shared.get("_multi")) if isinstance(shared, Mapping) else []
    if action < 0 or (candidates and action >= len(candidates)):
        raise LogError(f"{place}: action {action} of {len(candidates)} candidates")
    if probability is None:
        probability = by_action.get(action)
    fixed: Fixed = {
        "action": action,
        "cost": cost,
        "reward": 0.0 - cost,
        "propensity": None if probability is None else _number(place, "_label_probability", probability),
        "time": event.get("Timestamp"),
        "id": event.get("EventId"),
        "tag": _tag(candidates[action]) if candidates else None,
    }
    return fixed, by_action, max(len(candidates), len(order))


def _features(value: object, name: str, place: str) -> Iterator[tuple[str, float | str]]:
    """`namespace.feature` and its value, for every number, truth value and text below."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not key.startswith("_"):
                yield from _features(inner, f"{name}.{key}" if name else key, place)
    elif isinstance(value, list):
        for position, inner in enumerate(value):  # a list of objects is one object in pieces
            yield from _features(inner, name if isinstance(inner, Mapping) else f"{name}[{position}]", place)
    elif isinstance(value, str):
        if value:  # empty text is absent text
            yield name, value
    elif value is not None:
        yield name, _number(place, name, value)


def _first(event: Mapping[str, object], *names: str) -> object:
    return next((event[name] for name in names if event.get(name) is not None), None)


def _tag(candidate: object) -> object:
    return candidate.get("_tag") if isinstance(candidate, Mapping) else None


def _list(place: str, name: str, value: object) -> list[object]:
    if value is None or isinstance(value, list):
        return value or []
    raise LogError(f"{place}: {name!r} must be a list, got {value!r}")


def _number(place: str, name: str, value: object) -> float:
    if isinstance(value, bool | int | float):
        return float(value)
    raise LogError(f"{place}: {name!r} must be a number, got {value!r}")


def _whole(place: str, name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise LogError(f"{place}: {name!r} must be a whole number, got {value!r}")


def _is_dsjson(thing: object) -> bool:
    if not isinstance(thing, Files) or thing.suffix not in (".dsjson", ".json", ".jsonl", ".ndjson"):
        return False
    return thing.suffix == ".dsjson" or '"_label_cost"' in read_first_line(thing.paths[0])


SOURCES = (SourceKind("dsjson", _is_dsjson, open_dsjson, is_special=True, takes_files=True),)
