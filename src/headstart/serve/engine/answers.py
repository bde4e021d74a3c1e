"""Answers: what an ask gets, and what of it a caller outside sees."""

from __future__ import annotations

from typing import TypeAlias, TypedDict

from headstart.errors import HeadstartError
from headstart.serve.config import Label
from headstart.serve.store.events import Decision, Receipt

Answer: TypeAlias = Decision | Receipt | int | HeadstartError  # a number is a steering's; an error is the caller's


class DecisionAnswer(TypedDict):
    """A decision as the caller sees it."""

    event_id: str
    action: Label
    propensity: float
    probabilities: dict[str, float]  # of every action, by its label
    version: int


class ReceiptAnswer(TypedDict):
    """What became of an outcome."""

    event_id: str
    status: str


def as_decision_answer(decision: Decision) -> DecisionAnswer:
    """A decision for the caller."""
    return {
        "event_id": decision.event_id,
        "action": decision.action,
        "propensity": decision.propensity,
        "probabilities": dict(zip(map(str, decision.actions), decision.probabilities, strict=True)),
        "version": decision.version,
    }


def as_receipt_answer(receipt: Receipt) -> ReceiptAnswer:
    """A receipt for the caller."""
    return {"event_id": receipt.event_id, "status": receipt.status}
