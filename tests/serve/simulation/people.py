"""Steps of people: freezing, rolling back, withdrawing the log, setting decisions aside, retiring actions, resuming;
and of the watch that trips guardrails.
"""

from __future__ import annotations

from typing import Any

from headstart.serve.engine.asks import AsideAsk, GuardAsk, RetireAsk, SteerAsk
from tests.serve.simulation.asking import ask
from tests.serve.simulation.replica import Replica
from tests.serve.simulation.world import World


class People:
    """Who decides about an experiment."""

    def __init__(self, world: World) -> None:
        self._world, self._rng = world, world.rng

    def freeze(self, replica: Replica, name: str) -> None:
        """Learning stops."""
        self._steer(replica, name, "frozen")

    def unfreeze(self, replica: Replica, name: str) -> None:
        """Learning goes on, with what came in the meantime."""
        self._steer(replica, name, "unfrozen")

    def roll_back(self, replica: Replica, name: str) -> None:
        """To any version."""
        self._steer(replica, name, "rolled_back", to=self._rng.randint(0, replica.fold(name).version))

    def withdraw_log(self, replica: Replica, name: str) -> None:
        """Also of an experiment that has none."""
        self._steer(replica, name, "log_withdrawn")

    def set_aside(self, replica: Replica, name: str) -> None:
        """Any decision, also one that is set aside already."""
        self._aside(replica, name, "set_aside", list(self._world.models[name].decisions))

    def take_back(self, replica: Replica, name: str) -> None:
        """One that was set aside."""
        model = self._world.models[name]
        known = [event_id for event_id, row in model.decisions.items() if row.sequence in model.aside]
        self._aside(replica, name, "taken_back", known)

    def retire(self, replica: Replica, name: str) -> None:
        """Any action, also one that is retired, the last one, or none."""
        self._retire(replica, name, "retired")

    def reinstate(self, replica: Replica, name: str) -> None:
        """Any action, also one that is shown."""
        self._retire(replica, name, "reinstated")

    def trip(self, replica: Replica, name: str) -> None:
        """Any guardrail, also one that has tripped, began anew since, or is nobody's."""
        model, rail = self._world.models[name], self._guardrail(name)
        since = model.since.get(rail, 0) if self._rng.random() < 0.8 else self._rng.randint(0, model.head)
        body = {"since": since, "looked_at": model.head, "reason": "a seed"}
        ask(self._world, replica, name, [GuardAsk(name, rail, "tripped", body)])

    def resume(self, replica: Replica, name: str) -> None:
        """Any guardrail, also one that has not tripped."""
        ask(self._world, replica, name, [GuardAsk(name, self._guardrail(name), "resumed", {"reason": "a seed"})])

    def _guardrail(self, name: str) -> str:
        return self._rng.choice([*self._world.models[name].since, *self._world.models[name].since, "nobody's"])

    def _retire(self, replica: Replica, name: str, kind: str) -> None:
        actions = [*self._world.models[name].present.actions, "nobody's"]
        ask(self._world, replica, name, [RetireAsk(name, self._rng.choice(actions), kind, {"reason": "a seed"})])

    def _steer(self, replica: Replica, name: str, kind: str, **body: Any) -> None:
        ask(self._world, replica, name, [SteerAsk(name, kind, {**body, "reason": "a seed"})])

    def _aside(self, replica: Replica, name: str, kind: str, known: list[str]) -> None:
        event_id = self._rng.choice(known) if known and self._rng.random() < 0.9 else "nobody"
        ask(self._world, replica, name, [AsideAsk(name, event_id, kind, {"reason": "a seed"})])
