"""Events: what the store keeps, in the order of their sequence numbers, and what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NotRequired, TypeAlias, TypedDict, cast

import orjson

from headstart.serve.config import Label

# What happened. A decision, and the first, late, dangling or conflicting outcome of an event id exist at most once.
DECISION = "decision"
OUTCOME = "outcome"  # the first one in its window: the one that is learnt
LATE = "late"  # after the window: kept, not learnt
DANGLING = "dangling"  # no such decision: kept, never learnt, even if a decision of that id comes later
CONFLICTING = "conflicting"  # another value for an outcome that is known: kept, the first one counts
PART = "part"  # one outcome of those with names, in its window: what a value is made of
EARLY = "early"  # one that came before its delay was over: kept, not counted
CONFIGURATION = "configuration"
WARM_START = "warm_start"
LOG_WITHDRAWN = "log_withdrawn"
WINDOW_CLOSED = "window_closed"  # decisions up to a sequence number are learnt, with the default where none came
ACCEPTED = "accepted"  # somebody accepted that the store lacks events that it once had
FROZEN = "frozen"
UNFROZEN = "unfrozen"
ROLLED_BACK = "rolled_back"
SET_ASIDE = "set_aside"  # a decision's outcome is neither learnt nor counted, whether it has come or will
TAKEN_BACK = "taken_back"  # it is again
RETIRED = "retired"  # an action is shown no more; what is known of it stays
REINSTATED = "reinstated"  # it is shown again
TRIPPED = "tripped"  # a guardrail: an outcome is worse than it may be
RESUMED = "resumed"  # somebody has looked into it: the guardrail begins anew
ARCHIVED = "archived"  # old events are in a file, no longer in the store
REDACTED = "redacted"  # a person's contexts were overwritten: which decisions, and the digest of each as it is now
KINDS = (
    DECISION, OUTCOME, LATE, DANGLING, CONFLICTING, PART, EARLY, CONFIGURATION, WARM_START, LOG_WITHDRAWN,
    WINDOW_CLOSED, ACCEPTED, FROZEN, UNFROZEN, ROLLED_BACK, SET_ASIDE, TAKEN_BACK, RETIRED, REINSTATED,
    TRIPPED, RESUMED, REDACTED, ARCHIVED,
)  # fmt: skip
# A policy is built anew after these.
BUILDS = (CONFIGURATION, WARM_START, LOG_WITHDRAWN, SET_ASIDE, TAKEN_BACK, REDACTED)

Row: TypeAlias = tuple[Any, ...]  # what a question asks for, as the database has it
Value: TypeAlias = str | int | float | bool  # of a context's column
Context: TypeAlias = dict[str, Value | None]  # None: it was missing
Body: TypeAlias = Mapping[str, Any]  # JSON: what it holds depends on the kind


class DecisionBody(TypedDict):
    """The body of a decision: what was known, the chances, and the action drawn from them."""

    context: Context
    action: Label
    propensity: float
    probabilities: list[float]  # in the order of the actions at `version`
    version: int  # the sequence number of the last event that changed what the policy would do
    available: NotRequired[list[Label]]  # not there: all
    is_holdout: NotRequired[bool]  # not there: no
    surprises: NotRequired[dict[str, str]]  # columns that were "missing" or "unseen"; not there: none
    unit: NotRequired[str]  # whose decision it is; not there: nobody said
    follows: NotRequired[str]  # the event id of the draw that it repeats; not there: it was drawn
    fell_back: NotRequired[str]  # the guardrail by which the safe action was shown; not there: none
    number: NotRequired[int]  # among the decisions of that draw, from 2 on; not there: 1
    is_redacted: NotRequired[bool]  # its context was erased, and its unit is a made-up name; not there: no
    is_clipped: NotRequired[bool]  # of one that is redacted: its context was outside the bounds; not there: no


class Event(NamedTuple):
    """A row of the store, its body decoded."""

    sequence: int  # its experiment's own numbers
    experiment: str
    kind: str
    event_id: str | None
    time: int  # microseconds since 1970, never decreasing
    about: int | None  # the sequence number of the decision that an outcome is about, or that a decision repeats
    body: Body
    decision: DecisionBody | None = None  # that decision's body, where it was asked for
    decided: int = 0  # and its time
    hash: str = ""  # of this event and all before it; not there before it is written

    def as_dict(self) -> dict[str, object]:
        """For people and programs outside."""
        return {
            "sequence": self.sequence,
            "kind": self.kind,
            "event_id": self.event_id,
            "time": self.time / 1e6,
            "about": self.about,
            **self.body,
        }

    def tell(self) -> str:
        """What somebody decided, in a line: what, who, why."""
        by, reason = self.body.get("by"), self.body.get("reason")
        who, why = f" by {by}" if by else "", f": {reason}" if reason else ""
        return f"{self.kind.replace('_', ' ')}{who}{why}"


class Decision(NamedTuple):
    """What was decided, durable: the action was drawn from exactly these probabilities."""

    event_id: str
    action: Label
    propensity: float
    probabilities: tuple[float, ...]  # in the order of `actions`
    version: int  # the sequence number of the last event that changed what the policy would do
    is_holdout: bool
    actions: tuple[Label, ...]  # the experiment's when it was decided
    follows: str | None = None  # the event id of the decision whose action it repeats; None: it was drawn


class Receipt(NamedTuple):
    """What became of a reported outcome: applied, waiting, duplicate, conflicting, late, dangling or set_aside; of
    outcomes with names, each for itself (early too).
    """

    event_id: str
    status: str
    outcomes: Mapping[str, str] | None = None  # by name


NOTHING: Mapping[str, float] = {}


class Learnt(NamedTuple):
    """An outcome as it is learnt: with the decision that it belongs to."""

    sequence: int  # of the event that made it count
    time: int  # of that event
    decided: int  # the time of the decision
    body: DecisionBody
    outcome: float
    is_default: bool
    about: int  # the decision's sequence number
    outcomes: Mapping[str, float] = NOTHING  # by name, where they have one


def write_body(body: Body) -> str:
    """A body as JSON; floats come back bit for bit."""
    return orjson.dumps(body).decode()


def read_body(text: str | bytes) -> Body:
    """A body from JSON."""
    body: Body = orjson.loads(text)
    return body


def decision_body(body: Body) -> DecisionBody:
    """The body of an event that is known to be a decision."""
    return cast(DecisionBody, body)


def as_decision(event_id: str, body: DecisionBody, actions: Sequence[Label]) -> Decision:
    """The answer that a stored decision gave, and gives again."""
    return Decision(
        event_id,
        body["action"],
        body["propensity"],
        tuple(body["probabilities"]),
        body["version"],
        body.get("is_holdout", False),
        tuple(actions),
        body.get("follows"),
    )
