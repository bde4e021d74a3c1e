"""Tower: what a policy is told of decisions in flight."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from headstart.errors import HeadstartError
from headstart.serve.config import Label
from headstart.serve.engine.flight import Departure
from headstart.serve.engine.served_policy import ServedPolicy

Tells = Callable[[Mapping[str, Any], int, Mapping[str, str]], None]  # a user, an action, what is surprising


class Tower(NamedTuple):
    """Speaks to one policy. What it says of a departure it takes back at the landing, or it says neither: of what is
    set aside, of actions and columns that the policy does not have, to a policy that does not mind.
    """

    policy: ServedPolicy
    indices: Mapping[Label, int]  # of the actions
    aside: Collection[int]  # decisions that are set aside

    def expect(self, decision: int, departure: Departure) -> None:
        """A decision is in flight."""
        self._tell(self.policy.expect, decision, departure)

    def release(self, decision: int, departure: Departure) -> None:
        """It is no more."""
        self._tell(self.policy.release, decision, departure)

    def release_all(self, departures: Mapping[int, Departure], but: Collection[int]) -> None:
        """All of these are in flight no more, but for some."""
        for decision, departure in departures.items():
            if decision not in but:
                self.release(decision, departure)

    def expect_all(self, departures: Mapping[int, Departure], but: Collection[int] = ()) -> None:
        """All of these are in flight, and some were known to be."""
        for decision, departure in departures.items():
            if decision not in but:
                self.expect(decision, departure)

    def _tell(self, verb: Tells, decision: int, departure: Departure) -> None:
        if not self.policy.waits or decision in self.aside:
            return
        try:
            verb(departure.context, self.indices[departure.action], departure.surprises)
        except (KeyError, HeadstartError):  # the configuration has changed since
            return
