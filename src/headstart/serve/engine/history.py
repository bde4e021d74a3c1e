"""What has happened, for reports: decisions as they were made and outcomes as they came to count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headstart.serve.config import Label
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.past_actions import as_present
from headstart.serve.store import events as kinds
from headstart.serve.store.events import DecisionBody, decision_body
from headstart.serve.store.reader import Reader


class Seen(NamedTuple):
    """A decision (its outcome is None), or an outcome that counts."""

    sequence: int
    time: float  # seconds since 1970, of the decision
    action: Label
    propensity: float
    probabilities: list[float]
    is_holdout: bool
    outcome: float | None


def read_history(reader: Reader, fold: Fold, after: int) -> Iterator[Seen]:
    """Everything after a sequence number, in order.

    Probabilities are in the order of the present actions; decisions for actions that the experiment no longer has are
    left out, and so are outcomes of decisions that were set aside. An outcome outside the bounds is the nearest value
    within.
    """
    for event in reader.events(fold.name, after):
        if event.kind == kinds.DECISION:
            yield from _seen(fold, event.sequence, event.time, decision_body(event.body), None)
        elif event.kind == kinds.OUTCOME and not fold.learns_at_close and event.decision is not None:
            if event.about not in fold.worth.aside:
                yield from _seen(fold, event.sequence, event.decided, event.decision, event.body["outcome"])
        elif event.kind == kinds.WINDOW_CLOSED:
            rows = reader.learnt(fold.name, event.sequence - 1, event.sequence, at_close=True)
            for row in rows:
                if row.about not in fold.worth.aside:
                    yield from _seen(fold, row.sequence, row.decided, row.body, row.outcome)


def _seen(fold: Fold, sequence: int, time: int, body: DecisionBody, outcome: float | None) -> Iterator[Seen]:
    probabilities = as_present(fold, body)
    if probabilities is not None:
        is_holdout = body.get("is_holdout", False)
        worth = None if outcome is None else fold.worth.bounds.clip_outcome(outcome)
        yield Seen(sequence, time / 1e6, body["action"], body["propensity"], probabilities, is_holdout, worth)
