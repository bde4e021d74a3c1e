"""A policy as the service uses it: contexts by name, settled after every outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.logs.encoding import Encoding
from headstart.parts import Oracle, OracleAbilities, layers
from headstart.parts.warming import warm
from headstart.serve.engine.binding import FREE, Binding
from headstart.serve.engine.bounds import UNBOUNDED, Bounds
from headstart.serve.engine.surprises import NONE, check_expected, take_middles
from headstart.warmstart.conflict import Guarded
from headstart.warmstart.warmstart import WarmStart


class Contradiction(TypedDict):
    """Where users contradicted the log of an action, by a guard's test."""

    action: int
    reason: str


class ServedPolicy:
    """Wraps any oracle. `n_extra` columns of the log are no user's: adjusted for there, never looked at here.

    What lies outside the bounds is seen and learnt as the nearest value within.
    """

    def __init__(
        self,
        policy: Oracle,
        encoding: Encoding,
        n_extra: int,
        bounds: Bounds = UNBOUNDED,
        binding: Binding = FREE,
    ) -> None:
        self.policy = policy
        self._abilities = OracleAbilities(policy)
        self.has_context = bool(self._abilities.n_features)
        self.outcome_range = self._abilities.outcome_range
        self.waits = self._abilities.waits  # whether it matters what is in flight
        self._encoding, self._n_extra, self._bounds = take_middles(encoding, bounds, binding), n_extra, bounds
        self._lows, self._highs = np.full((2, len(encoding.names)), [[-math.inf], [math.inf]])
        for column, place in encoding.numbers.items():
            if column in bounds.columns:
                self._lows[place], self._highs[place] = bounds.columns[column]
        self._settle()

    def as_vector(self, context: Mapping[str, Any], surprises: Mapping[str, str] = NONE) -> Floats | None:
        """What the policy sees of a context; None if it looks at none."""
        if not self.has_context:
            return None
        check_expected(self._encoding, context, surprises)
        vector = self._encoding.encode(context)
        if self._bounds.columns:
            vector = np.minimum(np.maximum(vector, self._lows), self._highs)
        return np.concatenate([vector, np.zeros(self._n_extra)]) if self._n_extra else vector

    def warm_up(self) -> None:
        """Load what is compiled for deciding and learning, so that the first user does not wait for it."""
        warm(self.policy)

    def learn(
        self, context: Mapping[str, Any], action: int, outcome: float, surprises: Mapping[str, str] = NONE
    ) -> None:
        """Learn one user's outcome."""
        self.policy.update(self.as_vector(context, surprises), action, self._bounds.clip_outcome(outcome))
        self._settle()

    def expect(self, context: Mapping[str, Any], action: int, surprises: Mapping[str, str] = NONE) -> None:
        """A decision was made whose outcome is still to come."""
        self._abilities.expect(self.as_vector(context, surprises), action)

    def release(self, context: Mapping[str, Any], action: int, surprises: Mapping[str, str] = NONE) -> None:
        """An expected decision is in flight no more."""
        self._abilities.release(self.as_vector(context, surprises), action)

    def _settle(self) -> None:
        """Run the virtual plays that are due now: a state must not depend on who asked when."""
        warm_start = self._find_warm_start()
        if warm_start is not None:
            warm_start.settle()

    def _find_warm_start(self) -> WarmStart | None:
        """Perhaps within a guard, which may have begun another."""
        return next((layer for layer in layers(self.policy) if isinstance(layer, WarmStart)), None)

    def probabilities(
        self, context: Mapping[str, Any], available: Bools | None, surprises: Mapping[str, str] = NONE
    ) -> list[float]:
        """The policy's own chances, (K,)."""
        chances: list[float] = self.policy.probabilities(self.as_vector(context, surprises), available).tolist()
        return chances

    def virtual_plays(self) -> list[int] | None:
        """Virtual plays that still count, per action; None for a policy without a log."""
        for layer in layers(self.policy):
            plays = OracleAbilities(layer).virtual_plays
            if plays is not None:
                return [int(n) for n in plays]
        return None

    def readings(self) -> dict[str, list[float]]:
        """Plays, means and the algorithm's own bounds per action, as lists; NaN where the policy does not say."""
        return {name: values.tolist() for name, values in self._abilities.readings()._asdict().items()}

    def conflicts(self) -> list[Contradiction]:
        """Where users contradicted the log, by a guard's test."""
        guard = next((layer for layer in layers(self.policy) if isinstance(layer, Guarded)), None)
        found = [] if guard is None else guard.withdrawals
        return [{"action": each.action, "reason": each.reason} for each in found]
