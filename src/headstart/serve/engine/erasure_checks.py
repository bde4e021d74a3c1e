"""Verifying erasures: what is left of a decision is what its event says, and what nobody can know is not asked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from headstart.serve.store import events as kinds
from headstart.serve.store.chain import digest_row
from headstart.serve.store.events import Event, write_body
from headstart.serve.store.reader import Reader


class ErasureChecks:
    """One experiment's, event by event; `add` takes a fault."""

    def __init__(self, reader: Reader, name: str, add: Callable[[str], None]) -> None:
        erasures = list(reader.all_of(name, kinds.REDACTED))
        self._erased_by = {sequence: event.sequence for event in erasures for sequence, _ in event.body["decisions"]}
        self._erasures = [event.sequence for event in erasures]
        self._left: dict[int, str] = {}  # digests of decisions without their contexts
        self._add = add
        self.clear_at = 0  # from this event on, what the policy learnt from contexts is known again

    def meet(self, decision: Event, *, has_contexts: bool) -> None:
        """A decision without its context. What learnt from it is not known until the event that erased it."""
        self._left[decision.sequence] = digest_row((*decision[:6], write_body(decision.body)))
        if has_contexts:
            later = self._erasures[bisect_right(self._erasures, decision.sequence) :]
            erased_at = self._erased_by.get(decision.sequence, later[0] if later else 0)
            self.clear_at = max(self.clear_at, erased_at)

    def check(self, redacted: Event) -> None:
        """The decisions that it names are what it left of them."""
        for sequence, digest in redacted.body["decisions"]:
            if self._left.get(sequence) != digest:
                self._add(f"redacted {redacted.sequence} names decision {sequence}, which is not what it left of it")
