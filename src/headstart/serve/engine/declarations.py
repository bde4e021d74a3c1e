"""Declarations: every configuration that an experiment has had, and past decisions in terms of the present one."""

from __future__ import annotations

from typing import NamedTuple

from headstart.serve.config import ExperimentConfig, Label, read_experiment
from headstart.serve.errors import StoreCorrupt
from headstart.serve.store import events as kinds
from headstart.serve.store.events import DecisionBody
from headstart.serve.store.reader import Reader


class Declarations(NamedTuple):
    """The configurations up to some event, in their order, with the sequence number of each; the last is in force."""

    declared: list[tuple[int, ExperimentConfig]]

    @property
    def present(self) -> ExperimentConfig:
        """The one in force."""
        return self.declared[-1][1]

    def actions_at(self, version: int) -> tuple[Label, ...]:
        """The labels, in order, that a decision of this version was drawn from."""
        for sequence, config in reversed(self.declared):
            if sequence <= version:
                return config.actions
        raise StoreCorrupt(f"experiment {self.present.name!r} has no configuration before event {version}")

    def columns(self) -> dict[str, str]:
        """Every context column that was ever declared, the present ones first: "number", or "text" for categories.

        A column that was a number under one configuration and had categories under another is text.
        """
        kinds_of: dict[str, str] = {}
        for _, config in reversed(self.declared):
            for column, kind in config.contexts.items():
                found = "number" if kind == "number" else "text"
                kinds_of[column] = found if kinds_of.get(column, found) == found else "text"
        return kinds_of

    def as_present(self, body: DecisionBody) -> list[float] | None:
        """A decision's probabilities, (K,), in the order of the present actions, 0 for one that was not there.

        None if the action that was drawn is no longer there.
        """
        present, drawn_from = self.present.actions, self.actions_at(body["version"])
        if drawn_from == present:
            return list(body["probabilities"])
        if body["action"] not in present:
            return None
        by_label = dict(zip(drawn_from, body["probabilities"], strict=True))
        return [by_label.get(label, 0.0) for label in present]


def read_declarations(reader: Reader, experiment: str, through: int) -> Declarations:
    """The configurations of an experiment up to an event, from the store."""
    events = reader.all_of(experiment, kinds.CONFIGURATION)
    return Declarations([(e.sequence, read_experiment(experiment, e.body)) for e in events if e.sequence <= through])
