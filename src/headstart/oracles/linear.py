"""What the oracles that decide by context share: features, quick checks, and ridge regressions as factors."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from headstart import kernels
from headstart.arrays import Bools, Floats, Integers
from headstart.checks import Available, check_action, check_available, check_context, check_outcome
from headstart.errors import ContextError
from headstart.estimates.features import FeatureFunction, Features
from headstart.kernels.ridge import N_SCRATCH, Regressing, Ridge, is_finite, new_factors, padded
from headstart.kernels.tally import Tallied, Tally, new_tally
from headstart.oracles.compiled import CompiledOracle

S = TypeVar("S", bound=Tallied)
R = TypeVar("R", bound=Regressing)
_CHUNK = 1 << 17  # numbers of one batch's intermediate result: it stays in the cache


def new_linear(features: Features, ridge: float) -> tuple[Tally, Ridge]:
    """The tally and the models of a linear oracle that has seen nothing."""
    p = padded(features.length)
    return new_tally(features.n_actions), Ridge(
        np.zeros((features.n_groups, p)),
        new_factors(features.n_groups, features.length, ridge),
        features.groups.copy(),
        features.columns.copy(),
        features.weights.copy(),
        np.zeros((N_SCRATCH, p)),
    )


def _play(state: kernels.State, context: Floats, available: Bools) -> int:
    return kernels.play(state, context, available) if is_finite(context) else -1


def _update(state: kernels.State, context: Floats, action: int, outcome: float) -> bool:
    if is_finite(context):
        kernels.update(state, context, action, outcome)
        return True
    return False


class ContextOracle(CompiledOracle[S]):
    """An oracle that decides by context, in microseconds."""

    _function: FeatureFunction | None = None  # what makes features of a context, if Python does

    @property
    def kernel_state(self) -> S | None:
        """The state for the compiled loops; None with a FeatureFunction, whose way is the plain loop."""
        return self._state if self._function is None else None

    # A decision takes two microseconds, of which looking for NaN from Python would be a third: the entry points
    # below look themselves, and only what they turn away is checked again, for the error's sake.

    def play(self, context: ArrayLike | None = None, available: Available = None) -> int:
        """Choose an action for this context among the available ones (all by default)."""
        mask = self._all if available is None else check_available(available, self.n_actions)
        if self._function is not None:
            context = self._function.expand(context, np.flatnonzero(mask))
        seen = self._as_vector(context)
        if self._play is None:
            self._play = kernels.entry(_play, self._state, seen, mask, allocates=False)
        action: int = self._play(self._state, seen, mask)
        if action < 0:
            check_context(context, self._n_seen)
        return action

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> None:
        """Learn that `action` under `context` had `outcome`; outcomes may come late and in any order."""
        index, number = check_action(action, self.n_actions), check_outcome(outcome)
        if self._function is not None:
            context = self._function.expand(context, [index])
        seen = self._as_vector(context)
        if self._update is None:
            self._update = kernels.entry(_update, self._state, seen, index, number, allocates=False)
        if not self._update(self._state, seen, index, number):
            check_context(context, self._n_seen)

    def probabilities(self, context: ArrayLike | None = None, available: Available = None) -> Floats:
        """The chance of each action in `play`, 0 for those not available."""
        if self._function is not None:
            mask = self._all if available is None else check_available(available, self.n_actions)
            context = self._function.expand(context, np.flatnonzero(mask))
        return super().probabilities(context, available)

    def _as_vector(self, context: ArrayLike | None) -> Floats:
        try:
            vector = np.ascontiguousarray(context, dtype=np.float64)
        except (TypeError, ValueError):
            return check_context(context, self._n_seen)
        return vector if vector.shape == (self._n_seen,) else check_context(context, self._n_seen)


class LinearOracle(ContextOracle[R]):
    """An oracle over a regression per action, or one for all, of the features of a context."""

    @abstractmethod
    def __init__(self, features: Features, state: R) -> None:
        super().__init__(features.n_actions, state, features.n_seen)
        self.features = features
        self._function = features if isinstance(features, FeatureFunction) else None
        self.n_features = features.n_features

    @property
    def theta(self) -> Floats:
        """The ridge estimate V^-1 b: (K, m) if disjoint, (1, m) if shared."""
        return np.array(self._state.ridge.theta[:, : self.features.length])

    @property
    def inverses(self) -> Floats:
        """V^-1, (K, m, m) if disjoint, (1, m, m) if shared."""
        factors = self._state.ridge.factors[:, : self.features.length, : self.features.length]
        return np.array(factors @ factors.transpose(0, 2, 1))

    def predict(self, contexts: ArrayLike) -> tuple[Floats, Floats]:
        """Per context and action, (n, K) each: the estimate theta'phi and the width sqrt(phi'V^-1 phi).

        Two matrix products; memory O(n K). As many contexts as you like at once.
        """
        rows = np.ascontiguousarray(contexts, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ContextError(f"contexts must be a matrix of {self.n_features} columns, got shape {rows.shape}")
        if not np.isfinite(rows).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(rows))[0])
            raise ContextError(f"contexts in row {row}, column {column} must be finite, got {rows[row, column]}")
        means, widths = np.empty((len(rows), self.n_actions)), np.empty((len(rows), self.n_actions))
        if self.features.is_disjoint and len(self.features.columns) == 1:
            everything = np.arange(self.n_actions)
            self._predict(rows, everything[:1], everything, means, widths)
        else:
            for a in range(self.n_actions):
                action = np.array([a])
                self._predict(rows, action, self.features.groups[action], means[:, a : a + 1], widths[:, a : a + 1])
        return means, widths

    def expected_outcomes(self, contexts: Floats) -> tuple[Floats, Floats]:
        """What is expected of each action for many users, (n, K); how sure that is, its width does not say: NaN."""
        means, widths = self.predict(contexts)
        return means, np.full_like(widths, np.nan)

    def _predict(self, rows: Floats, action: Integers, groups: Integers, means: Floats, widths: Floats) -> None:
        """phi of `action` against every one of `groups`, into columns of means and widths."""
        m, n_groups = self.features.length, groups.size
        theta = self._state.ridge.theta[groups, :m].T
        factors = self._state.ridge.factors[groups, :m, :m].transpose(0, 2, 1).reshape(n_groups * m, m)
        chunk = max(64, _CHUNK // factors.shape[0])
        for start in range(0, len(rows), chunk):
            part = slice(start, start + chunk)
            phi = self.features.rows(rows[part], np.broadcast_to(action, rows[part].shape[0]))
            means[part] = phi @ theta
            whitened = factors @ phi.T
            np.multiply(whitened, whitened, out=whitened)
            widths[part] = np.sqrt(whitened.reshape(n_groups, m, -1).sum(axis=1)).T
