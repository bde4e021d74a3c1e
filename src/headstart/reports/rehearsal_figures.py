"""A rehearsal's figures: what is earned day by day, what happens if the log is wrong, when one will know."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headstart.extras import brought_by
from headstart.judgement.rehearsal.policies import AB_TEST, COLD, TODAY, WINNER
from headstart.judgement.rehearsal.rehearsal import Rehearsal
from headstart.judgement.rehearsal.worlds import RIGHT
from headstart.numerals import signed
from headstart.reports.drawing import BLUE, GREEN, GREY, INK, ORANGE, STYLE, as_svg, canvas

_LINES = {AB_TEST: (GREY, "--"), COLD: (GREEN, "-."), WINNER: (ORANGE, ":")}


def draw_rehearsal(found: Rehearsal) -> dict[str, list[tuple[str, str]]]:
    """Per section of the report, pairs of (description, SVG)."""
    with brought_by("plot"):
        import matplotlib

    matplotlib.use("Agg")
    with matplotlib.rc_context(STYLE):
        return {
            "gains": [("Earned more than today's policy so far, where the log is right", _draw_gains(found))],
            "days": [("When users tell the best action: nine worlds of ten, and their middle", _draw_days(found))],
            "scenarios": [
                ("Earned more than by the A/B test, scenario by scenario: nine worlds of ten", _draw_scenarios(found))
            ],
        }


def _names(found: Rehearsal) -> list[str]:
    """The policies of the figures: what is advised, and what one would do otherwise."""
    return [found.advice.policy, *_LINES]


def _style(found: Rehearsal, policy: str) -> tuple[str, str]:
    return (BLUE, "-") if policy == found.advice.policy else _LINES[policy]


def _draw_gains(found: Rehearsal) -> str:
    figure, axes = canvas(3.4)
    days = np.arange(found.days + 1)
    ends = []
    for policy in _names(found):
        colour, line = _style(found, policy)
        gains = np.append(0.0, found.gains_by_day(policy, RIGHT, TODAY))
        axes.plot(days, gains, color=colour, ls=line, lw=2.4 if colour == BLUE else 1.7)
        ends.append((float(gains[-1]), policy, colour))
    axes.axhline(0.0, color=INK, lw=0.8)
    axes.set_xlim(0, found.days)
    low, high = axes.get_ylim()
    ends.append((0.0, TODAY, INK))
    for place, (value, policy, colour) in zip(_spread(ends, 0.075 * (high - low)), sorted(ends), strict=True):
        axes.annotate(
            f"{policy} {signed(value) if policy != TODAY else ''}",
            (found.days, value),
            xytext=(1.02, place),
            textcoords=("axes fraction", "data"),
            color=colour,
            va="center",
            fontsize=8.5,
            annotation_clip=False,
        )
    axes.set_xlabel("day")
    axes.set_ylabel(f"{found.unit} more than by today's policy")
    axes.grid(axis="y", lw=0.4, alpha=0.5)
    return as_svg(figure)


def _spread(ends: Sequence[tuple[float, str, str]], gap: float) -> list[float]:
    """Heights for labels, lowest first, that are at least a gap apart."""
    places: list[float] = []
    for value, _, _ in sorted(ends):
        places.append(max(value, places[-1] + gap) if places else value)
    return places


def _draw_scenarios(found: Rehearsal) -> str:
    names = [name for name in _names(found) if name != AB_TEST]
    scenarios = list(found.scenarios)[::-1]
    figure, axes = canvas(1.3 + 0.62 * len(scenarios))
    for i, policy in enumerate(names):
        colour, _ = _style(found, policy)
        for place, scenario in enumerate(scenarios):
            gain, height = found.forecast(policy, scenario).over_ab, place + 0.2 * (1 - i)
            axes.plot([gain.low, gain.high], [height, height], color=colour, lw=2.2, solid_capstyle="butt")
            label = policy if place == 0 else None
            axes.plot([gain.mean], [height], "os^"[i], color=colour, ms=5.5, label=label)
    axes.axvline(0.0, color=INK, lw=0.8)
    axes.set_yticks(range(len(scenarios)), scenarios)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(f"{found.unit} in {found.days} days more than by the A/B test")
    axes.grid(axis="x", lw=0.4, alpha=0.5)
    figure.legend(loc="outside upper left", ncols=len(names), frameon=False, fontsize=8.5, handletextpad=0.3)
    return as_svg(figure)


def _draw_days(found: Rehearsal) -> str:
    names = [name for name in found.policies if found.forecast(name).known is not None][::-1]
    late = 1.08 * found.days  # where "not in time" stands
    figure, axes = canvas(1.1 + 0.3 * len(names))
    for place, policy in enumerate(names):
        known = found.forecast(policy).known
        assert known is not None
        low, median, high = (late if math.isinf(day) else day for day in (known.low, known.median, known.high))
        colour = BLUE if policy == found.advice.policy else GREY
        axes.plot([low, high], [place, place], color=colour, lw=2.2, solid_capstyle="butt")
        axes.plot([median], [place], "o", color=colour, ms=6)
    axes.axvspan(1.03 * found.days, 1.13 * found.days, color="#f0f2f5", lw=0, zorder=0)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.13 * found.days)
    ticks = [tick for tick in axes.get_xticks() if tick <= 0.9 * found.days]
    axes.set_xticks([*ticks, late], [*(f"{tick:g}" for tick in ticks), "not in\ntime"])
    axes.set_xlabel("day")
    axes.grid(axis="x", lw=0.4, alpha=0.5)
    return as_svg(figure)
