"""A log by its actions, for people: how many rows each has, and its raw mean."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

import numpy as np

from headstart.displayed import Display
from headstart.logs.reading import Reading
from headstart.logs.sums import EVERY, ActionSums


class HasActions(Protocol):
    """A log of any kind, as far as its actions go."""

    @property
    def action_names(self) -> tuple[Hashable, ...]:
        """The labels."""

    @property
    def reading(self) -> Reading | None:
        """What it was read from."""

    def action_sums(self, only: Sequence[str] = EVERY) -> ActionSums:
        """Sums per action."""


def tell_log(headline: str, log: HasActions) -> Display:
    """A log by its actions: how many rows each has, and its raw mean."""
    sums = log.action_sums(("n", "y"))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums.y / sums.n
    name = "the outcome" if log.reading is None else log.reading.columns.get("outcome", "the outcome")
    columns = {
        "action": [str(name) for name in log.action_names],
        "rows": sums.n.astype(np.int64).tolist(),
        f"raw mean of {name}": means.tolist(),
    }
    return Display(headline, columns=columns)
