"""The figure over time: outcomes of the leading actions with their intervals above, shares of the actions below."""

from __future__ import annotations

import math
from typing import Any

from headstart.judgement.audit.checks.actions import ActionsFinding
from headstart.judgement.audit.checks.drift import DriftFinding
from headstart.reports.time_words import name_time

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")  # Okabe and Ito's
_OTHERS = "#c4c9d0"
_MOST_TICKS = 5


def draw_over_time(
    found: DriftFinding, actions: ActionsFinding, above: Any, below: Any, outcome: str = "outcome"
) -> None:
    """Draw into two axes of the same periods; the actions with the best means have colours, the others one grey."""
    known = [a for a, action in enumerate(actions.actions) if not math.isnan(action.mean)]
    known.sort(key=lambda a: -actions.actions[a].mean)
    special = [a for a in (found.moved, found.late_best) if a is not None]
    named = list(dict.fromkeys([*known[:1], *special, *known]))[: len(_COLOURS)]
    places = list(range(1, len(found.rows) + 1))
    for colour, a in zip(_COLOURS, named, strict=False):
        action = found.actions[a]
        shift = 0.06 * (named.index(a) - (len(named) - 1) / 2)
        drawn = [i for i, mean in enumerate(action.means) if not math.isnan(mean)]
        above.errorbar(
            [places[i] + shift for i in drawn],
            [action.means[i] for i in drawn],
            yerr=[1.96 * action.errors[i] for i in drawn],
            fmt="o-",
            color=colour,
            ms=4.5,
            lw=1.6,
            elinewidth=1.2,
            label=_short(action.name),
        )
    bottom = [0.0] * len(places)
    for a in [*named, *(a for a in range(len(found.actions)) if a not in named)]:
        shares = found.actions[a].shares
        colour = _COLOURS[named.index(a)] if a in named else _OTHERS
        below.bar(places, shares, bottom=bottom, width=0.86, color=colour, alpha=0.85, lw=0)
        bottom = [low + share for low, share in zip(bottom, shares, strict=True)]
    above.set_ylabel(f"mean {_short(outcome, 14)} (95 %)")
    _finish(found, places, above, below)


def _finish(found: DriftFinding, places: list[int], above: Any, below: Any) -> None:
    above.grid(axis="y", color="#e6e8eb", lw=0.8)
    above.set_xticks(places, [""] * len(places))
    below.set_ylabel("share of the rows")
    below.set_ylim(0, 1)
    below.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    every = max(1, math.ceil(len(places) / _MOST_TICKS))
    below.set_xticks(places, [name_time(found, i) if i % every == 0 else "" for i in range(len(places))])
    below.tick_params(axis="x", labelsize=8)
    for axes in (above, below):
        axes.set_xlim(0.4, len(places) + 0.6)
    below.set_xlabel("beginning of the period" if found.clock == "time" else "first row of the period")


def _short(name: object, most: int = 22) -> str:
    text = str(name)
    return text if len(text) <= most else text[: most - 1] + "…"
