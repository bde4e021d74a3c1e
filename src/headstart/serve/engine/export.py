"""The decision log as rows of the next log: one per decision, with the outcome that counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NotRequired, TypedDict

from headstart.serve.config import Label
from headstart.serve.engine.declarations import read_declarations
from headstart.serve.errors import UnknownExperiment
from headstart.serve.store import events as kinds
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
    unit: str | None  # whose decision it is, if that was said
    follows: str | None  # the event id of the decision whose action it repeats; None: it was drawn
    outcome: float | None
    outcomes: NotRequired[dict[str, float] | None]  # by name, where the experiment has such; None: not yet, or never


class Export:
    """An experiment's decisions joined to their outcomes, as the store has them when it is made.

    Everything is of that moment, whatever is written while the rows are read: the configuration in force, the last
    decision, the windows that are closed. It needs the store alone, no fold and no log.
    """

    def __init__(self, query: Query, experiment: str) -> None:
        self._reader, self.experiment = Reader(query), experiment
        self._through = self._reader.head(experiment).sequence
        self._declarations = read_declarations(self._reader, experiment, self._through)
        if not self._declarations.declared:
            names = ", ".join(name for (name,) in query(READ_NAMES))
            raise UnknownExperiment(f"no experiment {experiment!r}; known: {names or 'none'}")
        closed = self._reader.last(experiment, kinds.WINDOW_CLOSED)
        self._closed_through: int = 0 if closed is None else closed.body["through"]
        self._aside = _read_aside(self._reader, experiment)
        self.n_read = self.n_outcomes = 0  # rows that were last read, and those of them with an outcome

    @property
    def labels(self) -> list[str]:
        """The present actions, in the order of a row's probabilities."""
        return [str(label) for label in self._declarations.present.actions]

    @property
    def columns(self) -> dict[str, str]:
        """Every context column that a row may have, "number" or "text"."""
        return self._declarations.columns()

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes with names."""
        return tuple(self._declarations.present.outcomes.named)

    def __iter__(self) -> Iterator[DecisionRow]:
        """The rows, in the order of the decisions; an outcome is None while it is not known.

        With a default outcome it is None until the window closes, also where an outcome has come: rows whose outcome
        is known must not be those of the quick answers. A late outcome does not count; of a decision that was set
        aside it is None for good. One outside the bounds is what came. A decision for an action that the experiment
        no longer has is left out (`Engine.events` has it); a context has the columns of its time.
        """
        default = self._declarations.present.default_outcome
        self.n_read = self.n_outcomes = 0
        for sequence, event_id, time, decision, outcome, _ in self._reader.joined(self.experiment):
            if sequence > self._through:
                return
            body = decision_body(read_body(decision))
            probabilities = self._declarations.as_present(body)
            if probabilities is None:
                continue
            known = {} if outcome is None else read_body(outcome)
            value = known.get("outcome")
            if default is not None:
                value = None if sequence > self._closed_through else default if value is None else value
            is_set_aside = sequence in self._aside
            row: DecisionRow = {
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
                "unit": body.get("unit"),
                "follows": body.get("follows"),
                "outcome": None if is_set_aside else value,
            }
            if self.outcomes:
                row["outcomes"] = None if is_set_aside else known.get("outcomes")
            self.n_read += 1
            self.n_outcomes += row["outcome"] is not None
            yield row


def _read_aside(reader: Reader, experiment: str) -> set[int]:
    """Decisions that were set aside and not taken back."""
    last: dict[int | None, tuple[int, bool]] = {}
    for kind in (kinds.SET_ASIDE, kinds.TAKEN_BACK):
        for event in reader.all_of(experiment, kind):
            last[event.about] = max(last.get(event.about, (0, False)), (event.sequence, kind == kinds.SET_ASIDE))
    return {decision for decision, (_, is_aside) in last.items() if is_aside and decision is not None}
