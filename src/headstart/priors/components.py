"""The components of a prior, in words and as curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from headstart.arrays import Floats

_WIDTH = 3.5  # standard deviations of a component that are drawn
_POINTS = 400


class Axes(Protocol):
    """What is asked of matplotlib's axes."""

    def plot(self, *values: object, **style: object) -> object: ...
    def fill_between(self, *values: object, **style: object) -> object: ...
    def set_yticks(self, ticks: Sequence[float], labels: Sequence[str]) -> object: ...
    def set_xlabel(self, text: str) -> object: ...
    def legend(self, **style: object) -> object: ...


class Components(NamedTuple):
    """Per action and component, (K, J): its chance, and the mean and standard deviation of an action's mean by it."""

    labels: tuple[str, ...]  # (J,)
    chances: Floats
    centres: Floats
    errors: Floats

    def describe(self, names: Sequence[object], worth: Floats) -> str:
        """A line in all, and one for each action: what the log says of it, and what may be true instead."""
        lines = [f"a log worth {worth.sum():.0f} users, {len(names)} actions"]
        for a, name in enumerate(names):
            parts = [
                f"{self.centres[a, j]:.3g} ± {self.errors[a, j]:.2g} ({label}) with chance {self.chances[a, j]:.3g}"
                for j, label in enumerate(self.labels)
                if self.chances[a, j] > 0.0
            ]
            lines.append(f"  {name}, worth {worth[a]:.0f} users: {'; '.join(parts)}")
        return "\n".join(lines)

    def plot(self, axes: Axes, names: Sequence[object]) -> None:
        """The density of each action's mean on a line of its own, one colour a component, its area its chance."""
        is_drawn = (self.chances > 0.0) & (self.errors > 0.0)
        if not is_drawn.any():
            return
        low = float((self.centres - _WIDTH * self.errors)[is_drawn].min())
        high = float((self.centres + _WIDTH * self.errors)[is_drawn].max())
        x = np.linspace(low, high, _POINTS)
        safe = np.where(is_drawn, self.errors, 1.0)[..., None]
        curves = np.exp(-0.5 * ((x - self.centres[..., None]) / safe) ** 2) / safe
        curves *= np.where(is_drawn, self.chances, 0.0)[..., None]  # (K, J, points)
        curves *= 0.9 / curves.sum(axis=1).max(axis=-1)[:, None, None]  # each action's as high as its line has room
        for j, label in enumerate(self.labels):
            if is_drawn[:, j].any():
                for a in range(len(names)):
                    below = -a + curves[a, :j].sum(axis=0)
                    first = a == int(np.argmax(is_drawn[:, j]))
                    axes.fill_between(
                        x, below, below + curves[a, j], color=f"C{j}", alpha=0.7, label=label if first else None
                    )
        axes.set_yticks([-float(a) for a in range(len(names))], [str(name) for name in names])
        axes.set_xlabel("mean outcome")
        axes.legend(frameon=False)
