"""Mislogged: a world whose log says too much or too little of some actions, or of all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart.errors import OptionError
from headstart.logs.log import Log
from headstart.simulation.simulate import Drawn, World
from headstart.worlds.drawn import DrawnWorld


@dataclass(frozen=True)
class Mislogged:
    """Another world, to whose logged outcomes a constant is added: one number for all actions alike (another season,
    another price), or one for each. Users are as they are."""

    world: World
    biases: ArrayLike

    def __post_init__(self) -> None:
        if not np.isfinite(np.asarray(self.biases, dtype=np.float64)).all():
            raise OptionError(f"biases must be finite, got {self.biases!r}")

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """The world, its log as it was told."""
        return told_with(self.world.draw(rng), self.biases)


def told_with(drawn: Drawn, biases: ArrayLike) -> DrawnWorld:
    """A drawn world whose log has these constants added, one for all actions or one for each."""
    log = drawn.log
    added = np.broadcast_to(np.asarray(biases, dtype=np.float64), (log.n_actions,))
    told = Log(
        log.actions,
        log.outcomes + added[log.actions],
        log.contexts,
        log.propensities if log.propensity_matrix is None else log.propensity_matrix,
        n_actions=log.n_actions,
    )
    return DrawnWorld(told, drawn.n_features, drawn.kernel_state, getattr(drawn, "population", None))
