"""The right population: weights that make rows of a log stand for the users to come.

A log's rows answer for the log's people. Where the users differ, each row is weighted by how much more common its
like is among them. The weights here are calibrated: the closest ones to the given (in relative entropy) whose
weighted column means are the population's (Hainmueller 2012, Deville and Sarndal 1992). They are the density ratio
if its logarithm is linear in the contexts, and whatever it is, a mean of outcomes linear in the contexts comes out
right. A few hundred users are never quite the log's people, and following them for nothing costs: a difference counts
as far as it is more than noise (`find_shift`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.errors import ContextError
from headstart.estimates.ridge import standardise
from headstart.logs.contexts import encode_rows
from headstart.logs.encoding import OTHER, Encoding, is_gap
from headstart.logs.frames import named_columns
from headstart.logs.log import Log

RIDGE = 1e-4  # of standardised columns: the balance given up where no weights reach it
_CHANCE = 0.05  # that users who are the log's own people are believed to differ at all
_COLLINEAR = 1e-8  # of the largest variance: a direction that does not vary
_MAX_STEPS = 200
_TOLERANCE = 1e-10


@runtime_checkable
class HasContexts(Protocol):
    """A log, or anything else whose rows are users."""

    @property
    def contexts(self) -> Floats: ...

    @property
    def context_names(self) -> tuple[str, ...]: ...


def as_population(population: object, log: Log) -> Floats:
    """Contexts of the users to come as a matrix in the log's columns, (m, d).

    A matrix with the log's encoded columns, a mapping or data frame with the log's own columns by name (others are
    ignored), or a Log (or anything with contexts) of the same columns.
    """
    d, named = log.n_features, named_columns(population)
    matrix = _as_matrix(population, log) if named is None else _encode_named(dict(named), log)
    if matrix.ndim != 2 or matrix.shape[1] != d:
        raise ContextError(f"population must have the log's {d} context columns, got shape {matrix.shape}")
    if len(matrix) == 0:
        raise ContextError("population must have at least one row, got none")
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        name = log.context_names[column]
        raise ContextError(f"population in row {row}, column {name!r} must be finite, got {matrix[row, column]}")
    return matrix


def _as_matrix(population: object, log: Log) -> Floats:
    given = population
    if isinstance(population, HasContexts):
        given, names = population.contexts, tuple(population.context_names)
        if names != tuple(log.context_names):
            raise ContextError(f"population must have the log's columns {list(log.context_names)}, got {list(names)}")
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ContextError(
            f"population must be a matrix of {log.n_features} numbers a row, a data frame or a Log, got "
            f"{type(given).__name__}"
        ) from None
    return matrix.reshape(-1, 1) if matrix.ndim == 1 and log.n_features == 1 else matrix


def check_has_columns(given: Collection[str], encoding: Encoding) -> None:
    """An error that names the first of the log's columns which is missing."""
    missing = [name for name in encoding.columns if name not in given]
    if missing:
        raise ContextError(f"population lacks the context column {missing[0]!r}; it has: {', '.join(given)}")


def _encode_named(population: Mapping[str, ArrayLike], log: Log) -> Floats:
    """The users' columns as the log's, missing values filled in as there; a category it never shows is an error."""
    encoding = log.encoding
    check_has_columns(population.keys(), encoding)
    for column, known in encoding.categories.items():
        values = np.asarray(population[column]).tolist()
        strange = [row for row, value in enumerate(values) if value not in known and not is_gap(value)]
        if strange and OTHER not in known:
            raise ContextError(
                f"population column {column!r} in row {strange[0]} has the category {values[strange[0]]!r}, which "
                f"the log never shows: it cannot answer for such users; known: {known}"
            )
    return encode_rows(encoding, population, _count_rows(population))


def _count_rows(columns: Mapping[str, ArrayLike]) -> int:
    return max((len(np.asarray(column)) for column in columns.values()), default=0)


def find_shift(contexts: Floats, users: Floats, units: Integers | None = None) -> float:
    """How much of the difference between the users' column means and the log's to believe, in [0, 1].

    T^2 = d'S^-1 d / (1/m + 1/n), d the difference and S the log's covariance, is chi-squared with as many degrees of
    freedom as columns if both are the same people (Hotelling 1931). Up to its 95 % point c nothing is believed, and
    beyond it 1 - c / T^2, as James and Stein (1961) shrink: users who are the log's own people cost nothing in 19
    samples of 20, and a difference of many standard errors is followed. Rows of one of its `units` count as one.
    """
    from headstart.special import chdtri

    ours, theirs = standardise(contexts, users)
    values, vectors = np.linalg.eigh(ours.T @ ours / len(ours)) if ours.shape[1] else (np.zeros(0), np.zeros((0, 0)))
    is_free = values > _COLLINEAR * max(values.max(initial=0.0), 1e-300)
    if not is_free.any():
        return 0.0
    along = (vectors.T @ theirs.mean(axis=0))[is_free]  # standardised: the log's means are 0
    noise = 1.0 / len(theirs) + 1.0 / (len(ours) if units is None else np.unique(units).size)
    square = float((along**2 / values[is_free]).sum()) / noise
    limit = float(chdtri(float(is_free.sum()), _CHANCE))
    return max(0.0, 1.0 - limit / max(square, 1e-300))


def balancing_weights(contexts: Floats, target: Floats, ridge: float, base: Floats | None = None) -> Floats:
    """Weights that sum to 1, w_i proportional to base_i exp(l' x_i), with weighted mean `target`.

    Newton on the dual, log sum base_i exp(l'(x_i - target)) + ridge/2 |l|^2; the ridge keeps l finite when the target
    lies outside what the rows can reach, and then the balance is as good as the ridge allows. `base` is 1 by default.
    """
    centred = contexts - target
    offsets = np.zeros(len(contexts)) if base is None else np.log(base)
    multipliers = np.zeros(contexts.shape[1])
    value, weights = _dual(centred, offsets, multipliers, ridge)
    for _ in range(_MAX_STEPS):
        mean = weights @ centred
        gradient = mean + ridge * multipliers
        if np.abs(gradient).max(initial=0.0) < _TOLERANCE:
            break
        spread = centred - mean
        hessian = (spread * weights[:, None]).T @ spread + ridge * np.eye(multipliers.size)
        step = np.linalg.solve(hessian, gradient)
        scale, descent = 1.0, float(gradient @ step)
        while scale > 1e-12:
            trial, trial_weights = _dual(centred, offsets, multipliers - scale * step, ridge)
            if trial <= value - 1e-4 * scale * descent:
                break
            scale *= 0.5
        else:
            break  # no descent left in floating point: this is the minimum
        multipliers, value, weights = multipliers - scale * step, trial, trial_weights
    return weights


def _dual(centred: Floats, offsets: Floats, multipliers: Floats, ridge: float) -> tuple[float, Floats]:
    scores = centred @ multipliers + offsets
    top = scores.max()
    raw = np.exp(scores - top)
    total = raw.sum()
    return float(top + np.log(total) + 0.5 * ridge * (multipliers @ multipliers)), raw / total


def population_weights(log: Log, population: object, ridge: float = RIDGE) -> Floats:
    """A weight per row of the log, with mean 1, that makes its contexts' means the population's, (n,).

    How far the weights are from equal says how different the two are: (sum w)^2 / sum w^2 rows of the population
    would know as much (Kish 1965). Multiply them with 1/p for a mean per action.
    """
    contexts, users = standardise(log.contexts, as_population(population, log))
    if contexts.shape[1] == 0:
        return np.ones(len(log))
    return balancing_weights(contexts, users.mean(axis=0), ridge) * len(log)
