"""The audit's figures, for a page: narrow enough for a phone, readable in print and by the colour-blind."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from headstart.extras import brought_by
from headstart.judgement.audit.audit import Audit
from headstart.numerals import number
from headstart.reports.drawing import BLUE, GREEN, GREY, INK, ORANGE, STYLE, as_svg, canvas, shorten
from headstart.reports.time_figure import draw_over_time

_MOST_BARS = 15


def draw_figures(audit: Audit) -> dict[str, list[tuple[str, str]]]:
    """Per section of the report, pairs of (description, SVG)."""
    with brought_by("plot"):
        import matplotlib

    matplotlib.use("Agg")
    figures: dict[str, list[tuple[str, str]]] = {}
    with matplotlib.rc_context(STYLE):
        for key, words, draw in _FIGURES:
            svg = draw(audit)
            if svg is not None:
                figures.setdefault(key, []).append((words, svg))
    return figures


def _draw_means(audit: Audit) -> str | None:
    """Raw and adjusted means, so that one sees what adjusting did."""
    known = [action for action in audit.actions.actions if not math.isnan(action.mean)]
    known.sort(key=lambda action: -action.mean)
    known = known[:_MOST_BARS][::-1]
    figure, axes = canvas(1.1 + 0.34 * len(known))
    for place, action in enumerate(known):
        if math.isfinite(action.low) and math.isfinite(action.high):
            ends = [action.low, action.high]
            axes.plot(ends, [place, place], color=BLUE, lw=3, alpha=0.35, solid_capstyle="round")
        axes.plot([action.raw_mean, action.mean], [place, place], color=GREY, lw=0.8, zorder=1)
    places = range(len(known))
    axes.plot([a.raw_mean for a in known], places, "o", mfc="white", mec=ORANGE, mew=1.6, ms=7, label="raw mean")
    interval = f"adjusted mean, {audit.actions.level:.0%} interval"
    axes.plot([a.mean for a in known], places, "o", color=BLUE, ms=7, label=interval)
    axes.set_yticks(list(places), [shorten(action.name) for action in known])
    axes.set_ylim(-0.6, len(known) - 0.4)
    axes.set_xlabel(f"mean {audit.facts.outcome} of a user")
    axes.grid(axis="x", color="#e6e8eb", lw=0.8)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper left", ncols=2, frameon=False, handletextpad=0.3, columnspacing=1.2)
    return as_svg(figure)


def _draw_sizes(audit: Audit) -> str | None:
    """Rows, and what is left of them."""
    known = sorted(audit.actions.actions, key=lambda action: (math.isnan(action.mean), -action.mean))
    caps = audit.verdict.caps if audit.verdict.severity == "cap" else None
    index = {action.name: a for a, action in enumerate(audit.actions.actions)}
    known = [action for action in known if action.rows][:_MOST_BARS][::-1]
    if not known:
        return None
    figure, axes = canvas(1.1 + 0.36 * len(known))
    places = list(range(len(known)))
    axes.barh(places, [a.rows for a in known], height=0.66, color="#dfe3e8", label="rows")
    axes.barh(places, [a.effective_size for a in known], height=0.36, color=BLUE, label="virtual plays")
    if caps:
        for place, action in zip(places, known, strict=True):
            cap = caps[index[action.name]]
            label = "cap" if place == 0 else None
            axes.plot([cap, cap], [place - 0.36, place + 0.36], color=ORANGE, lw=2.6, label=label)
    widest = max(action.rows for action in known)
    for place, action in zip(places, known, strict=True):
        share = action.effective_size / action.rows
        axes.text(action.rows + 0.015 * widest, place, f"{share:.0%}", va="center", fontsize=8.5, color="#57606a")
    axes.set_xlim(0, 1.12 * widest)
    axes.set_yticks(places, [shorten(action.name) for action in known])
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("rows of the log; per cent: virtual plays of each row")
    axes.grid(axis="x", color="#e6e8eb", lw=0.8)
    figure.legend(loc="outside upper left", ncols=3, frameon=False, handletextpad=0.4, columnspacing=1.2)
    return as_svg(figure)


def _draw_overlap(audit: Audit) -> str | None:
    """Histograms of the propensity of the action taken, orange where it is below 0.05."""
    known = sorted(zip(audit.overlap.actions, audit.actions.actions, strict=True), key=lambda pair: -pair[1].rows)
    known = [pair for pair in known if pair[1].rows][:12]
    edges = audit.overlap.edges
    n_columns = 1 if len(known) == 1 else 2
    n_rows = math.ceil(len(known) / n_columns)
    figure, grid = canvas(0.5 + 1.15 * n_rows, n_rows, n_columns)
    panels = [grid] if len(known) == 1 else list(grid.flat)
    bars = _merge_low_bins(edges)
    for axes, (overlap, action) in zip(panels, known, strict=False):
        for low, high, members in bars:
            share = sum(overlap.counts[j] for j in members) / action.rows
            colour = ORANGE if high <= 0.05 + 1e-9 else BLUE
            axes.bar(low, share, width=high - low, align="edge", color=colour, lw=0)
        axes.set_xlim(0, 1)
        axes.set_title(shorten(action.name), loc="left", fontsize=9.5)
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.locator_params(axis="y", nbins=3)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        axes.tick_params(labelsize=8, length=2)
        if overlap.never_share > 0.0:
            words = f"{100 * overlap.never_share:.0f} % of users\nnever saw it"
            axes.text(0.98, 0.95, words, transform=axes.transAxes, ha="right", va="top", fontsize=8.5, color=ORANGE)
    for axes in panels[len(known) :]:
        axes.set_visible(False)
    figure.supxlabel("chance of the action taken (orange: below 0.05)", fontsize=9)
    figure.supylabel("share of the action's rows", fontsize=9)
    return as_svg(figure)


def _merge_low_bins(edges: tuple[float, ...]) -> list[tuple[float, float, list[int]]]:
    """Bins of 0.025 to draw; those below are too narrow to see and are drawn as one."""
    bars: list[tuple[float, float, list[int]]] = [(0.0, 0.025, [])]
    for j, (low, high) in enumerate(pairwise(edges)):
        if high <= 0.025 + 1e-9:
            bars[0][2].append(j)
        else:
            bars.append((low, high, [j]))
    return bars


def _draw_balance(audit: Audit) -> str | None:
    """The love plot: the worst action's difference in each column, before and after weighting."""
    columns = sorted(audit.balance.columns, key=lambda column: -max(column.worst_before, column.worst_after))
    columns = columns[: _MOST_BARS + 5][::-1]
    if not columns:
        return None
    figure, axes = canvas(1.2 + 0.28 * len(columns))
    places = list(range(len(columns)))
    axes.axvspan(0, 0.1, color="#eaf5f0", lw=0)
    axes.axvline(0.1, color=GREEN, lw=1, ls="--")
    for place, column in zip(places, columns, strict=True):
        axes.plot([column.worst_before, column.worst_after], [place, place], color="#c4c9d0", lw=1.2, zorder=1)
    before, after = [c.worst_before for c in columns], [c.worst_after for c in columns]
    axes.plot(before, places, "o", mfc="white", mec=ORANGE, mew=1.6, ms=7, label="before weighting")
    axes.plot(after, places, "o", color=BLUE, ms=7, label="after weighting")
    axes.set_yticks(places, [shorten(column.name) for column in columns])
    axes.set_xlim(0, max(0.3, 1.08 * max(before + after)))
    axes.set_ylim(-0.6, len(columns) - 0.4)
    axes.set_xlabel("largest difference to all users, in standard deviations (green: small)")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper left", ncols=2, frameon=False, handletextpad=0.3, columnspacing=1.2)
    return as_svg(figure)


def _draw_calibration(audit: Audit) -> str | None:
    curve = audit.calibration
    figure, axes = canvas(3.6)
    top = min(1.0, 1.12 * max(*curve.claimed, *curve.observed))
    axes.plot([0, top], [0, top], color=GREY, lw=1, ls="--")
    axes.text(0.97 * top, 0.93 * top, "true", color="#57606a", ha="right", va="top", fontsize=8.5)
    errors = [2.0 * error for error in curve.errors]
    axes.errorbar(curve.claimed, curve.observed, yerr=errors, fmt="o-", color=BLUE, ms=6, lw=1.4, ecolor="#7fb8d8")
    axes.set_xlim(0, top)
    axes.set_ylim(0, top)
    axes.set_xlabel("chance that the propensities claim")
    axes.set_ylabel("how often it was taken (± 2 standard errors)")
    axes.grid(color="#e6e8eb", lw=0.8)
    return as_svg(figure)


def _draw_tipping(audit: Audit) -> str | None:
    """The lead against biases of known size: what single observed columns would have caused."""
    found = audit.sensitivity
    if found is None or not found.benchmarks:
        return None
    bars = [("all observed columns", abs(found.observed_bias))]
    bars += [(f"without {shorten(b.column, 16)}", abs(b.bias)) for b in found.benchmarks[:8]]
    bars = bars[::-1]
    figure, axes = canvas(1.5 + 0.3 * len(bars))
    places = list(range(len(bars)))
    right = 1.25 * max(found.tipping, max(bias for _, bias in bars), 1e-12)
    axes.axvspan(found.tipping, right, color="#fbe9e0", lw=0)
    axes.axvspan(found.useless, found.tipping, color="#fdf6e3", lw=0)
    axes.axvline(found.tipping, color=ORANGE, lw=2)
    axes.barh(places, [bias for _, bias in bars], height=0.55, color=[BLUE] * (len(bars) - 1) + [GREY])
    axes.set_yticks(places, [name for name, _ in bars])
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, right)
    axes.set_xlabel(f"bias of the lead, in {audit.facts.outcome}")
    axes.set_title(
        f"tipping point {number(found.tipping)}: beyond it the log is harmful,\n"
        f"from {number(found.useless)} (with noise) useless",
        loc="left",
        fontsize=9.5,
    )
    return as_svg(figure)


def _draw_population(audit: Audit) -> str | None:
    found = audit.population
    if found is None or not found.columns:
        return None
    columns = found.columns[:_MOST_BARS][::-1]
    figure, axes = canvas(1.0 + 0.28 * len(columns))
    places = list(range(len(columns)))
    shifts = [max(-3.0, min(3.0, column.difference)) for column in columns]
    axes.axvspan(-0.25, 0.25, color="#eaf5f0", lw=0)
    axes.barh(places, shifts, height=0.55, color=[ORANGE if abs(shift) >= 0.25 else BLUE for shift in shifts])
    axes.axvline(0.0, color=INK, lw=0.8)
    axes.set_yticks(places, [shorten(column.name) for column in columns])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("users to come against the log's, in standard deviations")
    return as_svg(figure)


def _draw_time(audit: Audit) -> str | None:
    """The best actions' outcomes over time, and the shares of all."""
    if audit.drift is None:
        return None
    figure, (above, below) = canvas(4.4, 2, 1)
    draw_over_time(audit.drift, audit.actions, above[0], below[0], audit.facts.outcome)
    figure.legend(*above[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False)
    return as_svg(figure)


_FIGURES: tuple[tuple[str, str, Callable[[Audit], str | None]], ...] = (
    ("actions", "Raw and adjusted mean of each action", _draw_means),
    ("actions", "Rows of each action, and the virtual plays that they are worth", _draw_sizes),
    ("propensities", "Calibration: claimed against observed shares in groups of like users", _draw_calibration),
    ("overlap", "Histograms of the propensity of the action taken", _draw_overlap),
    ("balance", "Love plot: differences to all users before and after weighting", _draw_balance),
    ("drift", "Outcome of each action over time, and how often each was used", _draw_time),
    ("sensitivity", "The tipping point against the bias that observed columns would cause", _draw_tipping),
    ("population", "Shift of each column between the log and the users to come", _draw_population),
)
