"""The logs that a policy starts from, brought together: each audited, in one order of actions, at one level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.errors import HeadstartError, OptionError
from headstart.estimates.summary import Summary
from headstart.judgement.audit.audit import examine
from headstart.judgement.audit.findings import Settings
from headstart.judgement.audit.trust import BASES, BelievedLog, believe
from headstart.judgement.start.for_all import are_binary
from headstart.judgement.start.options import StartOptions
from headstart.logs.any_log import AnyLog
from headstart.logs.joined import join_actions, join_logs, place_actions
from headstart.logs.log import Log
from headstart.priors.logged import check_known, make_normal
from headstart.priors.several import pool_summaries
from headstart.priors.shifts import NONE, Shift, find_level_shift

MOST_LOGS = 8  # every set of them is weighed
KINDS = tuple(BASES)
LOGGED_CHANCES = KINDS.index("logged")


class Together(NamedTuple):
    """The logs that are used: those that are believed at all, or every one for its scale if none is."""

    numbers: tuple[int, ...]  # of the logs, from 1, as they were given
    sources: tuple[BelievedLog, ...]
    rows: Log  # of all of them, at one level
    origins: Integers  # (n,) which of them each row is from
    summaries: tuple[Summary, ...]  # what each says of all actions, as far as caps leave it, at one level
    levels: tuple[Summary, ...]  # the same without caps
    trust: Floats  # (S, K)
    kept: Floats  # (S, K) what caps leave of an action's worth
    kinds: Integers  # (S,) of KINDS
    shifts: tuple[Shift, ...]  # that were undone
    level_of: int  # the number of the log whose level it is


def read_sources(
    logs: Sequence[AnyLog], settings: Settings, population: object, trust: Any, cap: Any, options: StartOptions
) -> list[BelievedLog]:
    """Each log, audited, with what is believed of it; errors say which log they are about."""
    if not 1 <= len(logs) <= MOST_LOGS:
        raise OptionError(f"start takes a log, or a list of 1 to {MOST_LOGS} of them, got a list of {len(logs)}")
    trusts, caps = _one_each("trust", trust, len(logs)), _one_each("cap", cap, len(logs))
    sources = []
    for i, log in enumerate(logs):
        try:
            examined = examine(log, settings, population)
            sources.append(
                believe(examined, trusts[i], caps[i], options.prior, has_population=population is not None)
            )
        except HeadstartError as error:
            raise type(error)(f"log {i + 1}: {error}") from error
    _check_outcomes(sources)
    return sources


def bring_together(sources: Sequence[BelievedLog], options: StartOptions) -> Together:
    """The logs beside each other."""
    order = sorted(range(len(sources)), key=lambda s: _content_of(sources[s]))  # in whatever order they were given
    used = [s for s in order if sources[s].is_trusted] or order
    names = join_actions([source.intake.whole for source in sources])  # they exist, in a log that is used or not
    chosen = [sources[s] for s in used]
    rows, origins = join_logs([source.intake.whole for source in chosen], names)
    places = [place_actions(source.intake.whole, names) for source in chosen]
    paired = list(zip(chosen, places, strict=True))
    trust = np.array([_fill(source.trust.weights, place, len(names), 0.0) for source, place in paired])
    kept = np.array([_fill(source.kept, place, len(names), 1.0) for source, place in paired])
    kinds = np.array([KINDS.index(source.audit.facts.basis) for source in chosen])
    trust = _doubt_observed(trust, kinds, options.sources.observed)
    levels = [_place(source.audit.summary, place, len(names)) for source, place in paired]
    capped = [_place(source.scaled, place, len(names)) for source, place in paired]
    first = _choose_level(chosen, trust, capped)
    shifts = _find_shifts(capped, trust, first, rows, options)
    off = np.array([shift.size for shift in shifts])
    return Together(
        tuple(s + 1 for s in used),
        tuple(chosen),
        rows if not off.any() else rows.with_outcomes(rows.outcomes - off[origins]),
        origins,
        tuple(shift.undo(each) for shift, each in zip(shifts, capped, strict=True)),
        tuple(shift.undo(each) for shift, each in zip(shifts, levels, strict=True)),
        trust,
        kept,
        kinds,
        tuple(shifts),
        used[first] + 1,
    )


def _content_of(source: BelievedLog) -> tuple[float, ...]:
    rows = source.intake.whole
    return (len(rows), float(rows.outcomes.sum()), float(rows.actions.sum()))


def _one_each(name: str, given: Any, n: int) -> list[Any]:
    """What was given for each log: a list of one for each, or one for all of them."""
    if isinstance(given, list | tuple):
        if len(given) != n:
            raise OptionError(f"{name} must be one for all logs, or a list of {n}, one for each, got {len(given)}")
        return list(given)
    return [given] * n


def _check_outcomes(sources: Sequence[BelievedLog]) -> None:
    """Whether all logs have outcomes of one kind, as far as can be seen."""
    outcomes = [source.intake.whole.outcomes for source in sources]
    binary = [i for i, each in enumerate(outcomes) if are_binary(each)]
    others = [i for i, each in enumerate(outcomes) if not np.isin(each, (0.0, 1.0)).all()]
    if binary and others:
        values = outcomes[others[0]]
        strange = float(values[~np.isin(values, (0.0, 1.0))][0])
        raise OptionError(
            f"the logs must have outcomes of one kind: those of log {binary[0] + 1} are 0 or 1, but log "
            f"{others[0] + 1} has {strange:g}"
        )


def _fill(values: Floats, place: Integers, n_actions: int, empty: float) -> Floats:
    """Values per action of a log in the order of all actions, (K,)."""
    filled = np.full(n_actions, empty)
    filled[place] = values
    return filled


def _place(summary: Summary, place: Integers, n_actions: int) -> Summary:
    return replace(
        summary,
        means=_fill(summary.means, place, n_actions, np.nan),
        standard_errors=_fill(summary.standard_errors, place, n_actions, np.inf),
        variances=_fill(summary.variances, place, n_actions, np.nan),
        doubtful=tuple(int(place[a]) for a in summary.doubtful),
    )


def _doubt_observed(trust: Floats, kinds: Integers, odds: float) -> Floats:
    """Trust, (S, K), where chances that were logged are at hand: those of other logs have so many times the odds."""
    has_logged = (trust[kinds == LOGGED_CHANCES] > 0.0).any(axis=0)
    doubted = (kinds != LOGGED_CHANCES)[:, None] & has_logged & (trust < 1.0)
    return np.where(doubted, odds * trust / (1.0 - trust + odds * trust), trust)


def _choose_level(sources: Sequence[BelievedLog], trust: Floats, summaries: Sequence[Summary]) -> int:
    """The log whose level is taken: the newest where all have times, else the one that is worth most."""
    if all(source.intake.clock == "time" for source in sources):
        ends = [source.intake.whole.times for source in sources]
        newest = [0.0 if end is None else float(end.max()) for end in ends]
        return int(np.argmax(newest))
    worth = [float(each @ summary.effective_sizes) for each, summary in zip(trust, summaries, strict=True)]
    return int(np.argmax(worth))


def _find_shifts(
    summaries: Sequence[Summary], trust: Floats, first: int, rows: Log, options: StartOptions
) -> list[Shift]:
    """How far each log's level is from that of the first; not at all where outcomes are 0 and 1."""
    if are_binary(rows.outcomes):
        return [NONE] * len(summaries)
    spread = make_normal(check_known(pool_summaries(summaries), rows.n_actions), options.prior).spread
    both, levels = trust * trust[first], options.prior.levels
    return [
        NONE if s == first else find_level_shift(each, summaries[first], both[s], spread, levels)
        for s, each in enumerate(summaries)
    ]
