"""A policy as the service uses it: contexts by name, settled after every outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.logs.encoding import Encoding
from headstart.warmstart.warmstart import WarmStart


class ServedPolicy:
    """Wraps any oracle. `n_extra` columns of the log are no user's: adjusted for there, never looked at here."""

    def __init__(self, policy: Any, encoding: Encoding, n_extra: int) -> None:
        self.policy = policy
        self.has_context = bool(getattr(policy, "n_features", 0))
        self.outcome_range: tuple[float, float] = getattr(policy, "outcome_range", (-math.inf, math.inf))
        self._encode, self._n_extra = encoding.encode, n_extra
        self._settle()

    def as_vector(self, context: Mapping[str, Any]) -> Floats | None:
        """What the policy sees of a context; None if it looks at none."""
        if not self.has_context:
            return None
        vector = self._encode(context)
        return np.concatenate([vector, np.zeros(self._n_extra)]) if self._n_extra else vector

    def warm_up(self) -> None:
        """Load what is compiled for deciding and learning, so that the first user does not wait for it."""
        vector = np.zeros(self.policy.n_features) if self.has_context else None
        self.policy.probabilities(vector)
        warm_start = self._find_warm_start()
        oracle = self.policy if warm_start is None else warm_start.oracle
        if hasattr(oracle, "copy"):
            seen = vector if warm_start is None else warm_start.decided(vector)
            low, high = self.outcome_range
            oracle.copy().update(seen, 0, min(max(0.0, low), high))

    def learn(self, context: Mapping[str, Any], action: int, outcome: float) -> None:
        """Learn one user's outcome."""
        self.policy.update(self.as_vector(context), action, outcome)
        self._settle()

    def _settle(self) -> None:
        """Run the virtual plays that are due now: a state must not depend on who asked when."""
        warm_start = self._find_warm_start()
        if warm_start is not None:
            warm_start.settle()

    def _find_warm_start(self) -> WarmStart | None:
        part = self.policy  # perhaps within a guard
        while part is not None and not isinstance(part, WarmStart):
            part = getattr(part, "policy", None)
        return part

    def probabilities(self, context: Mapping[str, Any], available: Bools | None) -> list[float]:
        """The policy's own chances, (K,)."""
        chances: list[float] = self.policy.probabilities(self.as_vector(context), available).tolist()
        return chances

    def virtual_plays(self) -> list[int] | None:
        """Virtual plays that still count, per action; None for a policy without a log."""
        part = self.policy
        while part is not None:
            plays = getattr(part, "virtual_plays", None)
            if plays is not None:
                return [int(n) for n in plays]
            part = getattr(part, "policy", None)
        return None

    def readings(self) -> dict[str, list[float]] | None:
        """Plays, means and the algorithm's own bounds per action, as lists."""
        told = getattr(self.policy, "readings", None)
        return None if told is None else {name: list(map(float, v)) for name, v in told()._asdict().items()}

    def conflicts(self) -> list[dict[str, Any]]:
        """Where users contradicted the log, by a guard's test."""
        found = getattr(self.policy, "withdrawals", None) or []
        return [{"action": int(each.action), "reason": str(each.reason)} for each in found]
