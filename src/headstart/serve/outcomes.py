"""Outcomes with names: what may come of a decision, and what it is worth.

    outcomes = { click = { default = 0 }, revenue = { sum = true, range = [0, 10000], delay = 3600 } }
    value = 'revenue - 0.15 * shown("mail")'

A decision has a value when everything that it needs is known. Without a window that is when each outcome has come
once; with one it is when the window closes: what has not come is its default by then, a sum is that of all reports,
and a decision that lacks an outcome without a default has no value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.estimates.outliers import Range
from headstart.serve.columns import read_range
from headstart.serve.formulas import Formula
from headstart.serve.tables import Table, check_keys, check_table

_NAME = re.compile(r"[^\W\d]\w{0,63}")
_SETTINGS = ("default", "sum", "range", "delay")


@dataclass(frozen=True)
class NamedOutcome:
    """One that may come: what it is if it does not, whether reports add up, its range, and from when on it counts."""

    default: float | None = None  # None: a decision without it has no value
    is_sum: bool = False
    range: Range | None = None
    delay: float = 0.0  # seconds after the decision before which what comes does not count

    def as_dict(self) -> dict[str, object]:
        """The table that it came from."""
        told: dict[str, object] = {}
        if self.default is not None and not self.is_sum:
            told["default"] = self.default
        if self.is_sum:
            told["sum"] = True
        if self.range is not None:
            told["range"] = list(self.range)
        if self.delay:
            told["delay"] = self.delay
        return told


@dataclass(frozen=True)
class NamedOutcomes:
    """All of them, and the formula of the value."""

    named: Mapping[str, NamedOutcome] = field(default_factory=dict)
    formula: Formula | None = None  # None: there are none, or the only one is the value

    def __bool__(self) -> bool:
        return bool(self.named)

    def value(self, known: Mapping[str, float], action: object) -> float | None:
        """What outcomes, all of them known, are worth; None for a product that is beyond all numbers."""
        value = next(iter(known.values())) if self.formula is None else self.formula.value(known, action)
        return value if math.isfinite(value) else None

    def settle(self, come: Mapping[str, Sequence[float]]) -> dict[str, float] | None:
        """Every outcome by what has come of it, in its order; None while one that is needed is missing."""
        settled: dict[str, float] = {}
        for name, outcome in self.named.items():
            reports = come.get(name, ())
            if outcome.is_sum:
                settled[name] = sum(reports, 0.0)
            elif reports:
                settled[name] = reports[0]
            elif outcome.default is not None:
                settled[name] = outcome.default
            else:
                return None
        return settled

    def as_dict(self) -> dict[str, object]:
        """What a `configuration` event holds; nothing where there are none."""
        told: dict[str, object] = {}
        if self.named:
            told["outcomes"] = {name: outcome.as_dict() for name, outcome in self.named.items()}
        if self.formula is not None:
            told["value"] = self.formula.text
        return told


NO_OUTCOMES = NamedOutcomes()


def read_named_outcomes(at: str, table: Table) -> NamedOutcomes:
    """The outcomes that an experiment's table declares, and their value."""
    declared, value = table.get("outcomes"), table.get("value")
    if declared is None:
        if value is not None:
            raise OptionError(f"{at}.value needs {at}.outcomes: of what is it made?")
        return NO_OUTCOMES
    named = {
        name: _read_outcome(f"{at}.outcomes.{name}", name, each)
        for name, each in check_table(f"{at}.outcomes", declared).items()
    }
    if not named:
        raise OptionError(f"{at}.outcomes must have at least one outcome")
    _check_terms(at, table, named)
    if value is None:
        if len(named) > 1:
            raise OptionError(f"{at}.value is missing: what are {' and '.join(named)} worth together?")
        return NamedOutcomes(named)
    formula = Formula.read(f"{at}.value", value)
    for name in formula.names:
        if name not in named:
            raise OptionError(f"{at}.value has {name}, which is no outcome; known: {', '.join(named)}")
    return NamedOutcomes(named, formula)


def _check_terms(at: str, table: Table, named: Mapping[str, NamedOutcome]) -> None:
    """What stands beside them: a default is each outcome's own, and what is missing or summed needs a window."""
    if table.get("default_outcome") is not None:
        raise OptionError(f"{at}.default_outcome is for one outcome: declare {at}.outcomes.NAME.default")
    for name, outcome in named.items():
        place, window = f"{at}.outcomes.{name}", table.get("outcome_window")
        if window is None and outcome.is_sum:
            raise OptionError(f"{place}.sum needs {at}.outcome_window: when has everything come?")
        if window is None and outcome.default is not None:
            raise OptionError(f"{place}.default needs {at}.outcome_window: when is it missing?")
        if isinstance(window, int | float) and outcome.delay >= window:
            raise OptionError(f"{place}.delay must be shorter than {at}.outcome_window ({window:g} s)")


def _read_outcome(at: str, name: str, value: object) -> NamedOutcome:
    if not _NAME.fullmatch(name) or name == "shown":
        raise OptionError(f"{at}: a name is letters, digits and _, begins with a letter, and is not 'shown'")
    table = check_table(at, value)
    check_keys(at, table, _SETTINGS)
    is_sum, default = table.get("sum", False), table.get("default")
    if not isinstance(is_sum, bool):
        raise OptionError(f"{at}.sum must be true or false, got {is_sum!r}")
    if is_sum and default is not None:
        raise OptionError(f"{at}.default: a sum of which nothing has come is 0")
    found = None if table.get("range") is None else read_range(f"{at}.range", table["range"])
    low, high = found or (-1e12, 1e12)
    return NamedOutcome(
        None if default is None else check_number(f"{at}.default", default, low, high),
        is_sum,
        found,
        check_number(f"{at}.delay", table.get("delay", 0.0), 0.0, 1e9),
    )
