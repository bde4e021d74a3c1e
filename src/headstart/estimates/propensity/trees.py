"""Propensities of a policy that no line can follow: boosted trees, tried where the regression's residuals ask for it.

The look is cheap (`estimates.cells`): in every cell of two cut columns the residuals of each action must sum to 0 up
to noise. Where they do, the regression stays; where they do not, trees are grown on the same folds and have to show
on rows they never saw that they are better.
"""

from __future__ import annotations

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.estimates.cells import Residuals, every_so_many, find_steps, stands_out
from headstart.estimates.cross_fit import cross_fit
from headstart.estimates.gradient_trees import boost_classes, softmax
from headstart.logs.log import Log

STAGES = (5, 10, 20, 40, 80)  # numbers of rounds of boosting, of which the rows left out choose one
_MANY_ACTIONS = 10  # beyond: half as many rounds, each of which grows a tree per action
_MOST_ROWS = 20_000  # to learn from
_LEAST_VARIANCE = 5.0  # of a cell's residuals, for their sum to be near normal


def is_off(log: Log, chances: Floats) -> bool:
    """Whether chances, (n, K), are off in some cell of two cut columns beyond noise."""
    rows = every_so_many(len(log))
    actions, p = log.actions[rows], chances[rows]
    taken = (actions[:, None] == np.arange(log.n_actions)).astype(np.float64)
    terms = [Residuals(slice(None), taken[:, a] - q, q * (1.0 - q)) for a, q in enumerate(p.T)]
    return stands_out(find_steps(log.contexts[rows], taken), terms, _LEAST_VARIANCE)


def boost_chances(log: Log, folds: Integers) -> Floats:
    """Every row's chances by boosted trees of the other folds, (n, K), as many rounds as suit the rows left out."""
    stages = STAGES if log.n_actions <= _MANY_ACTIONS else STAGES[:-1]
    staged = cross_fit(folds, len(stages) * log.n_actions, _Boosting(log, stages))
    chances = staged.reshape(len(log), len(stages), log.n_actions)
    taken = chances[np.arange(len(log)), :, log.actions]
    best = int(np.log(np.maximum(taken, 1e-12)).sum(axis=0).argmax())
    return np.ascontiguousarray(chances[:, best])


class _Boosting:
    """Chances after each stage of boosting on the other folds, side by side."""

    def __init__(self, log: Log, stages: tuple[int, ...]) -> None:
        self._log, self._stages = log, stages

    def __call__(self, inside: Bools, outside: Bools) -> Floats:
        log, rows = self._log, np.flatnonzero(outside)
        rows = rows[:: max(1, -(-rows.size // _MOST_ROWS))]
        chances = np.zeros((int(inside.sum()), len(self._stages), log.n_actions))
        taken, actions = np.unique(log.actions[rows], return_inverse=True)
        if taken.size == 1:
            chances[:, :, taken[0]] = 1.0
        else:
            trees = boost_classes(log.contexts[rows], actions, taken.size, self._stages[-1])
            scores = trees.score(log.contexts[inside], self._stages)
            chances[:, :, taken] = np.moveaxis(softmax(np.moveaxis(scores, 2, 0)), 0, 2)
        return chances.reshape(len(chances), -1)
