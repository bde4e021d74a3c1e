"""How figures are drawn for a page: narrow enough for a phone, readable in print and by the colour-blind."""

from __future__ import annotations

import io
from typing import Any

# Okabe and Ito's palette.
BLUE, ORANGE, GREEN, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#8a8f98", "#1f2328"
WIDTH = 5.4  # inches: one to one on a phone's screen
STYLE: dict[Any, Any] = {
    "font.size": 9.5,
    "axes.edgecolor": "#c4c9d0",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "svg.fonttype": "path",
    "svg.hashsalt": "headstart",
}


def canvas(height: float, n_rows: int = 1, n_columns: int = 1) -> tuple[Any, Any]:
    """A figure and its axes."""
    import matplotlib.pyplot as plt

    return plt.subplots(
        n_rows, n_columns, figsize=(WIDTH, height), layout="constrained", squeeze=n_rows * n_columns == 1
    )


def as_svg(figure: Any) -> str:
    """The figure, closed, as an SVG element; the same figure gives the same text."""
    import matplotlib.pyplot as plt

    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "headstart"})
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def shorten(name: object, most: int = 22) -> str:
    """A name that is not too long for an axis."""
    text = str(name)
    return text if len(text) <= most else text[: most - 1] + "…"
