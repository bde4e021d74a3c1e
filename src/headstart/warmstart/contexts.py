"""Where virtual users come from: the context generator of Algorithm 1."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Floats, Integers, Words
from headstart.errors import ContextError
from headstart.kernels import draw_context, implements, record_context
from headstart.kernels.arrays import copy_into
from headstart.kernels.random import draw_below
from headstart.kernels.states import SavedArrays, load_state, reseed_state, save_state
from headstart.randomness import RNG, as_words

S = TypeVar("S")

_FIRST_CAPACITY = 64


class LogContextsState(NamedTuple):
    logged: Floats  # (n, d) read-only
    online: Floats  # (capacity, d)
    n_online: Integers  # (1,)
    rng: Words  # (4,)


@implements(draw_context, LogContextsState)
def _draw(state: LogContextsState, out: Floats) -> None:
    n_logged = state.logged.shape[0]
    row = draw_below(state.rng, n_logged + state.n_online[0])
    if row < n_logged:
        copy_into(out, state.logged[row])
    else:
        copy_into(out, state.online[row - n_logged])


@implements(record_context, LogContextsState)
def _record(state: LogContextsState, context: Floats) -> None:
    if state.n_online[0] < state.online.shape[0]:
        copy_into(state.online[state.n_online[0]], context)
        state.n_online[0] += 1


class _Source(Generic[S]):
    """A state that contexts are drawn from."""

    def __init__(self, state: S, n_features: int) -> None:
        self.kernel_state = state
        self.n_features = n_features

    def reseed(self, rng: RNG) -> None:
        """New randomness."""
        self.kernel_state = reseed_state(self.kernel_state, rng)

    def get_state(self) -> dict[str, NDArray[np.generic]]:
        """The online contexts so far and the state of the randomness; not the rows it was made from."""
        return save_state(self.kernel_state)

    def set_state(self, saved: SavedArrays) -> None:
        """Take up a state from `get_state` of a source of the same rows: it has the same future."""
        self.kernel_state = load_state(self.kernel_state, saved)


class LogContexts(_Source[LogContextsState]):
    """The log's rows and the online contexts as they come, each row with the same chance.

    The empirical distribution that the paper proposes where the true one is unknown (its Exp8). Memory grows
    with the contexts recorded; a warm start stops recording once the log is used up.
    """

    def __init__(self, logged: Floats, rng: RNG = None) -> None:
        fixed = logged.view()
        fixed.setflags(write=False)
        n_features = logged.shape[1]
        online = np.zeros((_FIRST_CAPACITY, n_features))  # not empty: a policy's digest is of all of it
        super().__init__(LogContextsState(fixed, online, np.zeros(1, dtype=np.int64), as_words(rng)), n_features)

    def reserve(self, n_more: int) -> None:
        """Make room for this many more online contexts."""
        state = self.kernel_state
        needed = int(state.n_online[0]) + n_more
        if needed > state.online.shape[0]:
            online = np.zeros((max(needed, 2 * state.online.shape[0]), self.n_features))
            online[: state.online.shape[0]] = state.online
            self.kernel_state = state._replace(online=online)

    def get_state(self) -> dict[str, NDArray[np.generic]]:
        """The online contexts so far and the state of the randomness; not the log's rows."""
        state = self.kernel_state
        return save_state(state._replace(online=state.online[: int(state.n_online[0])]))

    def set_state(self, saved: SavedArrays) -> None:
        """Take up a state from `get_state` of a source of the same log: it has the same future."""
        n_rows = len(saved["online"]) if "online" in saved else 0
        self.kernel_state = load_state(self.kernel_state._replace(online=np.empty((n_rows, self.n_features))), saved)
        self.reserve(1)


class PopulationState(NamedTuple):
    population: Floats  # (n, d) read-only
    rng: Words  # (4,)


@implements(draw_context, PopulationState)
def _draw_population(state: PopulationState, out: Floats) -> None:
    copy_into(out, state.population[draw_below(state.rng, state.population.shape[0])])


class Population(_Source[PopulationState]):
    """A population that the caller names: contexts of users such as will come, each with the same chance."""

    def __init__(self, contexts: ArrayLike, rng: RNG = None) -> None:
        matrix = np.array(contexts, dtype=np.float64, order="C")
        if matrix.ndim != 2 or matrix.shape[0] == 0:
            raise ContextError(f"contexts must be a matrix with at least one row, got shape {matrix.shape}")
        if not np.isfinite(matrix).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
            raise ContextError(f"contexts in row {row}, column {column} must be finite, got {matrix[row, column]}")
        self._take(matrix, rng)

    @classmethod
    def of_nobody(cls, n_features: int, rng: RNG = None) -> Population:
        """Users of whom nothing will ever be looked at: zeros, which need no check."""
        population = cls.__new__(cls)
        population._take(np.zeros((1, n_features)), rng)
        return population

    def _take(self, matrix: Floats, rng: RNG) -> None:
        matrix.setflags(write=False)
        super().__init__(PopulationState(matrix, as_words(rng)), matrix.shape[1])
