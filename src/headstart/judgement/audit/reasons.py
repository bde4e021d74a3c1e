"""Reasons: what a rule finds in the findings, and what it means for the verdict and for trust."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

Looked = TypeVar("Looked", contravariant=True)  # what a rule looks at: all findings, or those of the quick checks


class Found(NamedTuple):
    """What a rule found, in words."""

    text: str
    advice: str  # what to do about it
    action: int | None = None  # the one action that it is about


@dataclass(frozen=True)
class Rule(Generic[Looked]):
    """When a finding becomes a reason. `when` is for readers, `find` is what is done; a reason per yield.

    `odds` is what a reason does to the odds that the log is right about an action (of all actions, if the reason is
    about none of them): trust w becomes odds w / (odds w + 1 - w). A stop ends it, whatever its odds.
    """

    name: str
    subject: str  # the check that it judges
    severity: str  # "stop", "cap" or "note"
    when: str
    find: Callable[[Looked], Iterator[Found]]
    odds: float = 1.0


@dataclass(frozen=True)
class Reason:
    """A rule that applies to a log, with its words."""

    rule: str
    subject: str
    severity: str
    text: str
    advice: str
    action: int | None
    odds: float


def percent(share: float) -> str:
    """A share in words."""
    return f"{100.0 * share:.0f} %"
