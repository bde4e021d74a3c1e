"""The forest's answers: the mean over trees of the leaves' means, and how sure it is."""

from __future__ import annotations

import math

import numpy as np

from headstart.forest.tree import Floats, ForestArrays, find_leaf
from headstart.kernels.compile import kernel


@kernel
def predict_context(arrays: ForestArrays, context: Floats, out: Floats) -> None:
    """Write into out (K,) the mean over trees of the mean of the context's leaf.

    An action is averaged over the trees whose leaf has rows of it; NaN if no tree has.
    """
    n_actions = out.size
    for action in range(n_actions):
        total, n = 0.0, 0
        for tree in range(arrays.roots.size):
            mean = arrays.means[find_leaf(arrays, tree, context), action]
            if not math.isnan(mean):
                total += mean
                n += 1
        out[action] = total / n if n > 0 else math.nan


@kernel
def predict_rows(arrays: ForestArrays, contexts: Floats, start: int, stop: int, out: Floats) -> None:
    """Write into out[start:stop] what `predict_context` says of each row; tree by tree, to stay in cache."""
    n_actions = out.shape[1]
    n_voices = np.zeros((stop - start, n_actions))
    out[start:stop] = 0.0
    for tree in range(arrays.roots.size):
        for row in range(start, stop):
            leaf = find_leaf(arrays, tree, contexts[row])
            for action in range(n_actions):
                mean = arrays.means[leaf, action]
                if not math.isnan(mean):
                    out[row, action] += mean
                    n_voices[row - start, action] += 1.0
    for row in range(start, stop):
        for action in range(n_actions):
            n = n_voices[row - start, action]
            out[row, action] = out[row, action] / n if n > 0 else math.nan
