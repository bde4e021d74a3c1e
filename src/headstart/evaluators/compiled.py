"""What every evaluator with kernels shares: the walk from a checked call to the compiled state.

As with the oracles, one small base instead of the same lines in eight files; a user's evaluator needs only
`get_outcome`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import kernels
from headstart.checks import NO_CONTEXT, check_action, check_context
from headstart.errors import LogError
from headstart.kernels import Entry, get_outcome, implements, is_exhausted
from headstart.log import Log


def _get_outcome(state: Any, context: Any, action: Any) -> Any:
    return kernels.get_outcome(state, context, action)


def _is_exhausted(state: Any) -> Any:
    return kernels.is_exhausted(state)


class CompiledEvaluator:
    """An evaluator whose arithmetic is kernels over `kernel_state`; `contexts` are the log's rows."""

    needs_context = False

    def __init__(self, log: Log, state: Any) -> None:
        self.outcome_range = float(log.outcomes.min()), float(log.outcomes.max())
        self._take(log.n_actions, log.contexts, log.context_names, state)

    def _take(
        self, n_actions: int, contexts: NDArray[np.float64], context_names: tuple[str, ...], state: Any
    ) -> None:
        self.n_actions = n_actions
        self.contexts = contexts
        self.context_names = context_names
        self._state = state
        self._get_outcome = Entry(_get_outcome, allocates=False)
        self._is_exhausted = Entry(_is_exhausted, allocates=False)

    @property
    def kernel_state(self) -> Any:
        """The NamedTuple of arrays that the compiled loops work on; it is live, not a copy."""
        return self._state

    def get_outcome(self, context: ArrayLike | None, action: int) -> float | None:
        """What would have happened, from the log, or None if it has no (more) answer."""
        index = check_action(action, self.n_actions)
        seen = self._as_seen(context, index)
        outcome: float = self._get_outcome(self._state, seen, index)
        return None if math.isnan(outcome) else outcome

    def _as_seen(self, context: ArrayLike | None, action: int) -> NDArray[np.float64]:
        return check_context(context, self.contexts.shape[1]) if self.needs_context else NO_CONTEXT

    def is_exhausted(self) -> bool:
        """True once it will never answer again, whatever is asked."""
        return bool(self._is_exhausted(self._state))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_actions={self.n_actions})"


class BudgetState(NamedTuple):
    """An answer per action, good for a number of plays."""

    means: NDArray[np.float64]  # (K,)
    budgets: NDArray[np.float64]  # (K,) plays left


@implements(get_outcome, BudgetState)
def _spend(state: Any, context: Any, action: Any) -> Any:
    if state.budgets[action] >= 1.0:  # the paper's N_a >= 1
        state.budgets[action] -= 1.0
        return state.means[action]
    return math.nan


@implements(is_exhausted, BudgetState)
def _is_spent(state: Any) -> Any:
    for a in range(state.budgets.size):
        if state.budgets[a] >= 1.0:
            return False
    return True


class BudgetEvaluator(CompiledEvaluator):
    """An estimated mean per action, answered as often as its effective sample size allows."""

    def __init__(self, log: Log, means: NDArray[np.float64], effective_sizes: NDArray[np.float64]) -> None:
        self._means = means.copy()
        self._effective_sizes = effective_sizes.copy()
        super().__init__(log, BudgetState(np.where(effective_sizes > 0, means, 0.0), effective_sizes.copy()))

    @property
    def means(self) -> NDArray[np.float64]:
        """The estimated mean outcome per action, (K,); NaN for an action that the log never shows."""
        return self._means.copy()

    @property
    def effective_sizes(self) -> NDArray[np.float64]:
        """How many independent online plays each estimate is worth, (K,), before any was used."""
        return self._effective_sizes.copy()


def check_propensities(log: Log, who: str) -> NDArray[np.float64]:
    """The log's propensities, or an error that names the way out."""
    if log.propensities is None:
        raise LogError(
            f"{who} needs propensities and the log has none: give Log(..., propensities=...), "
            "or estimate them with hs.estimate_propensities(log)"
        )
    return log.propensities
