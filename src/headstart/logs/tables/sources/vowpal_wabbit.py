"""Vowpal Wabbit's text: cb (`action:cost:probability | features`) and cb_adf (a shared line, a line per candidate).

cb: the action is the label, as written. cb_adf: the action is the place of the labelled candidate, counted from 0,
and the contexts are the features of the shared line; candidates' own features are not read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from headstart.errors import LogError
from headstart.logs.tables.connection import DatabaseLimits, connect_duckdb
from headstart.logs.tables.sources.decisions import Decisions, Fixed
from headstart.logs.tables.sources.opened import Files, Opened, SourceKind
from headstart.logs.tables.sources.paths import open_text

NEGATED = "a cost is read as its negative, the reward; outcome='cost' reads the cost itself"
SPARSE = "a feature that a line does not have is 0, text that it does not have is 'absent'"
_LOOKED_AT = 1_000  # lines in which a shared line or an empty one tells cb_adf from cb


def open_vw(files: Files, settings: DatabaseLimits) -> Opened:
    """Either kind, told apart by a shared line or by empty lines between decisions."""
    with open_text(files.paths[0]) as lines:
        head = [line.strip() for _, line in zip(range(_LOOKED_AT), lines, strict=False)]
    while head and not head[-1]:
        head.pop()
    is_adf = any(not line or line.split("|")[0].split()[:1] == ["shared"] for line in head)
    return (open_cb_adf if is_adf else open_cb)(files, settings)


def open_cb(files: Files, settings: DatabaseLimits) -> Opened:
    """One decision a line."""
    decisions = Decisions(connect_duckdb(settings), files.place)
    unlabelled = 0
    for place, number, line in _lines(files):
        if not line:
            continue
        label, features = _split(line, place)
        seen = _observed(label, place)
        if seen is None:
            unlabelled += 1
            continue
        action, cost, probability = seen
        decisions.add(_fixed(number, action, cost, probability), _features(features, place), {})
    return _opened(decisions, files, "Vowpal Wabbit cb", {"lines without the cost of an action": unlabelled})


def open_cb_adf(files: Files, settings: DatabaseLimits) -> Opened:
    """One decision a block of lines; blocks end with an empty line or before the next shared line."""
    decisions = Decisions(connect_duckdb(settings), files.place)
    unlabelled = changed = 0
    sizes: set[int] = set()
    first: dict[int, str] = {}  # a candidate's place -> its features where it was first seen
    for block in _blocks(files):
        shared = ""
        seen: tuple[int, int, float, float | None] | None = None
        candidates: list[str] = []
        for place, number, line in block:
            label, features = _split(line, place)
            if label[:1] == ["shared"]:
                shared = features
                continue
            observed = _observed(label, place)
            if observed is not None:
                if seen is not None:
                    raise LogError(f"{place}: a second candidate with a cost in the same decision")
                seen = number, len(candidates), observed[1], observed[2]
            candidates.append(features)
        if seen is None:
            unlabelled += 1
            continue
        sizes.add(len(candidates))
        changed += any(first.setdefault(k, features) != features for k, features in enumerate(candidates))
        number, action, cost, probability = seen
        decisions.add(_fixed(number, action, cost, probability), _features(shared, block[0][0]), {})
    notes = ["an action is the place of a candidate, counted from 0"]
    if len(sizes) > 1:
        notes.append(f"decisions have {min(sizes)} to {max(sizes)} candidates")
    if changed:
        notes.append(f"{changed} decisions had other candidates in some place than the first: a place is not an item")
    rule = {"decisions without the cost of an action": unlabelled}
    return _opened(decisions, files, "Vowpal Wabbit cb_adf", rule, max(sizes, default=0), notes)


def _opened(
    decisions: Decisions,
    files: Files,
    format: str,
    counts: dict[str, int],
    n_actions: int = 0,
    notes: Sequence[str] = (),
) -> Opened:
    return Opened(
        decisions.as_table(),
        format,
        files.place,
        roles=decisions.roles,
        contexts=decisions.features,
        labels=tuple(range(n_actions)),
        counts={rule: n for rule, n in counts.items() if n},
        notes=(NEGATED, SPARSE, *notes),
        line_column="line",
    )


def _lines(files: Files) -> Iterator[tuple[str, int, str]]:
    """(place in words, line number, text) of every line."""
    for path in files.paths:
        with open_text(path) as lines:
            for number, line in enumerate(lines, start=1):
                yield f"{path}, line {number}", number, line.strip()


def _blocks(files: Files) -> Iterator[list[tuple[str, int, str]]]:
    block: list[tuple[str, int, str]] = []
    for place, number, line in _lines(files):
        starts = line.split("|")[0].split()[:1] == ["shared"]
        if block and (not line or starts):
            yield block
            block = []
        if line:
            block.append((place, number, line))
    if block:
        yield block


def _split(line: str, place: str) -> tuple[list[str], str]:
    """The words of the label without the tag, and the text of the features."""
    head, bar, rest = line.partition("|")
    if not bar:
        raise LogError(f"{place}: no '|' before the features: {line[:80]!r}")
    words = head.split()
    if words and words[0] != "shared" and (words[-1].startswith("'") or not head[-1].isspace()):
        words.pop()  # a tag: it touches the bar, or begins with a quote
    return words, rest


def _observed(words: list[str], place: str) -> tuple[int, float, float | None] | None:
    """The one action whose cost is known: (action, cost, probability)."""
    found = None
    for word in words:
        parts = word.split(":")
        if len(parts) == 1:
            if not parts[0].isdigit():
                raise LogError(f"{place}: expected action:cost:probability, got {word!r}")
            continue
        try:
            values = int(parts[0]), float(parts[1]), float(parts[2]) if len(parts) > 2 else None
        except ValueError:
            values = None
        if values is None or len(parts) > 3:
            raise LogError(f"{place}: expected action:cost:probability, got {word!r}")
        if found is not None:
            raise LogError(f"{place}: costs of two actions, {word!r} the second; a log has one outcome a decision")
        found = values
    return found


def _features(text: str, place: str) -> dict[str, float]:
    """`namespace.feature` -> value; values of a feature named twice add up, as in Vowpal Wabbit."""
    found: dict[str, float] = {}
    for segment in text.split("|"):
        words = segment.split()
        prefix, scale = "", 1.0
        if words and not segment[0].isspace():
            namespace, _, weight = words.pop(0).partition(":")
            prefix, scale = f"{namespace}.", _number(weight or "1", place)
        for position, word in enumerate(words):
            name, colon, written = word.partition(":")
            value = 1.0
            if colon:
                try:
                    value = float(written)
                except ValueError:  # text: a feature of its own for each value
                    name = f"{name}={written}"
            if not math.isfinite(value):
                raise LogError(f"{place}: the value of feature {name!r} must be finite, got {written!r}")
            column = prefix + (name or str(position))
            found[column] = found.get(column, 0.0) + scale * value
    return found


def _number(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise LogError(f"{place}: expected a number, got {text!r}") from None


def _fixed(line: int, action: int, cost: float, probability: float | None) -> Fixed:
    return {"line": line, "action": action, "cost": cost, "reward": 0.0 - cost, "propensity": probability}


def _is_vw(thing: object) -> bool:
    return isinstance(thing, Files) and thing.suffix in (".vw", ".dat")


SOURCES = (
    SourceKind("vw", _is_vw, open_vw, takes_files=True),
    SourceKind("vw-cb", lambda thing: False, open_cb, takes_files=True),
    SourceKind("vw-cb-adf", lambda thing: False, open_cb_adf, takes_files=True),
)
