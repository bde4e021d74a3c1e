"""The components of a prior, in words and as curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from headstart.arrays import Bools, Floats

_WIDTH = 3.5  # standard deviations of a component that are drawn
_POINTS = 800
_HEIGHT = 0.9  # of an action's line: a chance of 1


class Axes(Protocol):
    """What is asked of matplotlib's axes."""

    def fill_between(self, *values: object, **style: object) -> object: ...
    def set_yticks(self, ticks: Sequence[float], labels: Sequence[str]) -> object: ...
    def set_xlabel(self, text: str) -> object: ...
    def legend(self, **style: object) -> object: ...


def label_sets(believed: Bools | None, n_actions: int) -> tuple[tuple[str, ...], ...]:
    """What the components of each action that believe a log are called, (K, L); of several, (K, L, S), which ones."""
    if believed is None:
        return (("the log",),) * n_actions
    return tuple(tuple(_name_set(which) for which in each) for each in believed)


def _name_set(which: Bools) -> str:
    numbers = [str(s + 1) for s in np.flatnonzero(which)]
    if len(numbers) < 2:
        return f"log {''.join(numbers)}"
    return f"logs {', '.join(numbers[:-1])} and {numbers[-1]}"


class Components(NamedTuple):
    """Per action and component, (K, J): its chance, and the mean and standard deviation of an action's mean by it."""

    labels: tuple[tuple[str, ...], ...]  # (K, J)
    chances: Floats
    centres: Floats
    errors: Floats

    def describe(self, names: Sequence[object], worth: Floats) -> str:
        """A line in all, and one for each action: what the log says of it, and what may be true instead."""
        if not self.errors.any():  # "± 0" would claim the contrary of what is meant
            return (
                f"a log of {len(names)} actions whose outcomes do not vary, or are too few to tell: their spread is "
                "unknown, and so is what the log is worth"
            )
        lines = [f"a log worth {worth.sum():.0f} users, {len(names)} actions"]
        for a, name in enumerate(names):
            parts = [
                f"{self.centres[a, j]:.3g} ± {self.errors[a, j]:.2g} ({label}) with chance {self.chances[a, j]:.3g}"
                for j, label in enumerate(self.labels[a])
                if self.chances[a, j] > 0.0
            ]
            lines.append(f"  {name}, worth {worth[a]:.0f} users: {'; '.join(parts)}")
        return "\n".join(lines)

    def plot(self, axes: Axes, names: Sequence[object]) -> None:
        """Each action's components on a line of its own: as wide as each is unsure, as high as its chance.

        Not as densities: of those a wide component of a small chance, which is what the doubt is, cannot be seen.
        """
        is_drawn = (self.chances > 0.0) & (self.errors > 0.0)
        if not is_drawn.any():
            return
        low = float((self.centres - _WIDTH * self.errors)[is_drawn].min())
        high = float((self.centres + _WIDTH * self.errors)[is_drawn].max())
        x = np.linspace(low, high, _POINTS)
        places = {label: i for i, label in enumerate(dict.fromkeys(each for line in self.labels for each in line))}
        told: set[str] = set()
        for j, a in np.argwhere(is_drawn.T).tolist():
            label = self.labels[a][j]
            apart = (x - self.centres[a, j]) / self.errors[a, j]
            top = -a + _HEIGHT * self.chances[a, j] * np.exp(-0.5 * apart**2)
            said = None if label in told else label
            told.add(label)
            axes.fill_between(x, np.full(x.size, -float(a)), top, color=f"C{places[label]}", alpha=0.6, label=said)
        axes.set_yticks([-float(a) for a in range(len(names))], [str(name) for name in names])
        axes.set_xlabel("mean outcome")
        axes.legend(frameon=False)
