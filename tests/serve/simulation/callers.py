"""Steps of callers: decisions, outcomes, retries, groups of several callers, and what must be refused."""

from __future__ import annotations

import math
from typing import Any

from headstart.errors import HeadstartError
from headstart.serve.engine.asks import Ask, EraseAsk
from headstart.serve.units import Unit
from tests.serve.simulation import traffic
from tests.serve.simulation.asking import ask, try_ask
from tests.serve.simulation.model import PromiseBroken
from tests.serve.simulation.replica import Replica
from tests.serve.simulation.world import World

_RECENT = 12  # decisions that outcomes are about


class Callers:
    """Who sends requests."""

    def __init__(self, world: World) -> None:
        self._world, self._rng = world, world.rng

    def decide(self, replica: Replica, name: str) -> None:
        """For one user or several."""
        ask(self._world, replica, name, self._decides(replica, name, self._rng.choice([1, 1, 2, 5])))

    def report(self, replica: Replica, name: str) -> None:
        """One outcome or several."""
        ask(self._world, replica, name, self._outcomes(replica, name, self._rng.choice([1, 1, 2, 5])))

    def mix(self, replica: Replica, name: str) -> None:
        """A group of several callers."""
        asks = self._decides(replica, name, self._rng.randint(0, 3)) + self._outcomes(replica, name, 3)
        self._rng.shuffle(asks)
        ask(self._world, replica, name, asks)

    def erase(self, replica: Replica, name: str) -> None:
        """A person asks to be forgotten: a unit or a decision, perhaps as others ask for it, or nobody."""
        known = list(self._world.models[name].decisions)
        event_id = self._rng.choice(known) if known and self._rng.random() < 0.9 else "nobody"
        of = Unit(self._unit()) if self._world.has_units and self._rng.random() < 0.5 else event_id
        asks = self._decides(replica, name, self._rng.randint(0, 3))
        asks += self._outcomes(replica, name, self._rng.randint(0, 2))
        asks.insert(self._rng.randint(0, len(asks)), EraseAsk(name, of, {"reason": "a seed"}))
        ask(self._world, replica, name, asks)

    def retry(self, replica: Replica, name: str) -> None:
        """The same id again: with what was sent the first time, or with something else."""
        sent = [event_id for experiment, event_id in self._world.sent if experiment == name]
        if not sent or not replica.is_whole(name):
            return
        event_id = self._rng.choice(sent)
        user = self._world.sent[name, event_id]
        if self._rng.random() < 0.3:
            user = self._user(replica, name, event_id)
        ask(self._world, replica, name, try_ask(self._world, lambda: replica.as_decide(name, user)))

    def try_hostile(self, replica: Replica, name: str) -> None:
        """What must be refused, at the door or in its turn, and leave no trace."""
        if not replica.is_whole(name):
            return
        rng, fold, model = self._rng, replica.fold(name), self._world.models[name]
        user, head = self._user(replica, name, None), model.head
        user["event_id"] = f"hostile-{rng.getrandbits(30)}"
        bad_user = {**user, "context": traffic.draw_hostile_user(rng, fold.config)}
        bad_offer = {**user, "available": traffic.draw_hostile_available(rng)}
        bad_id = {**user, "event_id": traffic.draw_hostile_id(rng)}
        bad_unit = {**user, "unit": traffic.draw_hostile_id(rng)}
        # Another replica may have declared another policy since: then only what no policy takes is hostile.
        low, high = fold.outcome_range if fold.position == head else (-math.inf, math.inf)
        outcome = traffic.draw_hostile_outcome(rng, low, high)
        makers = (
            lambda: replica.as_decide(name, bad_user),
            lambda: replica.as_decide(name, bad_offer),
            lambda: replica.as_decide(name, bad_id),
            lambda: replica.as_decide(name, bad_unit),
            lambda: replica.as_outcome(name, Unit(bad_unit["unit"]), 0.0),
            lambda: replica.as_outcome(name, Unit("nobody"), 0.0),
            lambda: replica.as_outcome(name, "hostile", outcome),
            lambda: replica.as_outcome(name, bad_id["event_id"], 0.0),
        )
        answers = ask(self._world, replica, name, [each for make in makers for each in try_ask(self._world, make)])
        taken = [answer for answer in answers if not isinstance(answer, HeadstartError)]
        if taken or model.head != head:
            raise PromiseBroken(f"one of {bad_user}, {bad_offer}, {bad_id}, {outcome!r} was taken: {taken}")

    def _user(self, replica: Replica, name: str, event_id: str | None) -> dict[str, Any]:
        config = replica.fold(name).config
        user = {
            "context": traffic.draw_user(self._rng, config, is_wild=self._world.is_wild),
            "available": traffic.draw_available(self._rng, config.actions),
            "event_id": event_id,
        }
        if self._world.has_units and self._rng.random() < 0.7:
            user["unit"] = self._unit()
        if event_id is not None:
            self._world.sent.setdefault((name, event_id), user)
        return user

    def _unit(self) -> str:
        return f"ü{self._rng.randrange(8)}"

    def _new_id(self) -> str:
        return f"u{self._rng.randrange(40)}" if self._rng.random() < 0.7 else f"ü{self._rng.getrandbits(40)}"

    def _decides(self, replica: Replica, name: str, n: int) -> list[Ask]:
        """Asks for users with a new id, or none of their own."""
        asks: list[Ask] = []
        for _ in range(n if replica.is_whole(name) else 0):
            event_id = None if self._rng.random() < 0.2 else self._new_id()
            if event_id is not None and event_id in self._world.models[name].decisions:
                event_id = f"{event_id}-{self._rng.getrandbits(30)}"
            user = self._user(replica, name, event_id)
            asks += try_ask(self._world, lambda user=user: replica.as_decide(name, user))
        return asks

    def _outcomes(self, replica: Replica, name: str, n: int) -> list[Ask]:
        """Reports: of known decisions (first, again, another), and of decisions that nobody made."""
        asks: list[Ask] = []
        known, first = list(self._world.models[name].decisions), self._world.models[name].outcomes["outcome"]
        for _ in range(n if replica.is_whole(name) else 0):
            event_id = self._rng.choice(known[-_RECENT:]) if known and self._rng.random() < 0.85 else self._new_id()
            low, high = replica.fold(name).outcome_range
            outcome = traffic.draw_outcome(self._rng, low, high, is_wild=self._world.is_wild)
            if event_id in first and self._rng.random() < 0.5:
                outcome = first[event_id]
            named = replica.fold(name).config.outcomes.named
            if named:
                outcome = traffic.draw_named(self._rng, named)
            report_id = f"r{self._rng.randrange(3)}"
            of = Unit(self._unit()) if self._world.has_units and self._rng.random() < 0.3 else event_id
            asks += try_ask(self._world, lambda i=of, y=outcome, r=report_id: replica.as_outcome(name, i, y, r))
        return asks
