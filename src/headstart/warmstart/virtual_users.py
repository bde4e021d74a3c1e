"""The virtual users of a warm start: one door to whatever their contexts are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.checks import check_context
from headstart.errors import CannotBeSaved, ContextError, OptionError
from headstart.kernels import Entry, draw_context, record_context
from headstart.parts import Abilities, Evaluator, EvaluatorAbilities, Oracle, OracleAbilities, Saved, State
from headstart.randomness import RNG
from headstart.warmstart.contexts import LogContexts, Population


@runtime_checkable
class ContextSource(Protocol):
    """A state that contexts are drawn from (a world's `population`)."""

    @property
    def kernel_state(self) -> State:
        """A state with the verbs `draw_context` and `record_context`."""

    @property
    def n_features(self) -> int:
        """The length of a context."""


Contexts: TypeAlias = ArrayLike | ContextSource | Callable[[], ArrayLike] | None


def _draw_context(state: State, out: Floats) -> None:
    draw_context(state, out)


class VirtualUsers:
    """Draws contexts of users such as will come.

    Parameters
    ----------
    contexts
        As WarmStart's: None for the log's rows and the online contexts as they come, a matrix, a source with kernels,
        or a function.
    oracle, evaluator
        What they are drawn for: if neither looks at contexts, there is nothing to draw.
    """

    def __init__(self, contexts: Contexts, oracle: Oracle, evaluator: Evaluator, rng: RNG) -> None:
        self._function: Callable[[], ArrayLike] | None = None
        self._source: ContextSource
        if contexts is None:
            self._source = _logged_users(oracle, evaluator, rng)
            self.n_features = self._source.n_features
        elif isinstance(contexts, ContextSource):
            self._source = contexts
            self.n_features = self._source.n_features
        elif callable(contexts):
            self._function = contexts
            self.n_features = len(np.asarray(contexts()).reshape(-1))
        else:
            self._source = Population(contexts, rng=rng)
            self.n_features = self._source.n_features
            known = EvaluatorAbilities(evaluator).n_features
            if known not in (None, self.n_features):
                raise ContextError(f"contexts must have the log's {known} columns, got {self.n_features}")
        self._draw = Entry(_draw_context, allocates=False)

    @property
    def kernel_state(self) -> State | None:
        """The state that compiled loops draw from; None for a function."""
        return None if self._function is not None else self._source.kernel_state

    @property
    def grows(self) -> bool:
        """Whether the contexts of online users are drawn too."""
        return self._function is None and isinstance(self._source, LogContexts)

    def draw(self) -> Floats:
        """The next virtual user's context."""
        if self._function is not None:
            return check_context(self._function(), self.n_features)
        out = np.empty(self.n_features)
        self._draw(self._source.kernel_state, out)
        return out

    def record(self, context: Floats) -> None:
        """An online user came."""
        self.reserve(1)
        record_context(self._source.kernel_state, context)

    def reserve(self, n_more: int) -> None:
        """Make room for this many more online contexts."""
        if self.grows:
            Abilities(self._source).reserve(n_more)

    def reseed(self, rng: RNG) -> None:
        """New randomness; a function draws as it will."""
        if self._function is None:
            Abilities(self._source).reseed(rng)

    def get_state(self) -> Saved:
        """The online contexts so far and the state of the randomness."""
        if self._function is not None:
            raise CannotBeSaved("virtual users that a function draws cannot be saved: give WarmStart their contexts")
        return Abilities(self._source).get_state()

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state`."""
        Abilities(self._source).set_state(saved)


def _logged_users(oracle: Oracle, evaluator: Evaluator, rng: RNG) -> LogContexts | Population:
    """The log's rows and online users; an empty context if nobody will ever look at one."""
    needed, asked = OracleAbilities(oracle).n_features or 0, EvaluatorAbilities(evaluator)
    known = asked.n_features
    n_columns = needed if known is None else known
    is_free = needed == 0 and (n_columns == 0 or not asked.needs_context)
    if is_free or asked.is_exhausted():
        return Population.of_nobody(n_columns, rng)
    rows = asked.contexts
    if rows is None or len(rows) == 0:
        raise OptionError("the evaluator has no rows to draw virtual users from: give WarmStart its contexts")
    return LogContexts(rows, rng=rng)
