"""Matching on forest (OfflineEvaluator 5, MoF): a logged row that shares a leaf of a random tree and the action."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Bools, Floats, Integers, Words
from headstart.errors import LogError
from headstart.evaluators.compiled import CompiledEvaluator
from headstart.forest import ForestOptions, HonestForest
from headstart.forest.tree import ForestArrays, find_leaf
from headstart.kernels import get_outcome, implements, is_exhausted
from headstart.kernels.random import draw_below
from headstart.logs.log import Log
from headstart.randomness import RNG, as_generator, as_words

_DEFAULT_OPTIONS = ForestOptions(n_trees=200, min_node=2)


class ForestMatchingState(NamedTuple):
    forest: ForestArrays
    outcomes: Floats  # (n,)
    is_used: Bools  # (n,)
    n_left: Integers  # (1,) rows not used
    rows: NDArray[np.int32]  # (n_trees n,) the log's rows by leaf and action, tree after tree
    starts: Integers  # (n_leaves K,) where the rows of a leaf and action begin
    sizes: NDArray[np.int32]  # (n_leaves K,) how many of them are not known to be used
    rng: Words  # (4,)


@implements(get_outcome, ForestMatchingState)
def _get_outcome(state: ForestMatchingState, context: Floats, action: int) -> float:
    tree = draw_below(state.rng, state.forest.roots.size)
    cell = find_leaf(state.forest, tree, context) * state.forest.means.shape[1] + action
    start = state.starts[cell]
    while state.sizes[cell] > 0:
        place = start + draw_below(state.rng, state.sizes[cell])
        row = state.rows[place]
        # Used here or elsewhere: either way it leaves this list, once. So all deletions cost O(trees x rows).
        state.sizes[cell] -= 1
        state.rows[place] = state.rows[start + state.sizes[cell]]
        if not state.is_used[row]:
            state.is_used[row] = True
            state.n_left[0] -= 1
            return state.outcomes[row]
    return math.nan


@implements(is_exhausted, ForestMatchingState)
def _is_exhausted(state: ForestMatchingState) -> bool:
    return state.n_left[0] == 0


class ForestMatching(CompiledEvaluator[ForestMatchingState]):
    """A random tree, then a random unused row of the same leaf and action; None if that leaf has none left.

    A row that shares leaves with the context in many trees is returned with a higher chance. Unlike exact matching,
    None does not stop the action: another tree may still have a neighbour. The forest is grown from the log's
    contexts, actions and outcomes; its splits look at outcomes (of the J half of each tree), as the paper's do.

    Parameters
    ----------
    log
    options
        How the forest is grown; by default 200 trees with nodes split down to two rows.
    n_threads
        Threads that grow trees; the result does not depend on it.
    rng
        A numpy Generator or a seed; None draws a new one.

    Notes
    -----
    Memory is O(trees x rows) for the lists of neighbours.

    Raises
    ------
    LogError
        If the log has no contexts.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> evaluator = hs.ForestMatching(log, hs.ForestOptions(n_trees=20), rng=1)
    >>> evaluator.get_outcome([0.0, 0.0], 1) is None
    False
    """

    needs_context = True
    answers_with_rows = True

    def __init__(
        self, log: Log, options: ForestOptions | None = None, *, n_threads: int = 1, rng: RNG = None
    ) -> None:
        if log.n_features == 0:
            raise LogError("ForestMatching needs contexts and the log has none: give Log(..., contexts=...)")
        generator = as_generator(rng)
        chosen = _DEFAULT_OPTIONS if options is None else options
        seed = int(generator.integers(2**32))
        self.forest = HonestForest(chosen, seed=seed, n_threads=n_threads).fit(
            log.contexts, log.actions, log.outcomes, log.n_actions
        )
        arrays = self.forest.arrays
        cells = self.forest.leaf_of(log.contexts).astype(np.int64) * log.n_actions + log.actions  # (n_trees, n)
        n_cells = arrays.means.shape[0] * log.n_actions
        sizes = np.bincount(cells.reshape(-1), minlength=n_cells)
        starts = np.zeros(n_cells, dtype=np.int64)
        np.cumsum(sizes[:-1], out=starts[1:])
        rows = np.argsort(cells.reshape(-1), kind="stable") % len(log)
        super().__init__(
            log,
            ForestMatchingState(
                arrays,
                log.outcomes,
                np.zeros(len(log), dtype=np.bool_),
                np.array([len(log)]),
                rows.astype(np.int32),
                starts,
                sizes.astype(np.int32),
                as_words(generator),
            ),
        )
