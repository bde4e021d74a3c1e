"""A tree in words, and as plain values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from headstart.judgement.audit.plain import as_plain
from headstart.judgement.rules.columns import AtMost, IsMissing, Question
from headstart.judgement.rules.tree import Leaf, Node
from headstart.numerals import tell_number


def tell_tree(node: Node, action_names: Sequence[Hashable]) -> str:
    """One line for each question and each action, indented; a leaf says for which share of the log's users it is."""
    return "\n".join(_lines(node, action_names, ""))


def _lines(node: Node, names: Sequence[Hashable], indent: str) -> list[str]:
    if isinstance(node, Leaf):
        return [f"{indent}{names[node.action]}  ({node.share:.0%} of users)"]
    deeper = f"{indent}    "
    return [
        f"{indent}if {tell_question(node.question)}:",
        *_lines(node.yes, names, deeper),
        f"{indent}else:",
        *_lines(node.no, names, deeper),
    ]


def tell_question(question: Question) -> str:
    """A question in words."""
    if isinstance(question, AtMost):
        return f"{question.column} <= {question.most!r} (where missing: {tell_number(question.fill)})"
    if isinstance(question, IsMissing):
        return f"{question.column} is missing"
    if len(question.levels) == 1:
        return f"{question.column} is {question.levels[0]!r}"
    return f"{question.column} is one of {', '.join(repr(level) for level in question.levels)}"


def as_nested(node: Node, action_names: Sequence[Hashable]) -> dict[str, Any]:
    """The tree as nested dicts that JSON can hold."""
    if isinstance(node, Leaf):
        return {"action": as_plain(action_names[node.action]), "share": node.share}
    question = node.question
    if isinstance(question, AtMost):
        asked = {"column": question.column, "at_most": question.most, "missing_counts_as": question.fill}
    elif isinstance(question, IsMissing):
        asked = {"column": question.column, "is_missing": True}
    else:
        asked = {
            "column": question.column,
            "is_among": as_plain(question.levels),
            "known": as_plain(question.known),
            "if_missing": question.holds_missing,
            "if_unseen": question.holds_unseen,
        }
    return {"question": asked, "yes": as_nested(node.yes, action_names), "no": as_nested(node.no, action_names)}
