"""Started: the policy that `start` returns."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.checks import Available, check_context
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.judgement.audit.audit import Audit, audit
from headstart.judgement.audit.trust import Trust
from headstart.kernels import implements, kernel, play, probabilities, update
from headstart.oracles.knowledge_gradient import HORIZON
from headstart.randomness import RNG


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


class Started:
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
        oracle: Any,
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
        self.n_actions = oracle.n_actions
        self._log, self._population, self._horizon, self._view = log, population, horizon, view
        self.n_features = 0 if view is None else log.n_features
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
    def kernel_state(self) -> Any:
        """The state for the compiled loops, or None if the oracle has none."""
        inner = getattr(self.oracle, "kernel_state", None)
        if inner is None or self._view is None:
            return inner
        return StartedState(inner, *self._view, self._seen)

    def play(self, context: ArrayLike | None = None, available: Available = None) -> int:
        """Choose an action for this user."""
        action: int = self.oracle.play(self._as_seen(context), available)
        return action

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> None:
        """Learn what came of it."""
        self.oracle.update(self._as_seen(context), action, outcome)

    def probabilities(self, context: ArrayLike | None = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""
        chances: Floats = self.oracle.probabilities(self._as_seen(context), available)
        return chances

    def readings(self) -> Any:
        """The oracle's readings."""
        return self.oracle.readings()

    def reseed(self, rng: RNG) -> None:
        """New randomness; what was learnt stays."""
        if hasattr(self.oracle, "reseed"):
            self.oracle.reseed(rng)

    def get_state(self) -> Any:
        """What the oracle has learnt, as arrays."""
        return self.oracle.get_state()

    def set_state(self, saved: Any) -> None:
        """Take up a state from `get_state` of a policy that was started from the same log."""
        self.oracle.set_state(saved)

    def _as_seen(self, context: ArrayLike | None) -> Any:
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
