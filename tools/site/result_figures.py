"""The regret at the last round of every series of an experiment, as one figure that a phone can show."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headstart.experiments.running.experiment import ResultRow
from headstart.experiments.running.results import WORDS
from headstart.reports.drawing import STYLE, WIDTH

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_FEWEST = 3  # values of a number that make an axis
_MOST_LABELS = 16  # of marks in one panel
_PANELS = ("log", "world")  # settings that get a panel of their own where there are more
_MINOR = ("gap", "T", "at")  # settings whose marks share a line there
_VALUES = {("contexts", "true"): "the users' own contexts", ("contexts", "empirical"): "the log's contexts"}
_MEASURES = {"cumulative regret": "outcome lost to the best action,\nsummed over users"}
_WIDTH = 1.2 * WIDTH
_TITLE = 34  # letters in a line of a panel's title


def draw_results(rows: Sequence[ResultRow], measure: str, path: Path) -> None:
    """Lines over a setting that is a number of three values or more, else a mark for each series and setting."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    along = _axis(rows)
    with matplotlib.rc_context(STYLE):
        figure = _draw_all_marks(rows) if along is None else _draw_all_lines(rows, along)
        measured = f"{_MEASURES.get(measure, measure)} (± 2 standard errors)"
        figure.supxlabel(measured if along is None else WORDS.get(along, along), fontsize=9.5)
        if along is not None:
            figure.supylabel(measured, fontsize=9.5)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _draw_all_marks(rows: Sequence[ResultRow]) -> Any:
    is_long = len({_label(row) for row in rows}) > _MOST_LABELS
    panels = _panels(rows, *_PANELS) if is_long else {"": list(rows)}
    labels = [{_label(row, is_long) for row in members} for members in panels.values()]
    figure, axes = _panel_grid(len(panels), 1, sum(0.55 + 0.24 * len(each) for each in labels) + 0.4)
    for each, (title, members) in zip(axes.flat, panels.items(), strict=True):
        _draw_marks(each, members, title, is_long=is_long)
    return figure


def _draw_all_lines(rows: Sequence[ResultRow], along: str) -> Any:
    panels = _panels(rows, *(name for name in _names(rows) if name != along))
    n_rows = math.ceil(len(panels) / 2)
    figure, axes = _panel_grid(n_rows, min(2, len(panels)), 2.6 * n_rows + 0.7, sharey=True)
    for each, (title, members) in zip(axes.flat, panels.items(), strict=False):
        _draw_lines(each, members, along, title)
    axes.flat[0].set_ylim(bottom=0)  # shared by all
    for each in axes.flat[len(panels) :]:
        each.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False)
    return figure


def _panel_grid(n_rows: int, n_columns: int, height: float, *, sharey: bool = False) -> Any:
    import matplotlib.pyplot as plt

    size = (_WIDTH, height)
    return plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, layout="constrained", sharey=sharey)


def _names(rows: Sequence[ResultRow]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row["setting"]))


def _axis(rows: Sequence[ResultRow]) -> str | None:
    for name in _names(rows):
        values = {row["setting"].get(name) for row in rows}
        if len(values) >= _FEWEST and all(isinstance(value, int | float) for value in values):
            return name
    return None


def _panels(rows: Sequence[ResultRow], *by: str) -> dict[str, list[ResultRow]]:
    groups: dict[str, list[ResultRow]] = {}
    for row in rows:
        title = ", ".join(
            f"{WORDS.get(name, name)}: {_value(name, row['setting'][name])}" for name in by if name in row["setting"]
        )
        groups.setdefault(title, []).append(row)
    return groups


def _value(name: str, value: Any) -> str:
    return _VALUES.get((name, str(value)), str(value))


def _label(row: ResultRow, is_long: bool = False) -> str:
    left_out = (*_PANELS, *_MINOR) if is_long else ()
    setting = ", ".join(_value(name, value) for name, value in row["setting"].items() if name not in left_out)
    return f"{row['series']} ({setting})" if setting else row["series"]


def _draw_marks(axes: Any, rows: Sequence[ResultRow], title: str, *, is_long: bool) -> None:
    labels = list(dict.fromkeys(_label(row, is_long) for row in rows))[::-1]
    series = list(dict.fromkeys(row["series"] for row in rows))
    for row in rows:
        i = 0 if is_long else series.index(row["series"])
        axes.errorbar(
            row["mean"], labels.index(_label(row, is_long)), xerr=2 * row["se"], fmt=_MARKERS[i % len(_MARKERS)],
            color=_COLOURS[i % len(_COLOURS)], markersize=5, alpha=0.55 if is_long else 1.0, capsize=0,
        )  # fmt: skip
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(-0.6, len(labels) - 0.4)
    means = [row["mean"] for row in rows]
    if min(means) > 0 and max(means) > 30 * min(means):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        axes.set_xlim(left=0)
    axes.set_title(title, loc="left", fontsize=9.5)
    axes.grid(axis="x", lw=0.4, alpha=0.5)


def _draw_lines(axes: Any, rows: Sequence[ResultRow], along: str, title: str) -> None:
    for i, series in enumerate(dict.fromkeys(row["series"] for row in rows)):
        members = sorted((row for row in rows if row["series"] == series), key=lambda row: row["setting"][along])
        axes.errorbar(
            [row["setting"][along] for row in members], [row["mean"] for row in members],
            yerr=[2 * row["se"] for row in members], marker=_MARKERS[i % len(_MARKERS)],
            color=_COLOURS[i % len(_COLOURS)], markersize=5, lw=1.5, label=series,
        )  # fmt: skip
    if all(isinstance(row["setting"][along], int) for row in rows):
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_title(textwrap.fill(title, _TITLE), loc="left", fontsize=9.5)
    axes.grid(axis="y", lw=0.4, alpha=0.5)
