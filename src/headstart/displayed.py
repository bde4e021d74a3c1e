"""Displayed: results that show themselves, in a terminal, in a notebook, as a frame and as a picture."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from numpy.typing import ArrayLike

from headstart.extras import brought_by
from headstart.numerals import find_unit, tell_cell

_LETTERS, _LETTERS_UP = 38, 32  # of a line of an axis's label
_MOST_ROWS = 12  # of a table in text or HTML; a frame has them all


@dataclass(frozen=True)
class Display:
    """What a result says of itself: a headline, sentences, and a table by columns."""

    headline: str
    sentences: tuple[str, ...] = ()
    columns: Mapping[str, Sequence[object]] = field(default_factory=dict)

    @property
    def cells(self) -> list[list[str]]:
        """The table's first rows, as people read them."""
        rows = list(zip(*self.columns.values(), strict=True))[:_MOST_ROWS]
        return [[tell_cell(value) for value in row] for row in rows]

    @property
    def n_left_out(self) -> int:
        """Rows that are not among `cells`."""
        return max(0, max((len(column) for column in self.columns.values()), default=0) - _MOST_ROWS)


class Displayed:
    """A mixin. A result says what it is once (`_tell`), and everything else follows.

    `repr` and a notebook show its headline, its sentences and the first rows of its table; `to_frame` gives the whole
    table. Where a picture helps, a class draws it (`_draw`), and `plot` is that picture.
    """

    def _tell(self) -> Display:
        """What it says of itself."""
        raise NotImplementedError

    def _draw(self, axes: Any) -> None:
        """Its picture, on matplotlib's axes."""
        raise NotImplementedError(f"{type(self).__name__} has no picture")

    def __repr__(self) -> str:
        return _write_text(self._tell())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return _write_html(self._tell())

    def to_frame(self) -> Any:
        """Its table: a pandas DataFrame where pandas is installed, else an Arrow table."""
        return as_frame(self._tell().columns)

    def plot(self, axes: Any = None) -> Any:
        """Its picture, on these matplotlib axes or on new ones; they are returned, so that you can go on drawing."""
        axes = _new_axes() if axes is None else axes
        self._draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
        tell_axes(axes)
        return axes


def as_frame(columns: Mapping[str, Sequence[object]]) -> Any:
    """Columns as a pandas DataFrame where pandas is installed, else as an Arrow table."""
    if find_spec("pandas") is not None:
        import pandas as pd

        return pd.DataFrame(dict(columns))
    with brought_by("logs"):
        import pyarrow as pa

    return pa.table(dict(columns))


def draw_intervals(axes: Any, names: Sequence[object], means: ArrayLike, lows: ArrayLike, highs: ArrayLike) -> None:
    """A mark with its interval for each name, the first on top."""
    places = range(len(names))[::-1]
    axes.hlines(places, lows, highs, lw=2.4, color="#0072B2")
    axes.plot(means, places, "o", color="#0072B2")
    axes.set_yticks(places, [str(name) for name in names])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.grid(axis="x", lw=0.4, alpha=0.5)


def tell_axes(axes: Any) -> None:
    """Numbers on axes as people read them, their unit in the label, and no label longer than its axis."""
    from matplotlib.ticker import ScalarFormatter

    for axis, most in ((axes.xaxis, _LETTERS), (axes.yaxis, _LETTERS_UP)):
        label = axis.get_label_text()
        if isinstance(axis.get_major_formatter(), ScalarFormatter):
            unit, word = find_unit(max(abs(end) for end in axis.get_view_interval()))
            axis.set_major_formatter(lambda value, _, unit=unit: f"{value / unit:,.10g}")
            label += f" (in {word}{'' if unit < 1.0 else 's'})" if word else ""
        axis.set_label_text(textwrap.fill(label, most))


def _new_axes() -> Any:
    with brought_by("plot"):
        import matplotlib.pyplot as plt

    return plt.subplots(figsize=(5.4, 3.2), layout="constrained")[1]


def _write_text(told: Display) -> str:
    lines = [told.headline, *told.sentences]
    if told.columns:
        rows = [list(told.columns), *told.cells]
        widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        is_left = [_is_text(column) for column in told.columns.values()]
        for row in rows:
            cells = zip(row, widths, is_left, strict=True)
            lines.append("  ".join(cell.ljust(n) if left else cell.rjust(n) for cell, n, left in cells).rstrip())
    if told.n_left_out:
        lines.append(f"... {told.n_left_out:,} more rows: to_frame() has them all")
    return "\n".join(lines)


def _write_html(told: Display) -> str:
    parts = [f"<p><b>{html.escape(told.headline)}</b></p>"]
    parts += [f"<p>{html.escape(sentence)}</p>" for sentence in told.sentences]
    if told.columns:
        align = ["left" if _is_text(column) else "right" for column in told.columns.values()]
        parts.append(f"<table><thead>{_write_row(list(told.columns), align, 'th')}</thead><tbody>")
        parts += [_write_row(row, align, "td") for row in told.cells]
        parts.append("</tbody></table>")
    if told.n_left_out:
        parts.append(f"<p>{told.n_left_out:,} more rows: to_frame() has them all.</p>")
    return "".join(parts)


def _write_row(cells: Sequence[str], align: Sequence[str], tag: str) -> str:
    row = "".join(
        f'<{tag} style="text-align: {side}">{html.escape(cell)}</{tag}>'
        for cell, side in zip(cells, align, strict=True)
    )
    return f"<tr>{row}</tr>"


def _is_text(column: Sequence[object]) -> bool:
    return any(isinstance(value, str) for value in column)
