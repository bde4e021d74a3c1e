"""Parts: reports of outcomes with names, and the value that is made of them.

Each report of a name is an event of its own, `part`, under the decision's event id, the name and, of a sum, the
report's id: so that each counts once. When a decision's value is known, an `outcome` event has it: with the report
that completes it or, where there is a window, when that closes. Only then is something learnt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headstart.checks import check_outcome_in
from headstart.errors import OptionError, OutcomeError
from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.bounds import LIMIT
from headstart.serve.outcomes import NamedOutcome
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body
from headstart.serve.store.store import Found, Known

_BETWEEN = "\x1f"  # no event id has it: they are printable
MAX_REPORT_ID = 100


def part_id(event_id: str, name: str, outcome: NamedOutcome, report_id: str | None) -> str:
    """Under which id a report of one name is kept."""
    parts = (event_id, name, report_id or "") if outcome.is_sum else (event_id, name)
    return _BETWEEN.join(parts)


def decision_id(part: str) -> str:
    """The decision's event id, of the id of a part; another id is its own."""
    return part.partition(_BETWEEN)[0]


def part_ids(config: ExperimentConfig, event_id: str, report_id: str | None) -> Iterator[str]:
    """What may be known of a decision, by what its value is made of."""
    for name, outcome in config.outcomes.named.items():
        if not outcome.is_sum or report_id is not None:
            yield part_id(event_id, name, outcome, report_id)


def check_report(
    config: ExperimentConfig, outcome: float | Mapping[str, object], report_id: object
) -> tuple[float | dict[str, float], str | None]:
    """An outcome as the experiment has it: a number, or numbers by name."""
    named, at = config.outcomes.named, f"experiment {config.name!r}"
    if not isinstance(outcome, Mapping):
        if named:
            raise OutcomeError(f"{at} has outcomes with names: report them by name; known: {', '.join(named)}")
        return check_outcome_in(outcome, *_ANY, "this experiment's policy"), None
    if not named:
        raise OutcomeError(f"{at} has one outcome without a name, got outcomes {list(outcome)[:5]}")
    if not outcome:
        raise OutcomeError("outcomes must hold at least one outcome, got none")
    checked = {name: _check_part(config, name, value) for name, value in outcome.items()}
    if any(each.is_sum for each in named.values()):
        return checked, check_report_id(report_id)
    return checked, None


_ANY = (float("-inf"), float("inf"))


def _check_part(config: ExperimentConfig, name: str, value: object) -> float:
    outcome = config.outcomes.named.get(name)
    if outcome is None:
        known = ", ".join(config.outcomes.named)
        raise OutcomeError(f"experiment {config.name!r} has no outcome {name!r:.80}; known: {known}")
    low, high = outcome.range or (-LIMIT, LIMIT)
    number = check_outcome_in(value, *_ANY, f"outcome {name!r}")
    if not low <= number <= high:
        raise OutcomeError(f"outcome {name!r} must be in [{low:g}, {high:g}], got {number:g}")
    return number


def check_report_id(report_id: object) -> str:
    """1 to 100 printable characters."""
    if not isinstance(report_id, str) or not 1 <= len(report_id) <= MAX_REPORT_ID or not report_id.isprintable():
        raise OptionError(
            f"report_id must be 1 to {MAX_REPORT_ID} printable characters where one of the outcomes is a sum (a "
            f"report that is sent again must not count again), got {report_id!r:.80}"
        )
    return report_id


def classify(config: ExperimentConfig, outcome: NamedOutcome, decided: int | None, now: int) -> str:
    """The kind of a report that comes now, of a decision of that time (None: there is none)."""
    if decided is None:
        return kinds.DANGLING
    if config.outcome_window is not None and now > decided + config.window_length:
        return kinds.LATE
    if now < decided + round(outcome.delay * 1e6):
        return kinds.EARLY
    return kinds.PART


def find_come(config: ExperimentConfig, found: Found, event_id: str) -> dict[str, list[float]]:
    """What has come of a decision without a window: each name once."""
    come: dict[str, list[float]] = {}
    for name, outcome in config.outcomes.named.items():
        part: Known | None = found.get(part_id(event_id, name, outcome, None), {}).get(kinds.PART)
        if part is not None:
            come[name] = [part.body["outcome"]]
    return come


def make_value(config: ExperimentConfig, come: Mapping[str, list[float]], action: Label) -> Body | None:
    """The body of an `outcome` event; None while a decision has no value."""
    settled = config.outcomes.settle(come)
    value = None if settled is None else config.outcomes.value(settled, action)
    return None if value is None else {"outcome": value, "outcomes": settled}
