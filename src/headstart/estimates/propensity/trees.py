"""Propensities of a policy that no line can follow: boosted trees, tried where the regression's residuals ask for it.

The look is cheap: in every cell of two columns cut at their quartiles, the residuals of each action must sum to 0 up
to noise. Where they do, the regression stays; where they do not, trees are grown on the same folds and have to show
on rows they never saw that they are better.
"""

from __future__ import annotations

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.estimates.cross_fit import cross_fit
from headstart.logs.log import Log

STAGES = (5, 10, 20, 40, 80)  # numbers of rounds of boosting, of which the rows left out choose one
_MANY_ACTIONS = 10  # beyond: half as many rounds, each of which grows a tree per action
_MOST_STEPS = 90  # cuts of columns that are crossed; beyond, those that tell most of the actions
_MOST_ROWS = 20_000  # to look at, and to learn from
_LEAST_VARIANCE = 5.0  # of a cell's residuals, for their sum to be near normal
_CHANCE = 0.01  # of a false alarm by the look, over all cells; it costs time and nothing else
_MARGIN = 0.5  # of a standard error on top: the chances are estimates


def is_off(log: Log, chances: Floats) -> bool:
    """Whether chances, (n, K), are off in some cell of two cut columns beyond noise."""
    from scipy.special import ndtri

    rows = slice(None, None, max(1, -(-len(log) // _MOST_ROWS)))
    contexts, actions, p = log.contexts[rows], log.actions[rows], chances[rows]
    steps = _cut_columns(contexts)
    if steps.shape[1] > _MOST_STEPS:
        steps = steps[:, _most_telling(steps, actions, log.n_actions)]
    steps = np.column_stack([np.ones(len(steps)), steps])
    n_cells = steps.shape[1] * (steps.shape[1] - 1) // 2 * log.n_actions
    limit = _MARGIN - float(ndtri(_CHANCE / 2.0 / max(n_cells, 1)))
    for a in range(log.n_actions):
        residuals = (actions == a) - p[:, a]
        sums = (steps * residuals[:, None]).T @ steps
        variances = (steps * (p[:, a] * (1.0 - p[:, a]))[:, None]).T @ steps
        if bool((np.abs(sums) > limit * np.sqrt(variances))[variances >= _LEAST_VARIANCE].any()):
            return True
    return False


def _cut_columns(contexts: Floats) -> Floats:
    """1 where a column reaches each of its quartiles, (n, m); a column of two values has one such cut."""
    found = []
    for column in contexts.T:
        low, high = column.min(), column.max()
        cuts = np.unique(np.quantile(column, (0.25, 0.5, 0.75), method="inverted_cdf"))
        cuts = cuts[cuts > low] if (cuts > low).any() else np.array([high])  # a rare category is all in its top
        found += [column >= cut for cut in cuts if high > low]
    return np.array(found, dtype=np.float64).T.reshape(len(contexts), len(found))


def _most_telling(steps: Floats, actions: Integers, n_actions: int) -> Integers:
    """The cuts in which actions differ most from chance, in their order."""
    taken = (actions[:, None] == np.arange(n_actions)).astype(np.float64)
    apart = taken - taken.mean(axis=0)
    scores = (apart.T @ steps) ** 2 / np.maximum(taken.mean(axis=0), 1e-12)[:, None]
    spread = steps.mean(axis=0) * (1.0 - steps.mean(axis=0))
    return np.sort(np.argsort(-scores.sum(axis=0) / np.maximum(spread, 1e-12), kind="stable")[:_MOST_STEPS])


def boost_chances(log: Log, folds: Integers) -> Floats:
    """Every row's chances by boosted trees of the other folds, (n, K), as many rounds as suit the rows left out."""
    from threadpoolctl import threadpool_limits

    stages = STAGES if log.n_actions <= _MANY_ACTIONS else STAGES[:-1]
    with threadpool_limits(1):  # sums of several threads have no order
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
        from sklearn.ensemble import HistGradientBoostingClassifier

        log, rows = self._log, np.flatnonzero(outside)
        rows = rows[:: max(1, -(-rows.size // _MOST_ROWS))]
        chances = np.zeros((int(inside.sum()), len(self._stages), log.n_actions))
        actions = log.actions[rows]
        if (actions == actions[0]).all():
            chances[:, :, actions[0]] = 1.0
            return chances.reshape(len(chances), -1)
        model = HistGradientBoostingClassifier(
            learning_rate=0.1,
            max_iter=self._stages[-1],
            max_leaf_nodes=15,
            min_samples_leaf=20,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=0,
        ).fit(log.contexts[rows], actions)
        for i, stage in enumerate(model.staged_predict_proba(log.contexts[inside]), start=1):
            if i in self._stages:
                chances[:, self._stages.index(i), model.classes_] = stage
        return chances.reshape(len(chances), -1)
