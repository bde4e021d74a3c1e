"""A tree as SQL: one CASE expression that gives the action's name."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from headstart.errors import OptionError
from headstart.judgement.rules.columns import AtMost, IsAmong, IsMissing, Question
from headstart.judgement.rules.tree import Leaf, Node
from headstart.logs.encoding import MISSING, OTHER

_LARGEST = "1.7976931348623157e308"  # a number between it and its negative is finite, in every dialect


def write_case(node: Node, action_names: Sequence[Hashable]) -> str:
    """The CASE expression of a tree; a single leaf is its action."""
    return "\n".join(_lines(node, action_names))


def _lines(node: Node, names: Sequence[Hashable]) -> list[str]:
    if isinstance(node, Leaf):
        return [write_value(names[node.action])]
    yes, no = _lines(node.yes, names), _lines(node.no, names)
    return [
        f"CASE WHEN {_write_question(node.question)}",
        *_indented("THEN ", yes),
        *_indented("ELSE ", no),
        "END",
    ]


def _indented(word: str, lines: list[str]) -> list[str]:
    return [f"  {word}{lines[0]}", *(f"  {line}" for line in lines[1:])]


def _write_question(question: Question) -> str:
    name = write_name(question.column)
    if isinstance(question, AtMost):
        number = f"CAST({name} AS DOUBLE)"
        known = f"{number} BETWEEN -{_LARGEST} AND {_LARGEST}"
        filled = f"CASE WHEN {known} THEN {number} ELSE {write_value(question.fill)} END"
        return f"{filled} <= {write_value(question.most)}"
    if isinstance(question, IsMissing):
        number = f"CAST({name} AS DOUBLE)"
        return f"CASE WHEN {number} BETWEEN -{_LARGEST} AND {_LARGEST} THEN FALSE ELSE TRUE END"
    return _write_among(name, question)


def _write_among(name: str, question: IsAmong) -> str:
    """A list, with what is missing and what is not known if they belong to it. NULL is in no list: that is ELSE."""
    is_text = any(isinstance(level, str) and level not in (MISSING, OTHER) for level in question.known)
    gap = f"({name} IS NULL OR {name} = '')" if is_text else f"{name} IS NULL"
    levels, known = _literals(question.levels, is_text), _literals(question.known, is_text)
    parts = [f"{name} IN ({levels})"] if levels else []
    if question.holds_missing:
        parts.append(gap)
    if question.holds_unseen:
        outside = f" AND {name} NOT IN ({known})" if known else ""
        parts.append(f"(NOT {gap}{outside})")
    return " OR ".join(parts) if len(parts) == 1 else f"({' OR '.join(parts)})"


def _literals(levels: Sequence[Hashable], is_text: bool) -> str:
    """The levels as values of the column; the two that stand for others are values only among texts."""
    written = [write_value(level) for level in levels if is_text or level not in (MISSING, OTHER)]
    return ", ".join(written)


def write_name(name: str) -> str:
    """A column's or a table's name, quoted."""
    return '"' + name.replace('"', '""') + '"'


def write_value(value: Hashable) -> str:
    """A literal: text, a truth value or a number."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return f"CAST({value!r} AS DOUBLE)"
    if isinstance(value, str):
        if "\0" in value:
            raise OptionError(f"SQL has no text with a NUL character in it: {value!r}")
        return "'" + value.replace("'", "''") + "'"
    raise OptionError(f"{value!r} is of {type(value).__name__}, which has no literal in SQL: use text or numbers")
