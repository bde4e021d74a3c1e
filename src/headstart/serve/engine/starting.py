"""How an experiment starts, for people: what was read of its log, what the audit says, how far the log is used."""

from __future__ import annotations

from typing import TypedDict

from headstart.judgement.audit.verdict import CAP, STOP
from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.binding import Binding
from headstart.serve.engine.fold import Fold
from headstart.serve.store.events import Body

_NAMED = 12  # columns that a line names
_SHOWN = 8  # actions that a line tells the plays of


class StartState(TypedDict):
    """The log that an experiment began with: what of it was read, what the audit found, what is used."""

    source: str
    rows: int  # of the source
    kept: int
    dropped: dict[str, int]  # why -> rows
    filled: dict[str, int]  # column -> rows in which it was missing
    decided_on: list[str]
    adjusted_for: list[str]  # besides those
    left_out: dict[str, str]  # column -> why
    notes: list[str]
    decision: str | None  # the audit's; None: there is none on record
    summary: str
    reasons: list[str]
    used: str  # how far the log is used, and why
    is_used: bool


def describe_start(fold: Fold) -> StartState | None:
    """Of the warm start in force; None without a log."""
    begun, config = fold.log, fold.config
    if begun is None:
        return None
    reading: Body = begun.get("reading") or {}
    decided, adjusted = _split_columns(config, begun, has_context=fold.policy.has_context)
    verdict: Body = begun.get("audit", {}).get("verdict", {})
    return {
        "source": str(reading.get("source") or _name_source(config)),
        "rows": reading.get("rows", begun["rows"]),
        "kept": begun["rows"],
        "dropped": dict(reading.get("counts", {})),
        "filled": dict(reading.get("filled", {})),
        "decided_on": decided,
        "adjusted_for": adjusted,
        "left_out": dict(reading.get("left_out", {})),
        "notes": list(reading.get("notes", [])),
        "decision": verdict.get("decision"),
        "summary": verdict.get("summary", ""),
        "reasons": [f"{reason['text']}: {reason['advice']}" for reason in verdict.get("reasons", [])],
        "used": _say_used(fold, fold.binding),
        "is_used": not fold.binding.is_cold,
    }


def _name_source(config: ExperimentConfig) -> str:
    return str(config.log.get("path", "rows in memory")) if isinstance(config.log, dict) else "rows in memory"


def _split_columns(config: ExperimentConfig, begun: Body, *, has_context: bool) -> tuple[list[str], list[str]]:
    """The columns that are decided on, and the others of the log, which are adjusted for."""
    columns: list[str]
    if "read" in begun:
        columns = begun["read"]["contexts"]
    else:  # of an earlier headstart: the names of encoded columns
        shared = set(config.encoding.names)
        columns = [*config.contexts, *(name for name in begun.get("columns", []) if name not in shared)]
    decided = [column for column in config.contexts if has_context and column in columns]
    return decided, [column for column in columns if column not in decided]


def _say_used(fold: Fold, binding: Binding) -> str:
    """How far the log is used, in a sentence."""
    config, plays = fold.config, _tell_plays(fold)
    if "audit" not in (fold.log or {}):
        return (
            f"It began with an earlier headstart, which adjusted for fewer columns and audited nothing: {plays}. "
            f"Raise {config.at}.revision to begin anew with all columns and an audit that binds."
        )
    if binding.is_cold:
        return (
            "THE LOG IS NOT USED: the audit says do not use it, so this is a cold start. Mend what it names; "
            f"{config.at}.trust or {config.at}.log.despite_audit would overrule it."
        )
    if binding.is_overruled:
        by_hand = f"trust = {config.trust:g}" if config.trust is not None else "log.despite_audit = true"
        return f"THE AUDIT IS OVERRULED: it says {binding.decision}, the configuration says {by_hand}: {plays}."
    if binding.decision == CAP:
        return f"The audit's caps bind: {plays}."
    if binding.decision is None:
        return f"The log could not be audited, and is used as it is: {plays}."
    return f"The log is used: {plays}."


def _tell_plays(fold: Fold) -> str:
    plays, caps = fold.policy.virtual_plays(), fold.binding.caps if fold.binding.is_capped else None
    if plays is None:
        return "its summary is the prior" + ("" if caps is None else f", worth at most {_tell_each(fold, caps)}")
    limit = "" if caps is None or list(caps) == plays else f" so far, of at most {_tell_each(fold, caps)}"
    return f"{_tell_each(fold, plays)} virtual plays{limit}"


def _tell_each(fold: Fold, numbers: list[int] | tuple[int, ...]) -> str:
    named = [f"{label} {n:,}" for label, n in zip(fold.config.actions, numbers, strict=True)]
    more = [] if len(named) <= _SHOWN else [f"... ({sum(numbers):,} in all)"]
    return ", ".join([*named[:_SHOWN], *more])


def tell_start(start: StartState) -> list[str]:
    """The same in lines, for a console and a service's log."""
    lines = [f"{start['source']}: {start['rows']:,} rows, {start['kept']:,} kept"]
    lines += [f"{n:,} rows: {why}" for why, n in start["dropped"].items()]
    lines.append("decides on: " + (_list(start["decided_on"]) or "nothing, one action for all"))
    lines.append("adjusts for: " + (_list(start["adjusted_for"]) or "no column besides"))
    lines += [f"left out {column}: {why}" for column, why in start["left_out"].items()]
    lines += [f"note: {note}" for note in start["notes"]]
    if start["decision"] is not None or start["summary"]:
        decision = (start["decision"] or "no verdict").upper()
        lines.append(f"the audit: {decision}. {start['summary']}")
        lines += [f"because {reason}" for reason in start["reasons"]]
    return [*lines, start["used"]]


def headline_of(start: StartState) -> str:
    """The verdict and how far the log is used, for the top of a page."""
    said = "" if start["decision"] is None else f" The audit says: {start['decision']}."
    return f"It started from {start['source']}, {start['kept']:,} rows.{said} {start['used']}"


def is_loud(start: StartState) -> bool:
    """Whether somebody must look: the log is not used, or is against the audit, or could not be audited."""
    return start["decision"] in (None, STOP)


def _list(columns: list[str]) -> str:
    more = f", ... ({len(columns)} in all)" if len(columns) > _NAMED else ""
    return ", ".join(columns[:_NAMED]) + more
