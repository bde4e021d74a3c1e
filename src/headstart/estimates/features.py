"""Feature maps phi(x, a): how a linear model sees a context under an action.

A `FeatureTable` says of every entry of phi which column of x it is and by what it is multiplied, so the compiled
loops can follow it: `disjoint`, `blocks` and `products` make the usual ones. A `FeatureFunction` is any Python
function; oracles and evaluators with one run through the plain loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.checks import check_context, check_n_actions, check_whole
from headstart.errors import ContextError, OptionError


class FeatureTable:
    """phi_j(x, a) = weights[a, j] x[columns[a, j]]; column n_features stands for the constant 1.

    Parameters
    ----------
    n_actions, n_features
        Actions, and the length of a context.
    columns, weights
        (K, m), or (1, m) when phi is the same for every action. Weights are 1 by default.
    is_disjoint
        Whether every action has a parameter vector of its own, instead of one that all share.
    """

    function = None

    def __init__(
        self,
        n_actions: int,
        n_features: int,
        columns: ArrayLike,
        weights: ArrayLike | None = None,
        is_disjoint: bool = False,
    ) -> None:
        self.n_actions, self.n_features = check_n_actions(n_actions), check_whole("n_features", n_features)
        self.columns: Integers = np.array(columns, dtype=np.int64, order="C")
        if self.columns.ndim != 2 or len(self.columns) not in (1, self.n_actions) or not self.columns.size:
            raise OptionError(f"columns must be (1 or {self.n_actions}, m), got shape {self.columns.shape}")
        if self.columns.min() < 0 or self.columns.max() > self.n_features:
            raise OptionError(f"columns must be in 0..{self.n_features} ({self.n_features} is the constant 1)")
        given = np.ones(self.columns.shape) if weights is None else weights
        self.weights: Floats = np.array(given, dtype=np.float64, order="C")
        if self.weights.shape != self.columns.shape or not np.isfinite(self.weights).all():
            raise OptionError(f"weights must be finite, of shape {self.columns.shape}")
        self.is_disjoint = is_disjoint
        self.length = self.columns.shape[1]  # m
        self.n_seen = self.n_features

    @property
    def groups(self) -> Integers:
        """Which parameter vector each action has, (K,)."""
        return np.arange(self.n_actions) if self.is_disjoint else np.zeros(self.n_actions, dtype=np.int64)

    @property
    def n_groups(self) -> int:
        """Parameter vectors: K if disjoint, else 1."""
        return self.n_actions if self.is_disjoint else 1

    def rows(self, contexts: Floats, actions: Integers) -> Floats:
        """phi of each row's context and action, (n, m)."""
        wide = np.column_stack([contexts, np.ones(len(contexts))])
        which = actions if len(self.columns) > 1 else np.zeros_like(actions)
        return np.take_along_axis(wide, self.columns[which], axis=1) * self.weights[which]

    def __repr__(self) -> str:
        kind = "disjoint" if self.is_disjoint else "shared"
        sizes = f"{self.n_actions} actions, {self.n_features} features, phi of length {self.length}"
        return f"FeatureTable({sizes}, {kind})"


def disjoint(n_actions: int, n_features: int) -> FeatureTable:
    """phi(x, a) = x, and a parameter vector per action: the usual LinUCB (Li et al. 2010, algorithm 1)."""
    columns = np.arange(check_whole("n_features", n_features)).reshape(1, -1)
    return FeatureTable(n_actions, n_features, columns, is_disjoint=True)


def blocks(n_actions: int, n_features: int) -> FeatureTable:
    """phi(x, a) = the a-th of K equal blocks of x, and one parameter vector: the paper's synthetic world."""
    k, d = check_n_actions(n_actions), check_whole("n_features", n_features)
    if d % k:
        raise OptionError(f"n_features must be a multiple of n_actions, got {d} and {k}")
    return FeatureTable(k, d, np.arange(d).reshape(k, d // k))


def products(n_features: int, action_features: ArrayLike) -> FeatureTable:
    """phi(x, a) = every product of an entry of (1, x) and one of z_a, and one parameter vector.

    `action_features` are the z_a, (K, q): what is known of the actions. An action without plays of its own
    is then judged by those that resemble it. phi has length (1 + d) q, first the q entries of z_a themselves.
    """
    vectors = np.array(action_features, dtype=np.float64)
    if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
        raise OptionError(f"action_features must be a finite matrix (K, q), got shape {vectors.shape}")
    d = check_whole("n_features", n_features)
    k, q = vectors.shape
    columns = np.repeat(np.array([d, *range(d)]), q)  # the constant first
    return FeatureTable(k, d, np.tile(columns, (k, 1)), np.tile(vectors, (1, d + 1)))


class FeatureFunction:
    """Any function phi(context, action) -> vector of a fixed length, and one parameter vector that all share.

    It is called for the available actions only. What the kernels then see is the vectors side by side: `blocks`.
    """

    is_disjoint = False
    n_groups = 1

    def __init__(
        self,
        function: Callable[[Floats, int], ArrayLike],
        n_actions: int,
        n_features: int,
        length: int,
    ) -> None:
        if not callable(function):
            raise OptionError(f"function must be callable as phi(context, action), got {function!r}")
        self.function = function
        self.n_actions, self.n_features = check_n_actions(n_actions), check_whole("n_features", n_features)
        self.length = check_whole("length", length)
        self.n_seen = self.n_actions * self.length
        self.columns: Integers = np.arange(self.n_seen).reshape(self.n_actions, self.length)
        self.weights: Floats = np.ones(self.columns.shape)
        self.groups: Integers = np.zeros(self.n_actions, dtype=np.int64)

    def expand(self, context: ArrayLike | None, actions: Iterable[int]) -> Floats:
        """phi of these actions side by side, zero for the others, (K m,)."""
        seen = check_context(context, self.n_features)
        out = np.zeros((self.n_actions, self.length))
        for action in actions:
            out[action] = self._call(seen, int(action))
        return out.reshape(-1)

    def rows(self, contexts: Floats, actions: Integers) -> Floats:
        """phi of each row's context and action, (n, m)."""
        out = np.empty((len(contexts), self.length))
        for i, action in enumerate(actions):
            out[i] = self._call(contexts[i], int(action))
        return out

    def _call(self, context: Floats, action: int) -> Floats:
        phi = np.asarray(self.function(context, action), dtype=np.float64)
        if phi.shape != (self.length,) or not np.isfinite(phi).all():
            raise ContextError(
                f"phi(context, {action}) must be {self.length} finite numbers, got shape {phi.shape}: {phi}"
            )
        return phi

    def __repr__(self) -> str:
        return f"FeatureFunction({self.n_actions} actions, {self.n_features} features, phi of length {self.length})"


Features = FeatureTable | FeatureFunction


def check_features(features: Features | None, n_actions: int, n_features: int) -> Features:
    """The map, `disjoint` by default, if it is one for so many actions and columns."""
    k, d = check_n_actions(n_actions), check_whole("n_features", n_features)
    if features is None:
        return disjoint(k, d)
    if not isinstance(features, FeatureTable | FeatureFunction):
        raise OptionError(f"features must be a FeatureTable or a FeatureFunction, got {features!r}")
    if (features.n_actions, features.n_features) != (k, d):
        raise OptionError(
            f"features map {features.n_features} columns and {features.n_actions} actions, "
            f"but there are {d} columns and {k} actions"
        )
    return features
