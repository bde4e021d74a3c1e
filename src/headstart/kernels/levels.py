"""The level of today's users beside the log's: the same, or off by some steps; weighed by all actions together.

A season, a price or another kind of user moves the outcomes of all actions alike and leaves their differences as the
log has them. The first level is the log's own; the others lie on a grid around it. Given the level, actions are
independent and each is believed as ever (kernels.beliefs), its outcomes less the level; what all of them say of the
level is multiplied.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compile import kernel

LEAST = 1e-9  # a level whose chance has been smaller is given up


class Levels(NamedTuple):
    """G levels, the chance of each, and what is believed of K actions with J components given each."""

    offsets: Floats  # (G,) of users' outcomes from the log's; the first is 0
    spread: float  # the variance of a level within its step
    chances: Floats  # (G,)
    evidences: Floats  # (G, K) logarithms, of an action's outcomes given the level
    predicted: Floats  # (G, K) means of the posterior, less the level
    weights: Floats  # (G, K, J)
    locations: Floats  # (G, K, J)
    scales: Floats  # (G, K, J)


def new_levels(offsets: Floats, chances: Floats, spread: float, shape: tuple[int, int]) -> Levels:
    """Levels before any user, of K actions with J components each (`shape`)."""
    g, (k, j) = offsets.size, shape
    each = (np.zeros((g, k, j)) for _ in range(3))
    return Levels(offsets, spread, chances, np.zeros((g, k)), np.zeros((g, k)), *each)


@kernel
def weigh_levels(levels: Levels, before: Floats, action: int) -> None:
    """The chance of each level by what an action's evidence became; `before`, (G,), is what it was."""
    top = -np.inf
    for g in range(levels.offsets.size):
        if levels.chances[g] > 0.0:
            top = max(top, levels.evidences[g, action] - before[g])
    whole = 0.0
    for g in range(levels.offsets.size):
        if levels.chances[g] > 0.0:
            levels.chances[g] *= math.exp(levels.evidences[g, action] - before[g] - top)
            whole += levels.chances[g]
    for g in range(levels.offsets.size):
        chance = levels.chances[g] / whole
        levels.chances[g] = chance if chance > LEAST else 0.0


@kernel
def average_levels(levels: Levels, weights: Floats, locations: Floats, scales: Floats, sizes: Floats) -> None:
    """What is believed of each action, (K, J), over levels.

    The level is common to all, so what counts of a component is how far it is from the best action at each level.
    `sizes`, the plays that each is worth, shrink by what the levels disagree about: that is soon told apart.
    """
    n_levels, n_actions, n_components = levels.weights.shape
    best, largest = 0, -np.inf
    for a in range(n_actions):
        mean = 0.0
        for g in range(n_levels):
            if levels.chances[g] > 0.0:
                mean += levels.chances[g] * levels.predicted[g, a]
        if mean > largest:
            best, largest = a, mean
    at = 0.0
    for g in range(n_levels):
        if levels.chances[g] > 0.0:
            at += levels.chances[g] * (levels.predicted[g, best] + levels.offsets[g])
    for a in range(n_actions):
        for j in range(n_components):
            whole, mean, within, around = 0.0, 0.0, 0.0, 0.0
            for g in range(n_levels):
                share = levels.chances[g] * levels.weights[g, a, j]
                if share > 0.0:
                    apart = levels.locations[g, a, j] - levels.predicted[g, best]
                    whole += share
                    mean += share * apart
                    within += share * levels.scales[g, a, j] ** 2
                    around += share * apart * apart
            weights[a, j] = whole
            if whole > 0.0:
                between = max(around / whole - (mean / whole) ** 2, 0.0)
                within /= whole
                locations[a, j] = at + mean / whole
                scales[a, j] = math.sqrt(within + between)
                sizes[a, j] *= within / (within + between)
            else:  # of no chance at any level, as the log's is of an action that it never shows
                locations[a, j], scales[a, j] = at, levels.scales[0, a, j]
