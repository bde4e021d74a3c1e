"""Bounds: within which values a policy decides and learns, so that one wild value cannot move it far.

A range is the one that the configuration declares or, where it declares none, the one that the log suggested when the
experiment began with it (`ranges` of the `warm_start` event, so that the bounds are a matter of events too). Events
keep what came; the policy sees the nearest value within. A number without a range is taken up to `LIMIT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from headstart.arrays import Floats
from headstart.errors import ContextError, LogError, OutcomeError
from headstart.estimates.outliers import Range, clip_log, find_ranges
from headstart.logs.log import Log
from headstart.serve.config import ExperimentConfig
from headstart.serve.store.events import Body, Context

LIMIT = 1e12  # of a number that nothing is known about: its square, summed, is still a number


class BoundState(TypedDict):
    """A range in force."""

    low: float
    high: float
    source: str  # "declared" or "log"


class BoundsState(TypedDict):
    """The ranges in force; what has none is not there."""

    outcome: BoundState | None
    contexts: dict[str, BoundState]


@dataclass(frozen=True)
class Bounds:
    """The ranges in force."""

    outcome: Range | None = None
    columns: Mapping[str, Range] = field(default_factory=dict)

    @classmethod
    def in_force(cls, config: ExperimentConfig, log: Body | None) -> Bounds:
        """What is declared, and what the log suggests besides; a log of an earlier headstart suggests nothing."""
        suggested = {} if log is None else log.get("ranges", {})
        outcome = config.outcome_range
        if outcome is None and suggested.get("outcome") is not None:
            low, high = suggested["outcome"]
            default = config.default_outcome
            outcome = (low, high) if default is None else (min(low, default), max(high, default))
        columns = {column: (low, high) for column, (low, high) in suggested.get("contexts", {}).items()}
        return cls(outcome, {**columns, **config.ranges})

    def clip_outcome(self, outcome: float) -> float:
        """The nearest value within the range."""
        return outcome if self.outcome is None else min(max(outcome, self.outcome[0]), self.outcome[1])

    def holds(self, context: Context) -> bool:
        """Whether every number of a context is within its range."""
        for column, (low, high) in self.columns.items():
            value = context.get(column)
            if isinstance(value, float) and not low <= value <= high:
                return False
        return True

    def take_log(self, config: ExperimentConfig, log: Log) -> Log:
        """The log as a policy learns it, within the ranges; refused where users would be."""
        if config.outside == "refuse":
            _check_rows(f"{config.at}.outcome_range", "outcome", log.outcomes, config.outcome_range)
            for name, j in log.encoding.numbers.items():
                at = f"{config.at}.contexts.{name}.range"
                _check_rows(at, name, log.contexts[:, j], config.ranges.get(name))
        return clip_log(log, self.outcome, self.columns)

    def as_dict(self, config: ExperimentConfig) -> BoundsState:
        """For people: each range and where it comes from."""

        def tell(found: Range, declared: Range | None) -> BoundState:
            return {"low": found[0], "high": found[1], "source": "log" if declared is None else "declared"}

        return {
            "outcome": None if self.outcome is None else tell(self.outcome, config.outcome_range),
            "contexts": {
                column: tell(found, config.ranges.get(column))
                for column, found in self.columns.items()
                if column in config.contexts
            },
        }


UNBOUNDED = Bounds()


def say_source(bound: BoundState) -> str:
    """Where a range comes from, in words."""
    return "by the log" if bound["source"] == "log" else "declared"


def describe_bounds(config: ExperimentConfig, bounds: Bounds) -> str:
    """The ranges in a line, so that people can declare them: what is a number, and what it may be."""
    told = bounds.as_dict(config)
    numbers = {name: told["contexts"].get(name) for name, kind in config.contexts.items() if kind == "number"}
    return "; ".join(
        f"{name} has no range"
        if bound is None
        else f"{name} in [{bound['low']:g}, {bound['high']:g}], {say_source(bound)}"
        for name, bound in [("outcome", told["outcome"]), *numbers.items()]
    )


def suggest_ranges(log: Log) -> Body:
    """What a `warm_start` event says of its log's ranges: of outcomes, of columns, and how many rows lie outside."""
    outcome, columns = find_ranges(log)
    strays = {column: found.n_outside for column, found in columns.items() if found.n_outside}
    return {
        "outcome": None if outcome is None else [outcome.low, outcome.high],
        "contexts": {column: [found.low, found.high] for column, found in columns.items()},
        "outlying": {"outcome": 0 if outcome is None else outcome.n_outside, "contexts": strays},
    }


def check_number_within(config: ExperimentConfig, bounds: Bounds, column: str, number: float) -> float:
    """A user's number, refused if a declared range says so, or if there is none and it is beyond all measure."""
    declared, at = config.ranges.get(column), f"{config.at}.contexts.{column}"
    if declared is not None and config.outside == "refuse" and not declared[0] <= number <= declared[1]:
        low, high = declared
        raise ContextError(f"context column {column!r} must be in [{low:g}, {high:g}], got {number:g} ({at}.range)")
    if column not in bounds.columns and abs(number) > LIMIT:
        raise ContextError(
            f"context column {column!r} must be within ±{LIMIT:g}, got {number:g}: "
            f"declare {at} = {{ range = [low, high] }} to allow more"
        )
    return number


def check_outcome_within(config: ExperimentConfig, bounds: Bounds, outcome: float) -> None:
    """An outcome, refused as a user's number is."""
    declared, at = config.outcome_range, f"{config.at}.outcome_range"
    if declared is not None and config.outside == "refuse" and not declared[0] <= outcome <= declared[1]:
        raise OutcomeError(f"outcome must be in [{declared[0]:g}, {declared[1]:g}], got {outcome:g} ({at})")
    if bounds.outcome is None and abs(outcome) > LIMIT:
        raise OutcomeError(f"outcome must be within ±{LIMIT:g}, got {outcome:g}: declare {at} to allow more")


def _check_rows(at: str, column: str, values: Floats, declared: Range | None) -> None:
    if declared is None:
        return
    outside = (values < declared[0]) | (values > declared[1])
    if outside.any():
        row, (low, high) = int(np.argmax(outside)), declared
        raise LogError(
            f"the log has {column} = {values[row]:g} in row {row}, outside {at} = [{low:g}, {high:g}]: "
            'mend the row, widen the range, or declare outside = "clip"'
        )
