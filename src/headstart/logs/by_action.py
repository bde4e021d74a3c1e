"""A log by its actions, for people: how many rows each has, and its raw mean."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

import numpy as np

from headstart.displayed import Display
from headstart.logs.sums import EVERY, ActionSums


class HasActions(Protocol):
    """A log of any kind, as far as its actions go."""

    @property
    def action_names(self) -> tuple[Hashable, ...]:
        """The labels."""

    def action_sums(self, only: Sequence[str] = EVERY) -> ActionSums:
        """Sums per action."""


def tell_log(headline: str, log: HasActions) -> Display:
    """A log by its actions: how many rows each has, and its raw mean."""
    sums = log.action_sums(("n", "y"))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums.y / sums.n
    columns = {
        "action": [str(name) for name in log.action_names],
        "rows": sums.n.astype(np.int64).tolist(),
        "raw mean of the outcome": means.tolist(),
    }
    return Display(headline, columns=columns)
