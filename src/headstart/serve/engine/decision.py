"""Deciding: from the policy's chances to the vector that is logged and the action drawn from it."""

from __future__ import annotations

import numpy as np

from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.draw import draw_action, draw_by_id, mix_floor, mix_safe
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.surprises import Seen
from headstart.serve.store.events import DecisionBody

MAX_KEPT = 256  # sets of available actions: callers may send any, and a frozen version lasts


def is_held_out(config: ExperimentConfig, event_id: str, unit: str | None) -> bool:
    """Whether the policy is not asked: decided by the event id, or for the life of a unit."""
    if config.holdout <= 0.0:
        return False
    purpose, name = ("hold-out", event_id) if unit is None else ("hold-out of units", unit)
    return draw_by_id(purpose, config.seed_in_force, config.name, name) < config.holdout


class Decider:
    """Decides by a fold's present state.

    A policy that looks at no context is asked once per version and set of available actions, of which the last few
    are kept.
    """

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self._version = -1
        self._kept: dict[tuple[Label, ...] | None, list[float]] = {}

    def decide(
        self, event_id: str, seen: Seen, available: list[Label] | None, unit: str | None = None, share: float = 1.0
    ) -> DecisionBody:
        """The body of a `decision` event: what was known, the chances, and the action drawn from them.

        `share` is that of the users whom the experiment decides for; the others are shown the safe action.
        """
        fold = self.fold
        config = fold.config
        is_holdout = is_held_out(config, event_id, unit)
        safe = None if is_holdout else fold.find_safe(available)
        if is_holdout:
            offered = self._offered(available)
            probabilities = [0.0] * len(config.actions)
            for a in offered:
                probabilities[a] = 1.0 / len(offered)
        elif safe is not None:
            probabilities = [float(label == safe) for label in config.actions]
        else:
            probabilities = self._probabilities(seen, available)
        probabilities = self._share(probabilities, available, share)
        action = draw_action(probabilities, draw_by_id("action", config.seed_in_force, config.name, event_id))
        body: DecisionBody = {
            "context": seen.context,
            "action": config.actions[action],
            "propensity": probabilities[action],
            "probabilities": probabilities,
            "version": fold.version,
        }
        if available is not None:
            body["available"] = available
        if is_holdout:
            body["is_holdout"] = True
        if safe is not None and fold.guards.fallen_back is not None:
            body["fell_back"] = fold.guards.fallen_back
        if seen.surprises:
            body["surprises"] = dict(seen.surprises)
        if unit is not None:
            body["unit"] = unit
        return body

    def chances(self, share: float = 1.0) -> list[float] | None:
        """The vector that the next user would be drawn with; None where it depends on the context."""
        safe = self.fold.find_safe(None)
        if safe is not None:
            return [float(label == safe) for label in self.fold.config.actions]
        if self.fold.policy.has_context:
            return None
        return self._share(self._probabilities(Seen({}, {}), None), None, share)

    def _share(self, probabilities: list[float], available: list[Label] | None, share: float) -> list[float]:
        """Where the safe action cannot be shown, the experiment decides."""
        safe = self.fold.config.safe_action
        if share >= 1.0 or safe not in self.fold.offered or not (available is None or safe in available):
            return probabilities
        return mix_safe(probabilities, self.fold.config.actions.index(safe), share)

    def _offered(self, available: list[Label] | None) -> list[int]:
        """What is available and not retired."""
        actions, offered = self.fold.config.actions, self.fold.offered
        if available is None and offered == actions:
            return list(range(len(actions)))
        left = set(offered) if available is None else set(offered).intersection(available)
        return [a for a, label in enumerate(actions) if label in left]

    def _probabilities(self, seen: Seen, available: list[Label] | None) -> list[float]:
        fold = self.fold
        policy = fold.policy
        if policy.has_context:
            return self._ask(seen, available)
        if self._version != fold.version:
            self._version = fold.version
            self._kept.clear()
        key = None if available is None else tuple(available)
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= MAX_KEPT:
                del self._kept[next(iter(self._kept))]  # the oldest
            kept = self._kept[key] = self._ask(seen, available)
        return kept

    def _ask(self, seen: Seen, available: list[Label] | None) -> list[float]:
        config = self.fold.config
        offered = self._offered(available)
        mask = None
        if len(offered) < len(config.actions):
            mask = np.zeros(len(config.actions), dtype=np.bool_)
            mask[offered] = True
        return mix_floor(self.fold.policy.probabilities(seen.context, mask, seen.surprises), offered, config.epsilon)
