"""Answers: what an ask gets, and what of it a caller outside sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NotRequired, TypeAlias, TypedDict, TypeVar

from headstart.errors import HeadstartError
from headstart.serve.config import Label
from headstart.serve.engine.asks import Ask
from headstart.serve.store.events import Decision, Receipt

Answer: TypeAlias = Decision | Receipt | int | HeadstartError  # a number is a steering's; an error is the caller's

Kind = TypeVar("Kind", Decision, Receipt, int)


class DecisionAnswer(TypedDict):
    """A decision as the caller sees it."""

    event_id: str
    action: Label
    propensity: float
    probabilities: dict[str, float]  # of every action, by its label
    version: int
    follows: NotRequired[str]  # the event id of the decision whose action its unit keeps; not there: it was drawn
    is_fallback: NotRequired[bool]  # the client's, while the service was away; not there: no


class ReceiptAnswer(TypedDict):
    """What became of an outcome."""

    event_id: str
    status: str
    outcomes: NotRequired[Mapping[str, str]]  # of those with names, each for itself


def as_decision_answer(decision: Decision) -> DecisionAnswer:
    """A decision for the caller."""
    answer: DecisionAnswer = {
        "event_id": decision.event_id,
        "action": decision.action,
        "propensity": decision.propensity,
        "probabilities": dict(zip(map(str, decision.actions), decision.probabilities, strict=True)),
        "version": decision.version,
    }
    if decision.follows is not None:
        answer["follows"] = decision.follows
    return answer


def as_receipt_answer(receipt: Receipt) -> ReceiptAnswer:
    """A receipt for the caller."""
    answer: ReceiptAnswer = {"event_id": receipt.event_id, "status": receipt.status}
    if receipt.outcomes is not None:
        answer["outcomes"] = receipt.outcomes
    return answer


def attempt(make: Callable[[], Ask]) -> Ask | HeadstartError:
    """An ask, or why it is none."""
    try:
        return make()
    except HeadstartError as error:
        return error


def asked(asks: Sequence[Ask | HeadstartError]) -> list[Ask]:
    """Those that are asks."""
    return [ask for ask in asks if not isinstance(ask, HeadstartError)]


def merge_answers(
    kind: type[Kind], asks: Sequence[Ask | HeadstartError], answers: Sequence[Answer]
) -> list[Kind | HeadstartError]:
    """The answers, with the errors of what was never asked in their places."""
    rest = iter(answers)
    return [ask if isinstance(ask, HeadstartError) else _checked(kind, next(rest)) for ask in asks]


def only_answer(kind: type[Kind], answers: Sequence[Answer]) -> Kind:
    """The answer to the only ask, raised if it is an error."""
    answer = _checked(kind, answers[0])
    if isinstance(answer, HeadstartError):
        raise answer
    return answer


def _checked(kind: type[Kind], answer: Answer) -> Kind | HeadstartError:
    """Each kind of ask has its kind of answer."""
    assert isinstance(answer, kind | HeadstartError)
    return answer
