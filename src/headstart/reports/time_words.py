"""Drift over time in words: what changed, in which period, and what was done about it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from headstart.estimates.periods import CHANCE
from headstart.judgement.audit.audit import Audit
from headstart.judgement.audit.checks.drift import ActionOverTime, DriftFinding
from headstart.numerals import NONE, number
from headstart.reports.section import Section, as_percent

_YEAR_1990, _YEAR_2100 = 631_152_000.0, 4_102_444_800.0  # seconds since 1970: numbers between are taken for dates


def write_drift(audit: Audit) -> Iterator[Section]:
    """One section, if anything is known of time."""
    found = audit.drift
    if found is None:
        return
    clock = "time" if found.clock == "time" else "the number of the row, for the log does not say when"
    sentences = [
        f"{sum(found.rows):,} rows in {len(found.rows)} periods by {clock}, from {name_time(found, 0)} on. "
        f"The policy's shares {_moved(found.shares_p)}; the level of the outcome {_moved(found.level_p)}; the "
        f"differences between actions {_moved(found.contrasts_p)}. Each test has a chance of 0.2 % of a false alarm."
    ]
    if found.is_adjusted:
        sentences.append("Because shares moved, the period is among the columns that were adjusted for.")
    if found.late_best is not None:
        name = found.actions[found.late_best].name
        sentences.append(f"In the last periods {name} is best: recent rows should count more.")
    header = (
        "action",
        "share at first",
        "share at last",
        "mean at first",
        "mean of the last periods",
        "what was found",
    )
    rows = tuple(_row(found, a, audit.actions.best) for a in range(len(found.actions)))
    yield Section("drift", "Did anything change over time?", tuple(sentences), header, rows)


def name_time(found: DriftFinding, period: int) -> str:
    """When a period begins: a date where times look like seconds since 1970, else the number itself."""
    start = found.starts[period]
    if found.clock == "time" and all(_YEAR_1990 < each < _YEAR_2100 for each in found.starts):
        return datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%d")
    return f"row {start:,.0f}" if found.clock != "time" else number(start, 4)


def _moved(p_value: float) -> str:
    return f"moved (p = {p_value:.1g})" if p_value < CHANCE else f"did not move beyond noise (p = {p_value:.2g})"


def _row(found: DriftFinding, a: int, best: int | None) -> tuple[str, ...]:
    action = found.actions[a]
    late = (
        NONE
        if action.late_mean != action.late_mean
        else f"{number(action.late_mean)} ± {number(action.late_error, 2)}"
    )
    first = next((mean for mean in action.means if mean == mean), float("nan"))
    return (
        str(action.name),
        as_percent(action.shares[0]),
        as_percent(action.shares[-1]),
        number(first),
        late,
        _say(action, is_best=a == best, n_actions=len(found.actions)),
    )


def _say(action: ActionOverTime, *, is_best: bool, n_actions: int) -> str:
    if action.missing_share > 0.0:
        return f"not used in {as_percent(action.missing_share)} of the time"
    words = ["best of the whole log"] if is_best else []
    words += ["its difference to the others moved"] if action.moved_p * n_actions < CHANCE else []
    return "; ".join(words) or NONE
