"""The forest's answers: the mean over trees of the leaves' means, and how sure it is of them."""

from __future__ import annotations

import math

import numpy as np

from headstart.arrays import Floats
from headstart.forest.tree import ForestArrays, find_leaf, find_leaves
from headstart.kernels.compile import kernel


@kernel
def predict_context(arrays: ForestArrays, context: Floats, out: Floats) -> None:
    """Write into out (K,) the mean over trees of the mean of the context's leaf.

    An action is averaged over the trees whose leaf has rows of it; NaN if no tree has.
    """
    n_voices = np.zeros(out.size)
    out[:] = 0.0
    for tree in range(arrays.roots.size):
        leaf = find_leaf(arrays, tree, context)
        for action in range(out.size):
            mean = arrays.means[leaf, action]
            if not math.isnan(mean):
                out[action] += mean
                n_voices[action] += 1.0
    for action in range(out.size):
        out[action] = out[action] / n_voices[action] if n_voices[action] > 0 else math.nan


@kernel
def predict_rows(arrays: ForestArrays, contexts: Floats, start: int, stop: int, out: Floats) -> None:
    """Write into out[start:stop] what `predict_context` says of each row; tree by tree, to stay in cache."""
    nodes, means = arrays.nodes, arrays.means
    n_actions = out.shape[1]
    leaves = np.empty(stop - start, np.int64)
    n_voices = np.zeros((stop - start, n_actions))
    out[start:stop] = 0.0
    for tree in range(arrays.roots.size):
        find_leaves(nodes, arrays.roots[tree], contexts, start, stop, leaves)
        for row in range(start, stop):
            for action in range(n_actions):
                mean = means[leaves[row - start], action]
                if not math.isnan(mean):
                    out[row, action] += mean
                    n_voices[row - start, action] += 1.0
    for row in range(start, stop):
        for action in range(n_actions):
            n = n_voices[row - start, action]
            out[row, action] = out[row, action] / n if n > 0 else math.nan


@kernel
def spread_rows(arrays: ForestArrays, contexts: Floats, start: int, stop: int, group_size: int, out: Floats) -> None:
    """Write into out[:, start:stop] (3, n, K) the groups that speak, their variance, and that within them.

    A group speaks for an action if all its trees do. Groups are summed about the first one that speaks.
    """
    n_actions = out.shape[2]
    shift = np.zeros((stop - start, n_actions))
    totals = np.zeros((stop - start, n_actions))
    voices = np.zeros((stop - start, group_size, n_actions))
    leaves = np.empty(stop - start, np.int64)
    out[:, start:stop] = 0.0
    for first in range(0, arrays.roots.size, group_size):
        for member in range(group_size):
            root = arrays.roots[first + member]
            find_leaves(arrays.nodes, root, contexts, start, stop, leaves)
            for i in range(stop - start):
                for action in range(n_actions):
                    voices[i, member, action] = arrays.means[leaves[i], action]
        for row in range(start, stop):
            for action in range(n_actions):
                mean = 0.0
                for member in range(group_size):
                    mean += voices[row - start, member, action] / group_size
                if math.isnan(mean):
                    continue
                if out[0, row, action] == 0.0:
                    shift[row - start, action] = mean
                out[0, row, action] += 1.0
                totals[row - start, action] += mean - shift[row - start, action]
                out[1, row, action] += (mean - shift[row - start, action]) ** 2
                for member in range(group_size):
                    out[2, row, action] += (voices[row - start, member, action] - mean) ** 2 / group_size
    for row in range(start, stop):
        for action in range(n_actions):
            n = out[0, row, action]
            if n > 0:
                out[1, row, action] = out[1, row, action] / n - (totals[row - start, action] / n) ** 2
                out[2, row, action] /= n


def group_variance(n_groups: Floats, between: Floats, within: Floats, group_size: int) -> Floats:
    """The forest's sampling variance from the spread of its groups; NaN with fewer than two groups.

    Trees of a group share one half of the rows. What the groups' means differ by, less what that many
    trees differ by within a group, is the variance over halves, which estimates that over samples
    (Athey, Tibshirani and Wager 2019, section 4.1). The difference may fall below 0 by chance; as in grf,
    it is replaced by its mean given that the true value is not negative, under a flat prior.
    """
    from headstart.special import erfc

    noise = within / (group_size - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = between - noise
        error = np.maximum(between, noise) * np.sqrt(2.0 / n_groups)
        ratio = estimate / error
        density = np.exp(-(ratio**2) / 2.0) / math.sqrt(2.0 * math.pi)
        corrected = estimate + error * density / (0.5 * erfc(-ratio / math.sqrt(2.0)))
    corrected = np.where(error > 0.0, corrected, 0.0)  # all groups agree: constant outcomes
    return np.where(n_groups >= 2, corrected, math.nan)
