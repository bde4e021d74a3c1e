"""Flight: the decisions whose outcomes are still to come, by the events alone.

A decision is in flight from its event on until its outcome is learnt, its window is over, or it is forgotten: once
the outcomes of more than `forget_after` newer users have been learnt before its own, or 20,000 newer ones are in
flight. Times are those of events. While an experiment is frozen its policy stays as it is, and what it was told of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import orjson

from headstart.parts import Saved
from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.store.events import Context, Event

FORGET_AFTER = 1000  # outcomes of newer users, if nothing is said
MOST = 20_000  # decisions in flight that are remembered


class Departure(NamedTuple):
    """A decision in flight."""

    number: int  # among all that departed
    time: int  # of the decision
    action: Label
    context: Context  # empty where the experiment has no columns
    surprises: dict[str, str]


class Flight:
    """What is in flight after the events so far."""

    def __init__(self) -> None:
        self.waiting: dict[int, Departure] = {}  # by the decision's sequence number, the oldest first
        self.told = 0  # the last decision that a policy which waits was told of
        self._held: dict[int, Departure] | None = None  # what it was told of when it was frozen; None: it is not
        self._n_departed = 0

    @property
    def known(self) -> dict[int, Departure]:
        """What the policy is to know of."""
        return self.waiting if self._held is None else self._held

    def depart(self, event: Event, config: ExperimentConfig) -> Departure:
        """One more decision."""
        context = event.body["context"] if config.contexts else {}
        surprises = event.body.get("surprises", {})
        departure = Departure(self._n_departed, event.time, event.body["action"], context, surprises)
        self.waiting[event.sequence] = departure
        self._n_departed += 1
        if self._held is None:
            self.told = event.sequence
        return departure

    def land(self, decision: int) -> Departure | None:
        """Its outcome is learnt; None if it was forgotten before, or departed before anybody counted."""
        return self.waiting.pop(decision, None)

    def forget(self, config: ExperimentConfig, now: int) -> Iterator[tuple[int, Departure]]:
        """Those that are waited for no more, which have gone when they are told.

        The oldest is asked first: of no other one have the outcomes of more newer users come.
        """
        while self.waiting:
            decision, oldest = next(iter(self.waiting.items()))
            if not (self._is_over(oldest, config, now) or self._is_overtaken(oldest, config)):
                return
            del self.waiting[decision]
            yield decision, oldest

    def _is_over(self, oldest: Departure, config: ExperimentConfig, now: int) -> bool:
        """Whether its window has closed, where no default is learnt then."""
        if config.outcome_window is None or config.default_outcome is not None:
            return False
        return now > oldest.time + config.window_length

    def _is_overtaken(self, oldest: Departure, config: ExperimentConfig) -> bool:
        """Whether too many newer ones have landed, or are in flight themselves."""
        n_landed = self._n_departed - oldest.number - len(self.waiting)
        return len(self.waiting) > MOST or n_landed > (config.forget_after or 0)

    def redact(self, decisions: Iterable[int]) -> None:
        """Forget the contexts of some."""
        for decision in decisions:
            for departures in (self.waiting, self._held or {}):
                if decision in departures:
                    departures[decision] = departures[decision]._replace(context={})

    def freeze(self) -> None:
        """What is known now stays so."""
        self._held = dict(self.waiting)

    def thaw(self) -> dict[int, Departure]:
        """What was known until now; from now on it is what is in flight."""
        held, self._held = self.known, None
        return held

    def as_dict(self) -> Saved:
        """For snapshots."""
        return {
            "waiting": _as_text(self.waiting),
            "held": None if self._held is None else _as_text(self._held),
            "told": self.told,
            "departed": self._n_departed,
        }

    @classmethod
    def from_dict(cls, saved: Saved) -> Flight:
        """From a snapshot."""
        flight = cls()
        flight.waiting, held = _from_text(saved["waiting"]), saved["held"]
        flight._held = None if held is None else _from_text(held)
        flight.told, flight._n_departed = saved["told"], saved["departed"]
        return flight


def _as_text(departures: dict[int, Departure]) -> str:
    """As JSON, which all of it came from: of 20,000 it takes milliseconds, while nobody is decided for."""
    return orjson.dumps([(decision, *departure) for decision, departure in departures.items()]).decode()


def _from_text(text: str) -> dict[int, Departure]:
    return {decision: Departure(*departure) for decision, *departure in orjson.loads(text)}
