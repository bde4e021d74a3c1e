"""May one stop? Who has won, with which chance of ever being wrong, or about how many more users it takes.

An action has won when the confidence sequence of its lead over every other action is above 0, each one-sided at
alpha / (K - 1): whatever is declared, and whenever somebody looks, it is ever another than the truly best one with a
chance of at most alpha. What lies ahead is reckoned with the present means and the chances of late.
"""

from __future__ import annotations

import math
from typing import TypedDict

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.estimates.sequences import MomentSums, differences, p_values, project_sums
from headstart.serve.telling.outcomes import tell_share
from headstart.serve.telling.report import ALPHA, Report

_MOST = 10_000_000.0  # users: beyond, no number is told
_NAMED = 4


class Behind(TypedDict):
    """An action against the leader."""

    name: str
    low: float | None  # of the leader's mean less its own
    high: float | None
    is_ruled_out: bool  # as the best one
    text: str


class Stopping(TypedDict):
    """The answer."""

    alpha: float  # the chance that a winner is ever declared wrongly
    leader: str | None  # the largest mean of those with an interval
    winner: str | None
    p: float | None  # always-valid, of "the leader is not the best"
    rivals: list[str]  # that may still be the best
    users_needed: int | None  # about; None: not known, or more than ten million
    behind: list[Behind]
    text: str


def judge_stopping(report: Report, names: list[str], chances: Floats) -> Stopping:
    """From sums as they are; `chances` are those of the users to come."""
    found, k = report.limits(), len(names)
    is_known = np.isfinite(found.low) & np.isfinite(found.high)
    if not is_known.all():
        return _too_early(
            report, [name for name, known in zip(names, is_known, strict=True) if not known], names, chances
        )
    leader = int(found.means.argmax())
    apart = differences(report.moments, np.array(leader), _level(k), is_binary=report.is_binary)
    is_out = np.where(np.arange(k) == leader, False, apart.low > 0.0)
    rivals = [names[a] for a in range(k) if a != leader and not is_out[a]]
    p = (k - 1) * float(np.delete(p_values(report.moments, leader, is_binary=report.is_binary), leader).max())
    needed = None if not rivals else _users_needed(report.moments, leader, chances, is_binary=report.is_binary)
    return {
        "alpha": ALPHA,
        "leader": names[leader],
        "winner": None if rivals else names[leader],
        "p": min(p, 1.0),
        "rivals": rivals,
        "users_needed": needed,
        "behind": [
            {
                "name": names[a],
                "low": _finite(apart.low[a]),
                "high": _finite(apart.high[a]),
                "is_ruled_out": bool(is_out[a]),
                "text": f"{report.words.tell_change(apart.low[a])} to {report.words.tell_change(apart.high[a])}",
            }
            for a in range(k)
            if a != leader
        ],
        "text": _tell(names[leader], rivals, needed),
    }


def _too_early(report: Report, missing: list[str], names: list[str], chances: Floats) -> Stopping:
    means, needed = report.limits().means, None
    if np.isfinite(means).all():
        needed = _users_needed(report.moments, int(means.argmax()), chances, is_binary=report.is_binary)
    text = f"Too early to say who has won: what {_list(missing)} bring is not known well enough yet."
    return {
        "alpha": ALPHA, "leader": None, "winner": None, "p": None, "rivals": names, "users_needed": needed,
        "behind": [], "text": text + ("" if needed is None else _tell_needed(needed)),
    }  # fmt: skip


def _level(k: int) -> float:
    return 2.0 * ALPHA / (k - 1)


def _tell(leader: str, rivals: list[str], needed: int | None) -> str:
    if not rivals:
        return (
            f"{leader} has won: you may stop. Whenever you look, such a verdict is ever wrong with a chance of at "
            f"most {tell_share(ALPHA)}."
        )
    text = f"Not yet: {leader} has the largest mean, but {_list(rivals)} may still be better."
    if needed is None:
        return text + " As things stand it would take more than ten million users to tell."
    return text + _tell_needed(needed)


def _tell_needed(needed: int) -> str:
    return f" If the differences are what they seem now, it takes about {needed:,} more users."


def _users_needed(sums: MomentSums, leader: int, chances: Floats, *, is_binary: bool) -> int | None:
    """The fewest more users, to two digits, after which the leader would have won, if all went on as it is."""

    def has_won(n: float) -> bool:
        later = project_sums(sums, chances, n)
        apart = differences(later, np.array(leader), _level(chances.size), is_binary=is_binary)
        is_ahead: Bools = apart.low > 0.0
        return bool(np.delete(is_ahead, leader).all())

    n = 100.0
    while not has_won(n):
        n *= 2.0
        if n > _MOST:
            return None
    for step in (2.0**-0.5, 2.0**-0.25, 2.0**-0.125):
        n *= step if has_won(n * step) else 1.0
    digits = 10.0 ** (math.floor(math.log10(n)) - 1)
    return int(math.ceil(n / digits) * digits)


def _list(names: list[str]) -> str:
    shown = names if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
