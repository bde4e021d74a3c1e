"""Overlap: whether every kind of user had a real chance of every action; if not, a warning with numbers."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence

import numpy as np

from headstart.arrays import Floats

RARE, LOW = 0.01, 0.05  # chances that the warning counts users below


class OverlapWarning(UserWarning):
    """For many users an action had hardly a chance: what it would have done to them is extrapolation."""


def thin_chance(n_actions: int) -> float:
    """The chance below which a user hardly saw an action: 0.01, or a tenth of an even share if that is less."""
    return min(RARE, 0.1 / n_actions)


def warn_of_poor_overlap(
    matrix: Floats, names: Sequence[Hashable], most_share: float, *, stacklevel: int = 3
) -> None:
    """Warn, with the worst action's numbers, if more than this share of users has a thin chance of some action.

    A user with a chance below 0.01 has a weight above 100. If they are 5 % of all users, then leaving them out (which
    trimming and matching do) can move an action's mean by 0.05 of the outcome's range, the size of difference that
    decisions are made on; and keeping them lets single rows outweigh a hundred others. Below that share the damage
    is bounded by it. An action that the log never shows is not counted: it has no estimate to be misled by.
    """
    shown = matrix.any(axis=0)
    limit = thin_chance(matrix.shape[1])
    thin = np.where(shown, (matrix < limit).mean(axis=0), 0.0)
    worst = int(thin.argmax())
    if thin[worst] <= most_share:
        return
    poor = int((thin > most_share).sum())
    more = f" (the worst of {poor} such actions)" if poor > 1 else ""
    low = float((matrix[:, worst] < LOW).mean())
    warnings.warn(
        f"poor overlap: {thin[worst]:.1%} of {len(matrix)} users had an estimated chance below {limit:g} of action "
        f"{names[worst]!r}{more}, {low:.1%} one below {LOW:g}, the smallest {matrix[:, worst].min():.2g}. Weighted "
        "estimates of it rest on few rows: trim (trim=...), restrict the users, or trust them less",
        OverlapWarning,
        stacklevel=stacklevel,
    )
