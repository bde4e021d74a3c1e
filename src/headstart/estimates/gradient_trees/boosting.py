"""Rounds of boosting: each grows a tree, or one for each class, on the gradients of the loss where it stands.

These are the trees that scikit-learn's HistGradientBoosting grows with the same settings, number for number (the
tests compare them; of equally good splits, which are common where classes have few rows, it may take another).
Gradients are rounded to 32 bits as there. On hundreds to thousands of rows they take a sixth to a third of its time,
most of which goes into starting each tree, on 20,000 rows of 30 columns as long; and nobody waits two seconds for its
import (`python -m benchmarks boosted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.gradient_trees.bins import Bins, find_bins
from headstart.estimates.gradient_trees.growing import Trees, add_scores, add_tree, new_room, new_trees
from headstart.kernels.compile import call


class GradientTrees(NamedTuple):
    """A score for each output: where it began, and what each round of trees adds."""

    bins: Bins
    baseline: Floats  # (outputs,)
    trees: Trees  # (rounds * outputs) in the order in which they were grown

    @property
    def n_rounds(self) -> int:
        return len(self.trees.values) // self.baseline.size

    def score(self, contexts: Floats, stages: Sequence[int], categories: Integers | None = None) -> Floats:
        """Of rows, (n, d), the scores after so many rounds, ascending, (n, stages, outputs)."""
        assert stages[-1] <= self.n_rounds, "compiled code checks no index"
        bins = self.bins.assign(contexts)
        if categories is not None:
            bins[-1] = self.bins.as_bins(categories)
        n_outputs = self.baseline.size
        found = np.empty((len(contexts), len(stages), n_outputs))
        for output in range(n_outputs):
            scores, done = np.full(len(contexts), self.baseline[output]), 0
            for i, stage in enumerate(stages):
                call(add_scores, bins, self.trees, done * n_outputs + output, stage * n_outputs, n_outputs, scores)
                found[:, i, output], done = scores, stage
        return found

    def score_categories(self, contexts: Floats, stage: int) -> Floats:
        """Of rows, (n, d), the score after so many rounds in each category, (n, categories)."""
        assert self.bins.seen is not None, "there is a column of categories"
        assert stage <= self.n_rounds, "compiled code checks no index"
        bins, n_categories = self.bins.assign(contexts), self.bins.seen.size
        found = np.full((n_categories, len(contexts)), self.baseline[0])
        for category, of_bin in enumerate(self.bins.as_bins(np.arange(n_categories))):
            bins[-1] = of_bin
            call(add_scores, bins, self.trees, 0, stage, 1, found[category])
        return found.T


def boost_numbers(
    contexts: Floats, targets: Floats, n_rounds: int, categories: Integers | None = None, n_categories: int = 0
) -> GradientTrees:
    """Least squares. Categories, (n,), are a column beside the contexts, (n, d)."""
    grown = _Grown(contexts, n_rounds, categories, n_categories)
    baseline = float(targets.mean())
    scores, curvatures = np.full(len(contexts), baseline), np.ones(len(contexts))
    for t in range(n_rounds):
        grown.grow(t, scores - targets, curvatures, scores)
    return GradientTrees(grown.bins, np.array([baseline]), grown.trees)


def boost_classes(contexts: Floats, classes: Integers, n_classes: int, n_rounds: int) -> GradientTrees:
    """The likelihood of classes 0, 1, ..., of each of which there is a row: scores are logarithms of chances.

    Of two classes the first one's score stays 0.
    """
    taken = (classes[:, None] == np.arange(n_classes)).astype(np.float64)
    logs = np.log(taken.mean(axis=0))
    first = 1 if n_classes == 2 else 0
    baseline = logs - (logs[0] if first else logs.mean())
    grown = _Grown(contexts, n_rounds * n_classes)
    scores = np.tile(baseline[:, None], (1, len(contexts)))
    for round_ in range(n_rounds):
        chances = softmax(scores)
        for k in range(first, n_classes):
            grown.grow(round_ * n_classes + k, chances[k] - taken[:, k], chances[k] * (1.0 - chances[k]), scores[k])
    return GradientTrees(grown.bins, baseline, grown.trees)


def softmax(scores: Floats) -> Floats:
    """Chances that are proportional to exp(score), of scores (K, ...)."""
    raised = np.exp(scores - scores.max(axis=0))
    chances: Floats = raised / raised.sum(axis=0)
    return chances


class _Grown:
    """Trees that are grown one after another on the same rows."""

    def __init__(
        self, contexts: Floats, n_trees: int, categories: Integers | None = None, n_categories: int = 0
    ) -> None:
        self.bins = find_bins(contexts, categories, n_categories)
        self.trees = new_trees(n_trees)
        self._rows = self.bins.assign(contexts)
        if categories is not None:
            self._rows[-1] = self.bins.as_bins(categories)
        self._n_bins = self.bins.counts
        self._categorical = -1 if categories is None else self._n_bins.size - 1
        self._room = new_room(len(contexts), self._n_bins)

    def grow(self, t: int, gradients: Floats, curvatures: Floats, scores: Floats) -> None:
        """Tree `t`, whose values are added to the scores."""
        pulls = np.stack([gradients, curvatures], axis=1, dtype=np.float32, casting="same_kind")
        call(add_tree, self._rows, self._n_bins, self._categorical, pulls, self._room, self.trees, t, scores)
