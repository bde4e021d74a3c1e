"""Started: the policy that `start` returns."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.checks import check_context
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.judgement.audit.audit import Audit, audit
from headstart.judgement.audit.trust import Trust
from headstart.kernels import implements, kernel, play, probabilities, update
from headstart.oracles.knowledge_gradient import HORIZON
from headstart.parts import ContextLike, Oracle, State, Wrapper


class View(NamedTuple):
    """How an oracle sees a user: a constant, then some columns in standard units."""

    constant: float
    columns: Integers  # (m,) of the log's contexts
    centres: Floats  # (m,)
    scales: Floats  # (m,)


class StartedState(NamedTuple):
    oracle: Any
    constant: float
    columns: Integers
    centres: Floats
    scales: Floats
    seen: Floats  # (m + 1,) scratch


@kernel
def _see(state: Any, context: Any) -> None:
    state.seen[0] = state.constant
    for j in range(state.columns.size):
        state.seen[j + 1] = (context[state.columns[j]] - state.centres[j]) / state.scales[j]


@implements(play, StartedState)
def _play(state: Any, context: Any, available: Any) -> Any:
    _see(state, context)
    return play(state.oracle, state.seen, available)


@implements(update, StartedState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    _see(state, context)
    update(state.oracle, state.seen, action, outcome)


@implements(probabilities, StartedState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    _see(state, context)
    probabilities(state.oracle, state.seen, available, out)


class Started(Wrapper):
    """A policy that starts from a log: an oracle with `play`, `update` and `probabilities`, and what it was made of.

    Attributes
    ----------
    oracle
        What decides.
    summary, trust
        What the log says per action, and how far it is believed.
    explanation
        What was done and why, in words.
    """

    def __init__(
        self,
        oracle: Oracle,
        *,
        log: Any,
        population: Any,
        horizon: int,
        summary: Summary,
        trust: Trust,
        reasons: tuple[str, ...],
        view: View | None,
    ) -> None:
        self.oracle, self.summary, self.trust, self.reasons = oracle, summary, trust, reasons
        self._log, self._population, self._horizon, self._view = log, population, horizon, view
        self._seen = np.ones(1 if view is None else view.columns.size + 1)

    @property
    def explanation(self) -> str:
        """What was done and why, a line for each step."""
        return "\n".join(self.reasons)

    @property
    def effective_sizes(self) -> Floats:
        """Online plays that would know each action's mean as well as the log does, (K,)."""
        return self.summary.effective_sizes

    @property
    def virtual_plays(self) -> Integers:
        """What the log is worth per action as far as it is believed: the effective sizes times the trust, (K,)."""
        return np.floor(self.trust.weights * self.summary.effective_sizes).astype(np.int64)

    @cached_property
    def audit(self) -> Audit:
        """The whole audit of the log, made when first asked for."""
        return audit(self._log, horizon=self._horizon, population=self._population)

    @property
    def inner(self) -> Oracle:
        """What decides."""
        return self.oracle

    @property
    def n_features(self) -> int:
        """How long a context is; 0: none is looked at."""
        return 0 if self._view is None else int(self._log.n_features)

    def around(self, inner: State) -> State:
        """The state of the whole around the oracle's."""
        return inner if self._view is None else StartedState(inner, *self._view, self._seen)

    def seen(self, context: ContextLike) -> Floats | None:
        """The columns that are decided on, in standard units; from the log's columns, or from these alone."""
        view = self._view
        if view is None:
            return None
        given = np.asarray(context, dtype=np.float64).reshape(-1) if context is not None else np.empty(0)
        if given.size == view.columns.size != self._log.n_features:
            chosen = check_context(given, view.columns.size)
        else:
            chosen = check_context(context, self._log.n_features)[view.columns]
        return np.concatenate([[view.constant], (chosen - view.centres) / view.scales])

    def __repr__(self) -> str:
        worth = np.round(self.virtual_plays).astype(int).tolist()
        return f"Started({self.oracle!r}, virtual plays {worth})"


def check_horizon(horizon: Any) -> int:
    """A whole number of users to come."""
    if horizon is None:
        return HORIZON
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        raise OptionError(f"horizon must be a whole number of at least 1, or None, got {horizon!r}")
    return int(horizon)
