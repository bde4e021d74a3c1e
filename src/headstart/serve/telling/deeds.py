"""Deeds: what people and configurations decided about an experiment, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple, TypedDict

from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body, Event


class DeedTold(TypedDict):
    """A line of the page's list."""

    time: str
    what: str
    by: str
    reason: str


class Deed(NamedTuple):
    """One of them."""

    time: float  # seconds since 1970
    kind: str
    what: str
    by: str  # who, and from where, if that was recorded
    reason: str

    @classmethod
    def of(cls, event: Event) -> Deed:
        """From its event."""
        body, by = event.body, str(event.body.get("by") or "")
        if by and body.get("address"):
            by += f" ({body['address']})"
        return cls(event.time / 1e6, event.kind, _tell(event.kind, body), by, str(body.get("reason") or ""))

    def as_dict(self) -> DeedTold:
        """For the page."""
        time = datetime.fromtimestamp(self.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
        return {"time": time, "what": self.what, "by": self.by, "reason": self.reason}

    @property
    def who_and_why(self) -> tuple[str, str]:
        """For a sentence."""
        return f" by {self.by}" if self.by else "", self.reason or "no reason was given"


def _tell(kind: str, body: Body) -> str:
    if kind == kinds.CONFIGURATION:
        return f"configuration with {len(body['actions'])} actions"
    if kind == kinds.WARM_START:
        return f"began with a log of {body['rows']:,} rows"
    if kind == kinds.ROLLED_BACK:
        return f"rolled back to version {body['to']:,}"
    if kind in (kinds.RETIRED, kinds.REINSTATED):
        return f"{kind} the action {body['action']}"
    if kind == kinds.TRIPPED:
        return f"the guardrail {body['guardrail']} tripped"
    if kind == kinds.RESUMED:
        return f"resumed after the guardrail {body['guardrail']}"
    if kind in (kinds.SET_ASIDE, kinds.TAKEN_BACK):
        return f"{kind.replace('_', ' ')}: {body['event_id']}"
    if kind == kinds.REDACTED:
        return f"erased the contexts of {len(body['decisions']):,} decisions"
    if kind == kinds.ARCHIVED:
        return f"archived events up to {body['file']['through']:,}"
    return _WORDS.get(kind, kind.replace("_", " "))


_WORDS = {
    kinds.FROZEN: "froze learning",
    kinds.UNFROZEN: "unfroze learning",
    kinds.LOG_WITHDRAWN: "withdrew the log",
    kinds.ACCEPTED: "accepted that events were lost",
}
