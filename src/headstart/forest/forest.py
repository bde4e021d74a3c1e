"""The honest forest over several actions. What comes in is checked here once, and trusted inside."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Floats, Integers
from headstart.errors import ContextError, HeadstartError, LogError, OptionError
from headstart.forest.leaves import add_rows, leaves_of
from headstart.forest.options import ForestOptions
from headstart.forest.planting import in_threads, plant
from headstart.forest.predicting import group_variance, predict_context, predict_rows, spread_rows
from headstart.forest.tree import ForestArrays, check_trees
from headstart.kernels.compile import Entry, compiled

_ROWS_AT_ONCE = 2048  # contexts that stay in cache while tree after tree, read once for them all, looks at them


class HonestForest:
    """E[outcome | context, action] for every action, by trees that place splits and estimate on separate rows.

    Each tree draws a subsample without replacement and cuts it in two: J places the splits, I estimates
    the leaves (Definition 1b). Every split leaves at least a share alpha of I's node, and m rows of I of
    each action, on both sides (Definition 2b). The estimate for an action is the mean over trees of the
    mean outcome of the action's rows of I in the context's leaf.

    Parameters
    ----------
    options : ForestOptions, optional
    seed : int
        The same seed, options and rows give the same bits, whatever the number of threads.
    n_threads : int

    Notes
    -----
    The estimate is causal only if the contexts hold every confounder of action and outcome. An action of
    which no tree has a row of I in the context's leaf is predicted NaN: the log has no answer.

    Raises
    ------
    OptionError
        If there is no thread.
    LogError
        If it is asked before it is fitted.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> forest = hs.HonestForest(hs.ForestOptions(n_trees=20), seed=1)
    >>> forest.fit(x, a, log.outcomes, n_actions=2).predict(x[:5]).shape
    (5, 2)
    """

    def __init__(self, options: ForestOptions | None = None, *, seed: int, n_threads: int = 1) -> None:
        if n_threads < 1:
            raise OptionError(f"n_threads must be at least 1, got {n_threads}")
        self.options = ForestOptions() if options is None else options
        self.seed = seed
        self.n_threads = n_threads
        self._arrays: ForestArrays | None = None
        self._n_features = 0

    def __repr__(self) -> str:
        if self._arrays is None:
            return f"HonestForest({self.options.n_trees:,} trees, not fitted)"
        return f"HonestForest({self.options.n_trees:,} trees, {self.n_actions} actions, {self.n_features} columns)"

    @cached_property
    def _predict_context(self) -> Entry[None]:
        """Bound when first asked about one user."""
        return Entry(predict_context)

    @property
    def arrays(self) -> ForestArrays:
        """The grown trees, for kernels (`find_leaf`, `predict_context`)."""
        if self._arrays is None:
            raise LogError("the forest must be fitted first: call fit(contexts, actions, outcomes, n_actions)")
        return self._arrays

    @property
    def n_actions(self) -> int:
        """K."""
        return int(self.arrays.means.shape[1])

    @property
    def n_features(self) -> int:
        """d, the length of a context."""
        return self._n_features

    def fit(self, contexts: ArrayLike, actions: ArrayLike, outcomes: ArrayLike, n_actions: int) -> HonestForest:
        """Grow the trees anew.

        Parameters
        ----------
        contexts : (n, d) finite numbers, n and d at least 1
        actions : (n,) whole numbers in 0..n_actions - 1
        outcomes : (n,) finite numbers
        n_actions : int
            K; an action may be absent from the rows, and is then predicted NaN.
        """
        x, a, y = _check_rows(contexts, actions, outcomes, n_actions)
        self._arrays = plant(x, a, y, n_actions, self.options, self.seed, self.n_threads)
        self._n_features = x.shape[1]
        return self

    def predict(self, contexts: ArrayLike) -> Floats:
        """(n, K) for contexts (n, d): the estimated outcome of each action; NaN where the log has no answer."""
        arrays = self.arrays
        x = _check_contexts(contexts, self.n_features)
        out = np.empty((x.shape[0], self.n_actions))
        run = compiled(predict_rows, ForestArrays)
        self._by_rows(lambda start, stop: run(arrays, x, start, stop, out), x.shape[0])
        return out

    def predict_one(self, context: ArrayLike) -> Floats:
        """(K,) for one context (d,): as `predict`, without its overhead."""
        arrays = self.arrays
        x = _check_one_context(context, self.n_features)
        out = np.empty(self.n_actions)
        self._predict_context(arrays, x, out)
        return out

    def predict_variance(self, contexts: ArrayLike) -> Floats:
        """(n, K) the sampling variance of `predict`, from the spread of the groups of trees.

        NaN where fewer than two groups speak for the action. It leaves out the forest's bias, and it holds
        for the forest as fitted: rows added later change the estimate but hardly its variance.
        """
        arrays, group_size = self.arrays, self.options.group_size
        if group_size == 1:
            raise OptionError("group_size must be at least 2 for a variance, got 1")
        x = _check_contexts(contexts, self.n_features)
        spread = np.empty((3, x.shape[0], self.n_actions))
        run = compiled(spread_rows, ForestArrays)
        self._by_rows(lambda start, stop: run(arrays, x, start, stop, group_size, spread), x.shape[0])
        return group_variance(spread[0], spread[1], spread[2], group_size)

    def leaf_of(self, contexts: ArrayLike) -> NDArray[np.int32]:
        """(n_trees, n) the leaf of each context in each tree; leaves are numbered through all trees."""
        arrays = self.arrays
        x = _check_contexts(contexts, self.n_features)
        out = np.empty((arrays.roots.size, x.shape[0]), dtype=np.int32)
        run = compiled(leaves_of, ForestArrays)
        self._by_rows(lambda start, stop: run(arrays, x, start, stop, out), x.shape[0])
        return out

    def add(self, contexts: ArrayLike, actions: ArrayLike, outcomes: ArrayLike) -> None:
        """Add rows to the leaves of every tree; no split moves, so the trees stay honest."""
        x, a, y = _check_rows(contexts, actions, outcomes, self.n_actions)
        x = _check_contexts(x, self.n_features)
        compiled(add_rows, ForestArrays)(self.arrays, x, a, y)

    def check_sound(self) -> None:
        """Raise a PolicyFileError if trees that came from a file lead nowhere."""
        if self._arrays is not None:
            check_trees(self._arrays, self._n_features)

    def save(self, path: str | Path) -> None:
        """Write the forest to one .npz file, without pickle."""
        about = {"format": 1, "seed": self.seed, "n_features": self.n_features, "options": asdict(self.options)}
        with open(path, "wb") as file:
            np.savez(file, about=np.array(json.dumps(about)), **self.arrays._asdict())

    @classmethod
    def load(cls, path: str | Path, *, n_threads: int = 1) -> HonestForest:
        """The forest that `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                arrays = ForestArrays(*(file[name] for name in ForestArrays._fields))
        except (KeyError, ValueError) as cause:
            raise HeadstartError(f"{path} must be a forest written by HonestForest.save: {cause}") from cause
        forest = cls(ForestOptions(**about["options"]), seed=about["seed"], n_threads=n_threads)
        forest._arrays = arrays
        forest._n_features = about["n_features"]
        return forest

    def _by_rows(self, task: Callable[[int, int], None], n: int) -> None:
        size = max(min(_ROWS_AT_ONCE, -(-n // self.n_threads)), 1)
        in_threads(lambda start: task(start, min(start + size, n)), range(0, n, size), self.n_threads)


def _check_contexts(contexts: ArrayLike, n_features: int) -> Floats:
    """Contexts to be asked about, as a C-ordered (n, d) of finite numbers."""
    values = _as_floats(contexts, "contexts", ContextError)
    if values.ndim != 2 or values.shape[1] != n_features:
        raise ContextError(f"contexts must have shape (n, {n_features}), got {values.shape}")
    _check_finite(values, ContextError)
    return values


def _check_one_context(context: ArrayLike, n_features: int) -> Floats:
    """One context, as a (d,) of finite numbers."""
    values = _as_floats(context, "context", ContextError)
    if values.shape != (n_features,):
        raise ContextError(f"context must have shape ({n_features},), got {values.shape}")
    if not np.isfinite(values).all():
        column = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ContextError(f"context in column {column} must be a finite number, got {values[column]}")
    return values


def _check_rows(
    contexts: ArrayLike, actions: ArrayLike, outcomes: ArrayLike, n_actions: int
) -> tuple[Floats, Integers, Floats]:
    """Rows to learn from: contexts (n, d), actions (n,) in 0..K-1, outcomes (n,), all finite, n and d >= 1."""
    if n_actions < 1:
        raise LogError(f"n_actions must be at least 1, got {n_actions}")
    x = _as_floats(contexts, "contexts", LogError)
    y = _as_floats(outcomes, "outcomes", LogError)
    a = np.asarray(actions)
    if x.ndim != 2 or 0 in x.shape:
        raise LogError(f"contexts must have shape (n, d) with n and d at least 1, got {x.shape}")
    for name, values in (("actions", a), ("outcomes", y)):
        if values.shape != (x.shape[0],):
            raise LogError(f"{name} must have shape ({x.shape[0]},), got {values.shape}")
    _check_finite(x, LogError)
    wrong = np.flatnonzero(~np.isfinite(y))
    if wrong.size:
        raise LogError(f"outcome in row {wrong[0]} must be a finite number, got {y[wrong[0]]}")
    if a.dtype.kind not in "iu":
        raise LogError(f"actions must be whole numbers, got {a.dtype}")
    a = np.require(a, np.int64, ["C", "A", "W"])
    wrong = np.flatnonzero((a < 0) | (a >= n_actions))
    if wrong.size:
        raise LogError(f"action in row {wrong[0]} must be in 0..{n_actions - 1}, got {a[wrong[0]]}")
    return x, a, y


def _as_floats(values: ArrayLike, name: str, error: type[HeadstartError]) -> Floats:
    # numba compiles anew for each kind of array, read-only ones included, so all become of one kind here.
    try:
        return np.require(values, np.float64, ["C", "A", "W"])
    except (TypeError, ValueError) as cause:
        raise error(f"{name} must be numbers: {cause}") from cause


def _check_finite(contexts: Floats, error: type[HeadstartError]) -> None:
    # A finite sum proves finite terms, and needs no array of booleans; an overflowing one proves nothing.
    with np.errstate(all="ignore"):
        if np.isfinite(contexts.sum()):
            return
    wrong = np.argwhere(~np.isfinite(contexts))
    if wrong.size:
        row, column = wrong[0]
        raise error(f"context in row {row}, column {column} must be a finite number, got {contexts[row, column]}")
