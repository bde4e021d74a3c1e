"""Guards: which guardrails an experiment has, from which event on each one counts, and which have tripped."""

from __future__ import annotations

from collections.abc import Mapping

from headstart.serve.guardrails import Guardrail
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body, Event


class Guards:
    """A function of the events, in the policy's fold and in the report's alike.

    A guardrail counts the outcomes of decisions after the event `since`: the configuration that declared it as it is,
    or the last time that somebody resumed. It trips once; it is over when somebody resumes, or declares it otherwise.
    """

    def __init__(self) -> None:
        self.declared: dict[str, Guardrail] = {}
        self.since: dict[str, int] = {}
        self.tripped: dict[str, int] = {}  # those in force, and the event that said so

    def declare(self, guardrails: Mapping[str, Guardrail], sequence: int) -> None:
        """Another configuration: one that it declares as it was goes on."""
        kept = [name for name, each in guardrails.items() if self.declared.get(name) == each]
        self.since = {name: self.since[name] if name in kept else sequence for name in guardrails}
        self.tripped = {name: by for name, by in self.tripped.items() if name in kept}
        self.declared = dict(guardrails)

    def take(self, event: Event) -> None:
        """One has tripped, or somebody has resumed."""
        name = event.body["guardrail"]
        if event.kind == kinds.TRIPPED:
            self.tripped[name] = event.sequence
        else:
            self.tripped.pop(name, None)
            self.since[name] = event.sequence

    @property
    def fallen_back(self) -> str | None:
        """The guardrail for which the safe action is shown: the first of those in force that say so."""
        if not self.tripped:  # every decision asks
            return None
        names = sorted(self.tripped, key=self.tripped.__getitem__)
        return next((name for name in names if self.declared[name].falls_back), None)

    def with_events(self, events: list[Event]) -> Guards:
        """As they are after the events of a turn, which no fold knows yet."""
        later = Guards()
        later.declared, later.since, later.tripped = self.declared, dict(self.since), dict(self.tripped)
        for event in events:
            if event.kind in (kinds.TRIPPED, kinds.RESUMED):
                later.take(event)
        return later

    def as_dict(self) -> dict[str, object]:
        """For snapshots; what is declared is the configuration's."""
        return {"since": self.since, "tripped": self.tripped}

    @classmethod
    def from_dict(cls, saved: Body, declared: Mapping[str, Guardrail]) -> Guards:
        """From a snapshot."""
        guards = cls()
        guards.declared, guards.since, guards.tripped = dict(declared), dict(saved["since"]), dict(saved["tripped"])
        return guards
