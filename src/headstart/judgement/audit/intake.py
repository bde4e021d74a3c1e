"""The way in: what becomes of a log before anything is judged or started from it; the same for audit and start.

1. A sorted sample of its rows, all of them if there are no more than asked for. Copies of a row are one unit.
2. Values far outside all others are drawn to the range of those.
3. Columns that tell the outcome or the action are left out: what was written down after the fact neither judges nor
   adjusts.
4. Propensities that are missing are estimated; where the policy's shares moved over time, from the period too, which
   is then adjusted for like any other column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.errors import OptionError
from headstart.estimates.outliers import FoundRange, clip_log, find_ranges
from headstart.estimates.periods import number_rows, with_periods
from headstart.estimates.propensity.missing import fill_with_sample
from headstart.judgement.audit.checks.copies import CopiesFinding, find_copies
from headstart.judgement.audit.checks.leakage import LeakageFinding, find_leaks
from headstart.judgement.audit.checks.telling import TellingFinding, find_telling
from headstart.judgement.audit.rows import draw_sorted
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.logs.tables.table import LogTable


@dataclass(frozen=True, eq=False)
class Intake:
    """A log as it is judged and started from."""

    log: AnyLog  # with propensities, logged or estimated, and without the columns that are left out
    sample: Log  # rows of it, sorted
    whole: Log  # the same rows with every column
    is_logged: bool  # the propensities are the log's own
    filling: str  # how they were estimated, in words; "" if they are logged
    leakage: LeakageFinding
    telling: TellingFinding
    copies: CopiesFinding
    left_out: tuple[str, ...]  # the columns that tell the action or the outcome
    clock: str  # what the rows' times are: "time", or "row number"
    notes: tuple[str, ...]  # what was done, in words


def take_in(log: AnyLog, n_sample: int, seed: int) -> Intake:
    """The log ready to be looked at."""
    if not isinstance(log, Log | LogTable):
        raise OptionError(f"log must be a Log or a LogTable (hs.read_log(...)), got {type(log).__name__}")
    if isinstance(log, LogTable) and len(log) <= n_sample:
        log, reading = log.to_log(), log.reading
        log = log if reading is None else log.with_reading(reading)
    log, notes = _bound(log)
    clock = "row number" if isinstance(log, Log) and log.times is None else "time"
    log = number_rows(log) if isinstance(log, Log) else log
    whole = draw_sorted(log, n_sample, seed)
    if len(whole) < len(log):
        notes.append(f"{len(whole):,} of {len(log):,} rows, drawn by lot, were looked at one by one")
    copies, same = find_copies(whole, len(log), is_timed=clock == "time")
    whole = whole if same is None else whole.with_units(same.tolist())
    telling, leakage = find_telling(whole, seed), find_leaks(whole)
    left_out = (*telling.names, *(column.name for column in leakage.of_kind("leak")))
    log, sample = log.without(left_out), whole.without(left_out)
    is_logged, filling = log.has_propensities, ""
    if not is_logged:
        log, sample, filling = fill_with_sample(log, with_periods(sample), seed)
        assert sample.propensity_matrix is not None
        whole = whole.with_propensities(sample.propensity_matrix)
        notes.append(filling)
    return Intake(log, sample, whole, is_logged, filling, leakage, telling, copies, left_out, clock, tuple(notes))


def _bound(log: AnyLog) -> tuple[AnyLog, list[str]]:
    """The log with values far outside all others drawn to the range of those, and a word on each such column.

    One age of 1e200 would make every other one the mean, one outcome of 1e300 every fit infinite. Tables too large
    for memory are left as they are.
    """
    if not isinstance(log, Log) or not _may_stray(np.column_stack([log.outcomes, log.contexts])):
        return log, []
    outcome, columns = find_ranges(log)
    found: dict[str, FoundRange | None] = {"an outcome": outcome, **columns}
    far = {name: each for name, each in found.items() if each is not None and each.n_outside}
    told = [
        f"{each.n_outside} of {len(log)} rows have {name} far outside the others: it counts as the nearest value in "
        f"[{each.low:.4g}, {each.high:.4g}]"
        for name, each in far.items()
    ]
    ranges = {name: (each.low, each.high) for name, each in far.items()}
    return clip_log(log, ranges.pop("an outcome", None), ranges), told


def _may_stray(values: Floats) -> bool:
    """Whether nearly all of a column is huddled in a fiftieth of its range, as it is beside a value far outside."""
    with np.errstate(over="ignore"):
        middles, spans = np.median(values, axis=0), np.ptp(values, axis=0)
        return bool((np.mean(np.abs(values - middles) <= 0.02 * spans, axis=0) > 0.9).any())
