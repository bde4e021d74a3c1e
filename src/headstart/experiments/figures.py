"""Figures: regret curves that can be read in print and by the colour-blind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headstart.experiments.experiment import Result

# Okabe and Ito's palette, dark ones first; a line style and a marker say the same as the colour.
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
_LINES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
_MARKERS = ["o", "s", "^", "D", "v", "P", "X"]


def label_of(result: Result) -> str:
    """The series, and what sets its case apart."""
    setting = ", ".join(f"{name} = {value}" for name, value in result.setting.items())
    return f"{result.series} ({setting})" if setting else result.series


def draw_curves(results: Sequence[Result], title: str, path: Path, *, is_log: bool = False) -> None:
    """Mean cumulative regret over rounds with the band from the 20th to the 80th percentile."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    for i, result in enumerate(results):
        curve = result.curve
        colour, line = _COLOURS[i % len(_COLOURS)], _LINES[i % len(_LINES)]
        axes.fill_between(curve.rounds, curve.percentiles(20), curve.percentiles(80), color=colour, alpha=0.13, lw=0)
        axes.plot(
            curve.rounds,
            curve.means,
            color=colour,
            linestyle=line,
            linewidth=1.8,
            marker=_MARKERS[i % len(_MARKERS)],
            markevery=(0.02 * (i + 1), 0.16),
            markersize=5,
            label=f"{label_of(result)}: {curve.mean:.3g} ± {curve.se:.2g}",
        )
    axes.set_xlabel("users")
    axes.set_ylabel("cumulative regret")
    axes.set_title(title, loc="left", fontsize=11)
    if is_log:
        axes.set_yscale("symlog", linthresh=1.0)
    axes.set_xlim(0, max(int(result.curve.rounds[-1]) for result in results))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    runs = results[0].curve.runs
    figure.text(0.995, 0.005, f"{runs} runs; bands: 20th to 80th percentile", ha="right", fontsize=7, color="#555555")
    figure.savefig(path, dpi=150, metadata=_without_date(path))
    plt.close(figure)


def _without_date(path: Path) -> dict[str, str | None]:
    """The same results give the same file."""
    return {"Date": None} if path.suffix == ".svg" else {"Software": "headstart"}

