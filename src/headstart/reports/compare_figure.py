"""The comparison's figure: curves over the rounds, and every policy's mean with its interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headstart.extras import brought_by
from headstart.judgement.compare.comparison import Comparison
from headstart.judgement.compare.policies import COLD, NAIVE, TODAY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import LineStyleType

# Okabe and Ito's palette, dark ones first; a line style says the same as the colour.
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#117733"]
_LINES: list[LineStyleType] = [
    "-",
    "--",
    "-.",
    (0, (5, 1)),
    (0, (3, 1, 1, 1)),
    (0, (1, 1)),
    (0, (8, 2)),
    (0, (4, 2, 1, 2)),
]
_REFERENCES: dict[str, tuple[str, LineStyleType]] = {
    COLD: ("#1f2328", "-"),
    NAIVE: ("#8a8f98", "--"),
    TODAY: ("#8a8f98", ":"),
}


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Write the figure (.png or .svg); the same comparison gives the same file."""
    with brought_by("plot"):
        import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    styles = _styles(comparison)
    height = max(3.6, 1.3 + 0.33 * len(comparison.earnings))
    with matplotlib.rc_context({"svg.hashsalt": "headstart", "font.size": 9}):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, height), layout="constrained", width_ratios=[1, 1])
        _draw_curves(left, comparison, styles)
        _draw_means(right, comparison, styles)
        note = (
            f"{comparison.acceptance.method}, {comparison.acceptance.n_rounds:,} rounds, "
            f"{comparison.shuffles} shuffles of {comparison.n_log + comparison.n_stream:,} rows"
        )
        figure.suptitle(f"Mean outcome per user\n{note}", fontsize=9, x=0.01, ha="left")
        is_svg = path.suffix == ".svg"
        figure.savefig(path, dpi=150, metadata={"Date": None} if is_svg else {"Software": "headstart"})
        plt.close(figure)


def _styles(comparison: Comparison) -> dict[str, tuple[str, LineStyleType]]:
    styles: dict[str, tuple[str, LineStyleType]] = dict(_REFERENCES)
    others = [earning.name for earning in comparison.earnings if earning.name not in styles]
    for i, name in enumerate(others):
        styles[name] = (_COLOURS[i % len(_COLOURS)], _LINES[i % len(_LINES)])
    return styles


def _draw_curves(axes: Axes, comparison: Comparison, styles: dict[str, tuple[str, LineStyleType]]) -> None:
    # The first rounds are a few users' luck and would set the scale for all.
    shown = comparison.rounds >= 0.05 * comparison.rounds[-1]
    for earning in comparison.earnings:
        colour, line = styles[earning.name]
        width = 2.2 if earning.name in _REFERENCES else 1.5
        axes.plot(
            comparison.rounds[shown], earning.curve[shown], color=colour, linestyle=line, lw=width, label=earning.name
        )
    axes.set_xlabel("users so far")
    axes.set_ylabel(f"mean {comparison.outcome} up to then")
    axes.set_xlim(0, int(comparison.rounds[-1]))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", lw=0.4, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_means(axes: Axes, comparison: Comparison, styles: dict[str, tuple[str, LineStyleType]]) -> None:
    ranked = comparison.earnings[::-1]
    noise = {difference.policy for difference in comparison.to_best if difference.is_noise}
    for place, earning in enumerate(ranked):
        colour, line = styles[earning.name]
        axes.plot([earning.low, earning.high], [place, place], color=colour, lw=2.4, linestyle=line)
        axes.plot([earning.mean], [place], "o", color=colour, ms=6)
        if earning.name in noise:
            axes.annotate(
                "within noise of the best",
                (earning.high, place),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color="#57606a",
            )
    axes.set_yticks(range(len(ranked)), [earning.name for earning in ranked])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, len(ranked) - 0.4)
    axes.set_xlabel(f"mean {comparison.outcome} per user, {comparison.level:.0%} interval")
    axes.margins(x=0.16)
    axes.grid(axis="x", lw=0.4, alpha=0.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
