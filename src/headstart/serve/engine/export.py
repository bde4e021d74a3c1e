"""The decision log as rows of the next log: one per decision, with the outcome that counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.past_actions import as_present
from headstart.serve.engine.sources import Source
from headstart.serve.errors import UnknownExperiment
from headstart.serve.store.events import Context, decision_body, read_body
from headstart.serve.store.questions import READ_NAMES
from headstart.serve.store.reader import Reader
from headstart.serve.store.store import Query


class DecisionRow(TypedDict):
    """One decision and what came of it."""

    sequence: int
    event_id: str
    time: float  # seconds since 1970
    context: Context
    available: list[Label] | None  # None: all
    action: Label
    propensity: float
    probabilities: list[float]  # in the order of the present actions
    version: int
    is_holdout: bool
    is_set_aside: bool
    outcome: float | None


def export_rows(reader: Reader, fold: Fold, after: int = 0) -> Iterator[DecisionRow]:
    """Decisions joined to their outcomes; an outcome is None while it is not known.

    With a default outcome it is None until the window closes, also where an outcome has come: rows whose outcome is
    known must not be those of the quick answers. A late outcome does not count; of a decision that was set aside it
    is None for good. One outside the bounds is what came. Probabilities are in the order of the present actions; a
    decision for an action that the experiment no longer has is left out (`Engine.events` has it).
    """
    default, closed_through = fold.config.default_outcome, fold.closed_through
    at_close = fold.learns_at_close
    for sequence, event_id, time, decision, outcome, _ in reader.joined(fold.name, after):
        body = decision_body(read_body(decision))
        probabilities = as_present(fold, body)
        if probabilities is None:
            continue
        value = None if outcome is None else read_body(outcome)["outcome"]
        if at_close:
            value = None if sequence > closed_through else default if value is None else value
        is_set_aside = sequence in fold.worth.aside
        yield {
            "sequence": sequence,
            "event_id": event_id,
            "time": time / 1e6,
            "context": body["context"],
            "available": body.get("available"),
            "action": body["action"],
            "propensity": body["propensity"],
            "probabilities": probabilities,
            "version": body["version"],
            "is_holdout": body.get("is_holdout", False),
            "is_set_aside": is_set_aside,
            "outcome": None if is_set_aside else value,
        }


def read_fold(query: Query, experiment: str) -> Fold:
    """An experiment's counts and configuration as of now, without building its policy: no log is needed."""
    names = [name for (name,) in query(READ_NAMES)]
    if experiment not in names:
        raise UnknownExperiment(f"no experiment {experiment!r}; known: {', '.join(names) or 'none'}")
    reader = Reader(query)
    fold = Fold(experiment, reader, _no_source)
    fold.quiet_until = 2**62
    for event in reader.events(experiment):
        fold.apply(event)
    return fold


def _no_source(config: ExperimentConfig, wanted: str) -> Source:
    raise AssertionError("a fold that does not learn needs no log")
