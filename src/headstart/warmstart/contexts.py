"""Where virtual users come from: the context generator of Algorithm 1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers, Words
from headstart.errors import ContextError
from headstart.kernels import draw_context, implements, record_context
from headstart.kernels.arrays import copy_into
from headstart.kernels.random import draw_below
from headstart.randomness import RNG, as_words

_FIRST_CAPACITY = 64


class LogContextsState(NamedTuple):
    logged: Floats  # (n, d) read-only
    online: Floats  # (capacity, d)
    n_online: Integers  # (1,)
    rng: Words  # (4,)


@implements(draw_context, LogContextsState)
def _draw(state: Any, out: Any) -> None:
    n_logged = state.logged.shape[0]
    row = draw_below(state.rng, n_logged + state.n_online[0])
    if row < n_logged:
        copy_into(out, state.logged[row])
    else:
        copy_into(out, state.online[row - n_logged])


@implements(record_context, LogContextsState)
def _record(state: Any, context: Any) -> None:
    if state.n_online[0] < state.online.shape[0]:
        copy_into(state.online[state.n_online[0]], context)
        state.n_online[0] += 1


class LogContexts:
    """The log's rows and the online contexts as they come, each row with the same chance.

    The empirical distribution that the paper proposes where the true one is unknown (its Exp8). Memory grows
    with the contexts recorded; a warm start stops recording once the log is used up.
    """

    def __init__(self, logged: Floats, rng: RNG = None) -> None:
        fixed = logged.view()
        fixed.setflags(write=False)
        n_features = self.n_features = logged.shape[1]
        self.kernel_state = LogContextsState(
            fixed, np.empty((_FIRST_CAPACITY, n_features)), np.zeros(1, dtype=np.int64), as_words(rng)
        )

    def reseed(self, rng: RNG) -> None:
        """New randomness."""
        self.kernel_state = self.kernel_state._replace(rng=as_words(rng))

    def reserve(self, n_more: int) -> None:
        """Make room for this many more online contexts."""
        state = self.kernel_state
        needed = int(state.n_online[0]) + n_more
        if needed > state.online.shape[0]:
            online = np.empty((max(needed, 2 * state.online.shape[0]), state.online.shape[1]))
            online[: state.online.shape[0]] = state.online
            self.kernel_state = state._replace(online=online)


class PopulationState(NamedTuple):
    population: Floats  # (n, d) read-only
    rng: Words  # (4,)


@implements(draw_context, PopulationState)
def _draw_population(state: Any, out: Any) -> None:
    copy_into(out, state.population[draw_below(state.rng, state.population.shape[0])])


@implements(record_context, PopulationState)
def _record_nothing(state: Any, context: Any) -> None:
    return


class Population:
    """A population that the caller names: contexts of users such as will come, each with the same chance."""

    def __init__(self, contexts: ArrayLike, rng: RNG = None) -> None:
        matrix = np.array(contexts, dtype=np.float64, order="C")
        if matrix.ndim != 2 or matrix.shape[0] == 0:
            raise ContextError(f"contexts must be a matrix with at least one row, got shape {matrix.shape}")
        if not np.isfinite(matrix).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
            raise ContextError(f"contexts in row {row}, column {column} must be finite, got {matrix[row, column]}")
        matrix.setflags(write=False)
        self.n_features = matrix.shape[1]
        self.kernel_state = PopulationState(matrix, as_words(rng))

    def reseed(self, rng: RNG) -> None:
        """New randomness."""
        self.kernel_state = self.kernel_state._replace(rng=as_words(rng))
