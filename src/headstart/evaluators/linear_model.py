"""Linear regression (OfflineEvaluator 4): a ridge model of the log, asked as long as it is surer than the plays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers, Scratch
from headstart.checks import check_context, check_number
from headstart.errors import LogError, OptionError
from headstart.estimates.features import FeatureFunction, Features, FeatureTable, check_features
from headstart.evaluators.compiled import CompiledEvaluator
from headstart.kernels import get_outcome, implements, is_exhausted
from headstart.kernels.ridge import (
    N_SCRATCH,
    PHI,
    WHITENED,
    add_row,
    dot,
    factors_of,
    fill_features,
    new_factors,
    padded,
    whiten,
)
from headstart.logs.any_log import AnyLog
from headstart.logs.encoding import Encoding
from headstart.logs.log import Log

_CHUNK = 1 << 16  # rows whose phi is held at once
# Contexts that repeat (categories) often tie exactly, and a tie is no answer whichever way it was rounded.
_MORE = 1.0 + 1e-9


class LinearModelState(NamedTuple):
    theta: Floats  # (G, p) the log's ridge estimate
    logged: Floats  # (G, p, p) the factor of the inverse of Vhat = ridge I + the log's phi phi'
    factors: Floats  # (G, p, p) that of V = ridge I + the virtual plays'
    groups: Integers  # (K,) which theta and factors an action has
    columns: Integers  # (K or 1, m) phi's columns of x
    weights: Floats  # (K or 1, m)
    scratch: Scratch  # (N_SCRATCH, p)
    is_empty: bool  # the log says nothing of any direction


@implements(get_outcome, LinearModelState)
def _get_outcome(state: LinearModelState, context: Floats, action: int) -> float:
    group = state.groups[action]
    fill_features(state, context, action)
    phi, whitened = state.scratch[PHI], state.scratch[WHITENED]
    known = whiten(state.logged[group], phi, whitened)
    played = whiten(state.factors[group], phi, whitened)
    # ||phi|| in the inverse of V + phi phi' is sqrt(played / (1 + played)) by Sherman and Morrison.
    if not played / (1.0 + played) > known * _MORE:
        return math.nan
    add_row(state.factors[group], state.scratch)
    return dot(phi, state.theta[group])


@implements(is_exhausted, LinearModelState)
def _is_exhausted(state: LinearModelState) -> bool:
    return state.is_empty


class LinearModel(CompiledEvaluator[LinearModelState]):
    """phi'theta of a ridge regression on the log, while ||phi|| in (V + phi phi')^-1 exceeds ||phi|| in Vhat^-1.

    Vhat = ridge I + sum of phi phi' over the log's rows, theta = Vhat^-1 sum of y phi. V = ridge I + the same
    over the virtual plays answered so far: the evaluator keeps its own. Unbiased as far as outcomes are linear in
    phi and phi holds all confounders; propensities are not used. An action that a disjoint model has no rows of
    is never answered for.

    Parameters
    ----------
    log
        Its contexts are what phi sees.
    features
        phi, by default `features.disjoint`: a regression per action (see LinUCB). It and `ridge` should be the
        oracle's, for the rule compares the log's certainty with that of an oracle that has made these plays.
    ridge
        Vhat and V start at ridge times the identity.

    Notes
    -----
    It ends: an answer needs phi'V^-1 phi > phi'phi / lambda with lambda the largest eigenvalue of Vhat, and by
    the elliptical potential lemma (Abbasi-Yadkori et al. 2011) the sum of phi'phi over all answers is then
    bounded. None for one context need not mean None for the next, so it is not exhausted until no context
    whatever could be answered, which it does not look for: `is_exhausted` is True only for a log without
    any information (all phi = 0). Cost O(m^2) an answer, memory O(m^2) per theta.

    Raises
    ------
    LogError
        If the log has no contexts.
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> evaluator = hs.LinearModel(log)
    >>> policy = hs.WarmStart(hs.LinUCB(2, 2), evaluator, rng=1)
    >>> policy.play([1.0, 0.0])
    1
    """

    needs_context = True

    def __init__(self, log: AnyLog, features: Features | None = None, ridge: float = 1.0) -> None:
        # A table is asked for its sums before anything else: it then checks its rows in the pass that sums them.
        products = None if isinstance(log, Log) or isinstance(features, FeatureFunction) else log.product_sums()
        if log.n_features == 0:
            raise LogError("LinearModel needs contexts and the log has none: give Log(..., contexts=...)")
        phi = check_features(features, log.n_actions, log.n_features)
        grams, moments = linear_sums(log, phi, products)
        self._build(phi, grams, moments, ridge)
        super().__init__(log, self._state)

    @classmethod
    def from_sums(cls, features: Features, grams: ArrayLike, moments: ArrayLike, ridge: float = 1.0) -> LinearModel:
        """The same evaluator from sums over the log alone, computed wherever the log lives.

        Parameters
        ----------
        features
            phi.
        grams
            Sums of phi phi', (K, m, m) if disjoint, else (1, m, m).
        moments
            Sums of y phi, (K, m) if disjoint, else (1, m).
        ridge
            As in the constructor.

        Notes
        -----
        There are no rows to draw virtual users from: give WarmStart its `contexts`.
        """
        model = object.__new__(cls)
        g, m = features.n_groups, features.length
        gram_array, moment_array = np.array(grams, dtype=np.float64), np.array(moments, dtype=np.float64)
        for name, array, shape in (("grams", gram_array, (g, m, m)), ("moments", moment_array, (g, m))):
            if array.shape != shape or not np.isfinite(array).all():
                raise OptionError(f"{name} must be finite, of shape {shape}, got shape {array.shape}")
        model._build(features, gram_array, moment_array, ridge)
        model.encoding = Encoding.of_numbers(f"x{j}" for j in range(features.n_features))
        model._take(features.n_actions, np.empty((0, features.n_features)), model._state)
        return model

    def _build(self, features: Features, grams: Floats, moments: Floats, ridge: float) -> None:
        prior = check_number("ridge", ridge, low=1e-12)
        g, m, p = features.n_groups, features.length, padded(features.length)
        self.features = features
        grams = (grams + grams.transpose(0, 2, 1)) / 2.0
        try:
            logged = factors_of(grams + prior * np.eye(m))
        except np.linalg.LinAlgError:
            raise LogError(
                "the sums of phi phi' are not positive definite to working precision: scale the contexts"
            ) from None
        theta = np.zeros((g, p))
        theta[:, :m] = (logged[:, :m, :m] @ (logged[:, :m, :m].transpose(0, 2, 1) @ moments[..., None]))[..., 0]
        self._state = LinearModelState(
            theta,
            logged,
            new_factors(g, m, prior),
            features.groups.copy(),
            features.columns.copy(),
            features.weights.copy(),
            np.zeros((N_SCRATCH, p)),
            not grams.any(),
        )

    @property
    def kernel_state(self) -> LinearModelState | None:
        """The state for the compiled loops; None with a FeatureFunction, whose way is the plain loop."""
        return self._state if self.features.function is None else None

    @property
    def theta(self) -> Floats:
        """The ridge estimate: (K, m) if disjoint, (1, m) if shared."""
        return np.array(self._state.theta[:, : self.features.length])

    def _as_seen(self, context: ArrayLike | None, action: int) -> Floats:
        if isinstance(self.features, FeatureFunction):
            return self.features.expand(context, [action])
        return check_context(context, self.features.n_features)


def linear_sums(
    log: AnyLog, features: Features, products: tuple[Floats, Floats] | None = None
) -> tuple[Floats, Floats]:
    """The sums that `from_sums` takes: of phi phi', (G, m, m), and of y phi, (G, m). O(n m^2).

    A table sums products of its columns where it is (`products`, if they are known); rows come from there only for a
    phi that is a function.
    """
    if not isinstance(log, Log) and isinstance(features, FeatureTable):
        return _choose_sums(features, *(log.product_sums() if products is None else products))
    g, m = features.n_groups, features.length
    grams, moments = np.zeros((g, m, m)), np.zeros((g, m))
    for actions, outcomes, contexts in _portions(log):
        phi = features.rows(contexts, actions)
        for group in range(g):
            rows = actions == group if features.is_disjoint else slice(None)
            grams[group] += phi[rows].T @ phi[rows]
            moments[group] += phi[rows].T @ outcomes[rows]
    return grams, moments


def _portions(log: AnyLog) -> Iterator[tuple[Integers, Floats, Floats]]:
    if isinstance(log, Log):
        for start in range(0, len(log), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield log.actions[part], log.outcomes[part], log.contexts[part]
    else:
        for rows in log.batches(_CHUNK):
            yield rows.actions, rows.outcomes, rows.contexts


def _choose_sums(features: FeatureTable, products: Floats, moments: Floats) -> tuple[Floats, Floats]:
    """phi's sums from those of z = (x, 1) per action: phi_j is a weight times an entry of z."""
    columns = np.broadcast_to(features.columns, (features.n_actions, features.length))
    weights = np.broadcast_to(features.weights, columns.shape)
    every = np.arange(features.n_actions)
    grams = products[every[:, None, None], columns[:, :, None], columns[:, None, :]]
    grams = grams * weights[:, :, None] * weights[:, None, :]
    sums = moments[every[:, None], columns] * weights
    if features.is_disjoint:
        return grams, sums
    return grams.sum(axis=0, keepdims=True), sums.sum(axis=0, keepdims=True)
