"""What every evaluator with kernels shares: the walk from a checked call to the compiled state.

As with the oracles, one small base instead of the same lines in eight files; a user's evaluator needs only
`get_outcome`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import kernels
from headstart.arrays import Bools, Floats
from headstart.checks import NO_CONTEXT, check_action, check_context
from headstart.errors import LogError
from headstart.kernels import Entry, get_outcome, get_variance, implements, is_exhausted
from headstart.kernels.arrays import extremes
from headstart.kernels.states import SavedArrays, load_state, save_state
from headstart.logs.any_log import AnyLog
from headstart.logs.encoding import Encoding
from headstart.logs.log import Log

S = TypeVar("S")

_CONTEXT_ROWS = 10_000  # of a table: as many virtual users as will ever differ


def _get_outcome(state: kernels.State, context: Floats, action: int) -> float:
    return kernels.get_outcome(state, context, action)


def _is_exhausted(state: kernels.State) -> bool:
    return kernels.is_exhausted(state)


_EXTREMES = Entry(extremes, allocates=False, keeps_gil=False)


class CompiledEvaluator(ABC, Generic[S]):
    """An evaluator whose arithmetic is kernels over `kernel_state`; `contexts` are the log's rows.

    A log in memory gives its rows. A table (anything else that speaks a log's language) is asked for a uniform sample
    of 10,000 contexts, for the range of its outcomes and for its encoding, and only when somebody wants them: each
    costs a scan.
    """

    needs_context = False
    answers_with_rows = False  # whether an answer is a row of the asked action: no row, no answer
    answerable: Bools | None = None  # (K,) the actions that it can ever answer for; None: perhaps all
    _log: AnyLog | None = None

    @abstractmethod  # a subclass builds its state; this one is no evaluator by itself
    def __init__(self, log: AnyLog, state: S) -> None:
        self._log = log
        if isinstance(log, Log):
            self.outcome_range = _EXTREMES(log.outcomes)
            if self.answers_with_rows:
                self.answerable = np.bincount(log.actions, minlength=log.n_actions) > 0
            self._take(log.n_actions, log.contexts, state)
        else:
            self._take(log.n_actions, None, state)

    def _take(self, n_actions: int, contexts: Floats | None, state: S) -> None:
        self.n_actions = n_actions
        if contexts is not None:
            self.contexts = contexts
            self.n_features = contexts.shape[1]
        self._state = state
        self._get_outcome = Entry(_get_outcome, allocates=False)
        self._is_exhausted = Entry(_is_exhausted, allocates=False)

    @property
    def _asked(self) -> AnyLog:
        assert self._log is not None, "a copy asks the log before it leaves it behind"
        return self._log

    @property
    def context_names(self) -> tuple[str, ...]:
        """The names of the log's encoded columns."""
        return self.encoding.names

    @cached_property
    def encoding(self) -> Encoding:
        """How the log's columns become numbers."""
        return self._asked.encoding

    @cached_property
    def n_features(self) -> int:
        """Encoded context columns."""
        return len(self.encoding.names)

    @cached_property
    def contexts(self) -> Floats:
        """What virtual users are drawn from, (n, d)."""
        return self._asked.sample(_CONTEXT_ROWS, rng=0).contexts

    @cached_property
    def outcome_range(self) -> tuple[float, float]:
        """The smallest and the largest outcome of the log."""
        if self._log is None:
            raise AttributeError("outcome_range")  # made from sums alone: nobody knows
        low, high = self._log.outcome_range
        return low, high

    def __getstate__(self) -> dict[str, object]:
        """What is pickled and copied: the log stays behind, with all that it would have been asked for."""
        if self._log is not None:
            self._ask_everything()
        return {**self.__dict__, "_log": None}

    def _ask_everything(self) -> tuple[object, ...]:
        """What is asked of the log when it is first wanted, asked now: each is kept."""
        return self.contexts, self.outcome_range, self.encoding, self.n_features

    @property
    def kernel_state(self) -> S | None:
        """The state that the compiled loops work on; it is live, not a copy. None: the plain loop is the way."""
        return self._state

    def get_state(self) -> dict[str, NDArray[np.generic]]:
        """What is left of the log, and the state of the randomness, as arrays."""
        return save_state(self._state)

    def set_state(self, saved: SavedArrays) -> None:
        """Take up a state from `get_state` of an evaluator of the same log: it has the same future."""
        self._state = load_state(self._state, saved)

    def get_outcome(self, context: ArrayLike | None, action: int) -> float | None:
        """What would have happened, from the log, or None if it has no (more) answer."""
        index = check_action(action, self.n_actions)
        seen = self._as_seen(context, index)
        outcome: float = self._get_outcome(self._state, seen, index)
        return None if math.isnan(outcome) else outcome

    def _as_seen(self, context: ArrayLike | None, action: int) -> Floats:
        return check_context(context, self.n_features) if self.needs_context else NO_CONTEXT

    def is_exhausted(self) -> bool:
        """True once it will never answer again, whatever is asked."""
        return bool(self._is_exhausted(self._state))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_actions={self.n_actions})"


class BudgetState(NamedTuple):
    """An answer per action, good for a number of plays."""

    means: Floats  # (K,)
    budgets: Floats  # (K,) plays left
    variances: Floats  # (K,) of one outcome around the mean


@implements(get_outcome, BudgetState)
def _spend(state: BudgetState, context: Floats, action: int) -> float:
    if state.budgets[action] >= 1.0:  # the paper's N_a >= 1
        state.budgets[action] -= 1.0
        return state.means[action]
    return math.nan


@implements(get_variance, BudgetState)
def _variance(state: BudgetState, context: Floats, action: int) -> float:
    return state.variances[action]


@implements(is_exhausted, BudgetState)
def _is_spent(state: BudgetState) -> bool:
    for a in range(state.budgets.size):
        if state.budgets[a] >= 1.0:
            return False
    return True


class BudgetEvaluator(CompiledEvaluator[BudgetState]):
    """An estimated mean per action, answered as often as its effective sample size allows.

    `variances` are those of one outcome as the log shows them, sum(w (y - mean)^2) / sum(w), (K,): an oracle that
    estimates variances is told them with each answer, so that n answers leave n of them in its squared deviations.
    """

    @abstractmethod
    def __init__(
        self,
        log: AnyLog,
        means: Floats,
        effective_sizes: Floats,
        variances: Floats,
    ) -> None:
        self._means = means.copy()
        self._effective_sizes = effective_sizes.copy()
        is_known = effective_sizes > 0
        answers, spreads = means.copy(), variances.copy()
        if not all(is_known.tolist()):
            answers[~is_known] = spreads[~is_known] = 0.0
        super().__init__(log, BudgetState(answers, effective_sizes.copy(), spreads))
        self.answerable = is_known

    def get_variance(self, context: ArrayLike | None, action: int) -> float:
        """How much outcomes vary around the answer of `get_outcome`."""
        return float(self._state.variances[check_action(action, self.n_actions)])

    @property
    def means(self) -> Floats:
        """The estimated mean outcome per action, (K,); NaN for an action that the log never shows."""
        return self._means.copy()

    @property
    def effective_sizes(self) -> Floats:
        """How many independent online plays each estimate is worth, (K,), before any was used."""
        return self._effective_sizes.copy()


def check_has_propensities(log: AnyLog, who: str) -> None:
    """An error that names the way out, if the log or table has no propensities."""
    if not log.has_propensities:
        way = "Log(..., propensities=...)" if isinstance(log, Log) else "read_log(..., propensity=...)"
        raise LogError(
            f"{who} needs propensities and the log has none: give {way}, "
            "or estimate them with hs.estimate_propensities(log)"
        )
