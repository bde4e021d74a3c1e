"""Guardrails, declared: an outcome that must not become worse than the hold-out's or than a bound, and what then."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.estimates.outliers import Range
from headstart.serve.outcomes import NamedOutcomes
from headstart.serve.tables import Table, check_keys, check_table

HOLDOUT = "holdout"
ALARM, FALL_BACK = "alarm", "fall back"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SETTINGS = ("outcome", "worse", "than", "margin", "level", "then")
_LEVELS = (1e-9, 0.5)


@dataclass(frozen=True)
class Guardrail:
    """One of them: `level` is the chance that it ever trips though nothing is worse, whoever looks how often."""

    name: str
    outcome: str | None  # one of those with names; None: the one outcome, or the value of them
    is_worse_higher: bool
    bound: float | None  # None: the mean of the hold-out
    margin: float = 0.0  # by how much it may be worse than the hold-out
    level: float = 0.05
    falls_back: bool = False  # to the safe action, when it trips
    range: Range | None = None  # of an outcome with a name, where it is declared

    def as_dict(self) -> dict[str, object]:
        """The table that it came from."""
        told: dict[str, object] = {} if self.outcome is None else {"outcome": self.outcome}
        told |= {"worse": "higher" if self.is_worse_higher else "lower"}
        told["than"] = HOLDOUT if self.bound is None else self.bound
        if self.margin:
            told["margin"] = self.margin
        return {**told, "level": self.level, "then": FALL_BACK if self.falls_back else ALARM}


def read_guardrails(at: str, table: Table, outcomes: NamedOutcomes, holdout: float) -> dict[str, Guardrail]:
    """Those that an experiment's table declares, by name; none where there are none."""
    declared = table.get("guardrails")
    if declared is None:
        return {}
    found = {}
    for name, each in check_table(f"{at}.guardrails", declared).items():
        place = f"{at}.guardrails.{name}"
        found[name] = guardrail = _read_guardrail(place, name, check_table(place, each), outcomes)
        if guardrail.bound is None and not holdout:
            raise OptionError(f"{place}.than is the hold-out, and {at}.holdout is 0: what is it to be compared with?")
        if guardrail.falls_back and table.get("safe_action") is None:
            raise OptionError(f"{place}.then needs {at}.safe_action: what is it to fall back to?")
    return found


def as_tables(guardrails: Mapping[str, Guardrail]) -> dict[str, object]:
    """What a `configuration` event holds; nothing where there are none."""
    return {"guardrails": {name: each.as_dict() for name, each in guardrails.items()}} if guardrails else {}


def _read_guardrail(at: str, name: str, table: Table, outcomes: NamedOutcomes) -> Guardrail:
    if not _NAME.fullmatch(name):
        raise OptionError(f"{at}: a name is 1 to 64 letters, digits, - and _, and begins with a letter or digit")
    check_keys(at, table, _SETTINGS)
    worse, than, then = table.get("worse"), table.get("than"), table.get("then", ALARM)
    if worse not in ("higher", "lower"):
        raise OptionError(f"{at}.worse must be 'higher' or 'lower', got {worse!r}")
    if then not in (ALARM, FALL_BACK):
        raise OptionError(f"{at}.then must be {ALARM!r} or {FALL_BACK!r}, got {then!r}")
    is_number = isinstance(than, int | float) and not isinstance(than, bool)
    if than != HOLDOUT and not is_number:
        raise OptionError(f"{at}.than must be {HOLDOUT!r} or a number, got {than!r}")
    if is_number and "margin" in table:
        raise OptionError(f"{at}.margin is for {at}.than = {HOLDOUT!r}: a bound is a number of its own")
    outcome = _read_outcome(f"{at}.outcome", table.get("outcome"), outcomes)
    return Guardrail(
        name,
        outcome,
        worse == "higher",
        check_number(f"{at}.than", than) if is_number else None,
        check_number(f"{at}.margin", table.get("margin", 0.0), 0.0),
        check_number(f"{at}.level", table.get("level", 0.05), *_LEVELS),
        then == FALL_BACK,
        None if outcome is None else outcomes.named[outcome].range,
    )


def _read_outcome(at: str, value: object, outcomes: NamedOutcomes) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in outcomes.named:
        known = ", ".join(outcomes.named)
        ways = f"known: {known}" if known else "without names there is one, and it is left out"
        raise OptionError(f"{at} must be one of the experiment's outcomes, got {value!r}; {ways}")
    return value
