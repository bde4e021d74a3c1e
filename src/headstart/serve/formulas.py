"""Formulas: the value of a decision from its outcomes, such as `revenue - 0.15 * shown("mail")`.

    sum     = product { ("+" | "-") product }
    product = factor { ("*" | "/") factor }
    factor  = ["-"] (number | name | shown "(" text ")" | "(" sum ")")

Numbers, names of outcomes, `shown("x")` (1 where x was shown, 0 where something else was), + - * / and parentheses;
nothing else, so nothing in a configuration can run. What is divided by holds no outcome and is not 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from headstart.errors import OptionError

_TOKEN = re.compile(r"""\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)|(?P<text>"[^"]*"|'[^']*')|(?P<sign>[-+*/()])|(?P<other>\S))""", re.VERBOSE)  # fmt: skip
_LARGEST = 1e12
_DEEPEST = 50  # parentheses within each other
_Node: TypeAlias = Callable[[Mapping[str, float], str], float]  # outcomes, the label shown


class _Token(NamedTuple):
    kind: str
    text: str
    at: int  # the character that it begins with, from 1


class _Part(NamedTuple):
    node: _Node
    is_fixed: bool  # whether it holds neither an outcome nor `shown`


@dataclass(frozen=True)
class Formula:
    """A formula that was read: its text, the outcomes and the actions that it names."""

    text: str
    names: tuple[str, ...]
    shown: tuple[str, ...]
    _node: _Node = field(compare=False, repr=False)

    @classmethod
    def read(cls, at: str, text: object) -> Formula:
        """A formula; an error names the place in it."""
        if not isinstance(text, str):
            raise OptionError(f"{at} must be a formula of outcomes, got {text!r}")
        return _Reading(at, text).run()

    def value(self, outcomes: Mapping[str, float], action: object) -> float:
        """What these outcomes of this action are worth."""
        return self._node(outcomes, str(action)) + 0.0  # -0.0 is 0.0


class _Reading:
    """One reading, from the first token to the last."""

    def __init__(self, at: str, text: str) -> None:
        self._at, self._text, self._place, self._depth = at, text, 0, 0
        self._tokens = [
            _Token(found.lastgroup or "", found[found.lastgroup or 0], found.start(found.lastgroup or 0) + 1)
            for found in _TOKEN.finditer(text)
        ]
        self._tokens.append(_Token("end", "its end", len(text) + 1))
        self._names: dict[str, None] = {}
        self._shown: dict[str, None] = {}

    def run(self) -> Formula:
        part = self._read_sum()
        if self._next.kind != "end":
            raise self._error("+, -, * or /")
        return Formula(self._text, tuple(self._names), tuple(self._shown), part.node)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self, *texts: str) -> str | None:
        """The next sign, if it is one of these."""
        token = self._next
        if token.kind != "sign" or token.text not in texts:
            return None
        self._place += 1
        return token.text

    def _error(self, wanted: str) -> OptionError:
        token = self._next
        return OptionError(f"{self._at}: {wanted} is expected at character {token.at}, got {token.text}")

    def _read_sum(self) -> _Part:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise OptionError(f"{self._at}: more than {_DEEPEST} parentheses within each other")
        part = self._read_product()
        while sign := self._take("+", "-"):
            part = _join(sign, part, self._read_product())
        self._depth -= 1
        return part

    def _read_product(self) -> _Part:
        part = self._read_factor()
        while sign := self._take("*", "/"):
            begun = self._next.at
            other = self._read_factor()
            if sign == "/" and not (other.is_fixed and other.node({}, "")):
                raise OptionError(f"{self._at}: a number other than 0 is expected after / at character {begun}")
            part = _join(sign, part, other)
        return part

    def _read_factor(self) -> _Part:
        if self._take("-"):
            return _join("-", _Part(lambda outcomes, action: 0.0, True), self._read_factor_itself())
        return self._read_factor_itself()

    def _read_factor_itself(self) -> _Part:
        token = self._next
        if token.kind == "number":
            number = float(token.text)
            if number > _LARGEST:
                raise self._error(f"a number up to {_LARGEST:g}")
            self._place += 1
            return _Part(lambda outcomes, action: number, True)
        if token.kind == "name":
            self._place += 1
            return self._read_shown() if token.text == "shown" else self._name(token.text)
        if self._take("("):
            part = self._read_sum()
            if not self._take(")"):
                raise self._error(")")
            return part
        raise self._error("a number, an outcome, shown(...) or (")

    def _name(self, name: str) -> _Part:
        self._names[name] = None
        return _Part(lambda outcomes, action: outcomes[name], False)

    def _read_shown(self) -> _Part:
        if not self._take("("):
            raise self._error("( after shown")
        if self._next.kind != "text":
            raise self._error("an action in quotes")
        label = self._next.text[1:-1]
        self._place += 1
        if not self._take(")"):
            raise self._error(")")
        self._shown[label] = None
        return _Part(lambda outcomes, action: float(action == label), False)


def _join(sign: str, left: _Part, right: _Part) -> _Part:
    a, b = left.node, right.node
    nodes: dict[str, _Node] = {
        "+": lambda outcomes, action: a(outcomes, action) + b(outcomes, action),
        "-": lambda outcomes, action: a(outcomes, action) - b(outcomes, action),
        "*": lambda outcomes, action: a(outcomes, action) * b(outcomes, action),
        "/": lambda outcomes, action: a(outcomes, action) / b(outcomes, action),
    }
    return _Part(nodes[sign], left.is_fixed and right.is_fixed)
