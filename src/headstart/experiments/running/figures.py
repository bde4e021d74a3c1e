"""Figures: regret curves that can be read in print and by the colour-blind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headstart.experiments.paper.yahoo import YahooExperiment
from headstart.experiments.running.experiment import Experiment, Result
from headstart.extras import brought_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import LineStyleType

# Okabe and Ito's palette, dark ones first; a line style and a marker say the same as the colour.
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
_LINES: list[LineStyleType] = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
_MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
_MOST_COLUMNS = 4


def label_of(result: Result, without: Sequence[str] = ()) -> str:
    """The series, and what sets its case apart."""
    setting = ", ".join(f"{name} = {value}" for name, value in result.setting.items() if name not in without)
    return f"{result.series} ({setting})" if setting else result.series


def draw_figure(experiment: Experiment | YahooExperiment, results: Sequence[Result], path: Path) -> None:
    """Mean cumulative regret over rounds, bands from the 20th to the 80th percentile, a panel per setting."""
    with brought_by("plot"):
        import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    if isinstance(experiment, Experiment) and experiment.draw is not None:
        experiment.draw(results, path)
        return
    groups = _panels(results, experiment.panels)
    # Two settings make a grid: the last one runs across.
    across = {result.setting.get(experiment.panels[-1]) for result in results} if len(experiment.panels) > 1 else ()
    n_columns = len(across) or min(len(groups), _MOST_COLUMNS)
    n_rows = math.ceil(len(groups) / n_columns)
    size = (7.2, 4.4) if len(groups) == 1 else (3.2 * n_columns, 2.9 * n_rows + 0.4)
    with matplotlib.rc_context({"svg.hashsalt": experiment.name}):  # the same results give the same file
        figure, grid = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False)
        for axes, (title, members) in zip(grid.flat, groups.items(), strict=False):
            _draw_panel(axes, members, experiment.panels, is_alone=len(groups) == 1)
            axes.set_title(title or experiment.shows, loc="left", fontsize=11 if len(groups) == 1 else 9)
        for axes in grid.flat[len(groups) :]:
            axes.set_visible(False)
        for axes in grid[:, 0]:
            axes.set_ylabel(experiment.measure)
        for axes in grid[-1]:
            axes.set_xlabel("users")
        runs = sorted({f"{result.curve.runs:,}" for result in results}, key=len)
        note = f"{' or '.join(runs)} runs; bands: 20th to 80th percentile"
        if len(groups) > 1:
            figure.suptitle(f"{experiment.shows}\n{note}", fontsize=9, x=0.01, ha="left")
        else:
            grid[0, 0].set_xlabel(f"users ({note})")
            figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=8)  # it covers nothing
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else {"Software": "headstart"})
        plt.close(figure)


def _draw_bound(axes: Axes, result: Result, colour: str) -> None:
    assert result.bound is not None
    rounds = result.curve.rounds
    horizons = [int(t) for t in rounds[:: -max(1, rounds.size // 25)]][::-1]  # the last round included
    values = [result.bound(t) for t in horizons]
    label = f"its bound: {values[-1]:.3g}"
    axes.plot(horizons, values, color=colour, linewidth=0.9, linestyle=(0, (6, 3)), label=label)
    axes.set_yscale("symlog", linthresh=1.0)


def _panels(results: Sequence[Result], panels: Sequence[str]) -> dict[str, list[Result]]:
    groups: dict[str, list[Result]] = {}
    for result in results:
        title = ", ".join(f"{name} = {result.setting[name]}" for name in panels if name in result.setting)
        groups.setdefault(title, []).append(result)
    return groups


def _draw_panel(axes: Axes, results: Sequence[Result], panels: Sequence[str], *, is_alone: bool) -> None:
    for i, result in enumerate(results):
        curve = result.curve
        colour, line = _COLOURS[i % len(_COLOURS)], _LINES[i % len(_LINES)]
        low, high = curve.percentiles(20), curve.percentiles(80)
        axes.fill_between(curve.rounds, low, high, color=colour, alpha=0.13, lw=0)
        axes.plot(
            curve.rounds,
            curve.means,
            color=colour,
            linestyle=line,
            linewidth=1.8 if is_alone else 1.4,
            marker=_MARKERS[i % len(_MARKERS)],
            markevery=(0.02 * (i + 1), 0.16 if is_alone else 0.3),
            markersize=5 if is_alone else 4,
            label=f"{label_of(result, without=panels)}: {curve.mean:.3g} ± {curve.se:.2g}",
        )
        if result.bound is not None:
            _draw_bound(axes, result, colour)
    axes.set_xlim(0, max(int(result.curve.rounds[-1]) for result in results))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    axes.tick_params(labelsize=9 if is_alone else 7)
    has_bounds = any(result.bound is not None for result in results)
    if not is_alone:
        axes.legend(fontsize=6, frameon=False, loc="lower right" if has_bounds else "upper left")
