"""Alarms on values, in words: far outside what was seen, or outside the ranges in force."""

from __future__ import annotations

from collections.abc import Mapping

from headstart.numerals import tell_number
from headstart.serve.engine.bounds import BoundState, say_source
from headstart.serve.engine.state import OutlierState, State

_SHARE = 0.01  # of values outside ranges that somebody declared: with more of them the ranges may be wrong
_NAMED = 3  # events that an alarm names


def tell_values(state: State) -> list[str]:
    """What is to be said of the values that came, and of the log's."""
    bounds, log = state["bounds"], state["log"] or {}
    outcome = {} if bounds["outcome"] is None else {"outcome": bounds["outcome"]}
    strays = log.get("ranges", {}).get("outlying", {"outcome": 0, "contexts": {}})
    return [
        *[_tell_far(far) for far in _by_column(state["outliers"])],
        *_tell_outside("outcomes", state["clipped_outcomes"], state["outcomes"], outcome),
        *_tell_outside("users", state["clipped_contexts"], state["decisions"], bounds["contexts"]),
        *[_tell_unseen(column, n, state["log"] is not None) for column, n in state["unseen"].items()],
        *[
            f"{n:,} {'user' if n == 1 else 'users'} came without {column} (null): seen as of no known {column}, a "
            "number as its middle."
            for column, n in state["missing"].items()
        ],
        *[
            f"{n:,} {'row' if n == 1 else 'rows'} of the log had {column} far outside the others: learnt as the "
            "nearest value within its range."
            for column, n in {**strays["contexts"], "an outcome": strays["outcome"]}.items()
            if n
        ],
    ]


def _tell_unseen(column: str, n: int, has_log: bool) -> str:
    who = "1 user" if n == 1 else f"{n:,} users"
    never = "that the log never showed and nobody declared" if has_log else "that nobody declared"
    return f"{who} had a {column} {never}: seen as of no known {column}."


def _by_column(outliers: list[OutlierState]) -> list[list[OutlierState]]:
    columns = dict.fromkeys(far["column"] for far in outliers)
    return [[far for far in outliers if far["column"] == column] for column in columns]


def _tell_far(outliers: list[OutlierState]) -> str:
    first, n = outliers[0], len(outliers)
    name = "outcome" if first["column"] is None else first["column"]
    what = f"1 {name} of {_number(first['value'])} is" if n == 1 else f"{n} values of {name} are"
    ids = ", ".join(repr(far["event_id"]) for far in outliers[:_NAMED]) + (", ..." if n > _NAMED else "")
    seen = f"{_number(first['low'])} to {_number(first['high'])}"
    return f"{what} far outside what was seen ({seen}), event_id {ids}: set it aside if it is a mistake."


def _tell_outside(what: str, n: int, total: int, bounds: Mapping[str, BoundState]) -> list[str]:
    is_suggested = any(bound["source"] == "log" for bound in bounds.values())
    if not n or not (is_suggested or n > _SHARE * total):
        return []
    ranges = ", ".join(
        f"{name} {_number(bound['low'])} to {_number(bound['high'])}, {say_source(bound)}"
        for name, bound in bounds.items()
    )
    return [
        f"{n:,} of {total:,} {what} were outside their range ({ranges}) and learnt as if at its end: is it right?"
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value, 0) and abs(value) < 1e12 else tell_number(value, 4)
