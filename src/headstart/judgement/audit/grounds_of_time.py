"""Grounds of time: what of the drift over time is a reason, and the words for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headstart.estimates.periods import CHANCE
from headstart.judgement.audit.reasons import Found, percent

if TYPE_CHECKING:
    from headstart.judgement.audit.audit import Audit
    from headstart.judgement.audit.checks.drift import DriftFinding


def name_period(found: DriftFinding, period: int) -> str:
    """'period 3 of 10'."""
    return f"period {period + 1} of {len(found.rows)}"


def find_wrong_period(audit: Audit) -> Iterator[Found]:
    """Logged propensities that are not true in a part of the time."""
    found = audit.drift
    if found is not None and found.worst is not None:
        period, a = found.worst
        action = found.actions[a]
        yield Found(
            f"the logged propensities are not true all the time: in {name_period(found, period)} (by {found.clock}) "
            f"the rows of {action.name} stand for {percent(action.ratios[period])} of the users, where it should be "
            "100 %",
            "look for a change of the policy whose propensities were not logged; or leave them out and have them "
            "estimated",
        )


def find_moved_contrast(audit: Audit) -> Iterator[Found]:
    """What is best, or by how much, changed over time."""
    found = audit.drift
    if found is None or found.moved is None:
        return
    action = found.actions[found.moved].name
    text = (
        f"the difference between {action} and the others changed over {_clock(found)} (p = {found.contrasts_p:.1g})"
    )
    if found.late_best is not None:
        text += f"; in the last periods {found.actions[found.late_best].name} is best"
    yield Found(
        text,
        "let recent rows count more (weights that halve with every quarter of the log's time, say), or use the last "
        "periods alone",
    )


def find_partial_actions(audit: Audit) -> Iterator[Found]:
    """Actions that were used in a part of the time only."""
    found = audit.drift
    if found is None:
        return
    for action in found.actions:
        if action.missing_share > 0.0:
            yield Found(
                f"{action.name} was not used in {percent(action.missing_share)} of {_clock(found)}: its mean is of "
                "other days than the others' are",
                "headstart caps what the log counts for there; or compare the actions on the days that had them all",
            )


def find_adjusted_time(audit: Audit) -> Iterator[Found]:
    """The policy's shares moved, and the period was adjusted for."""
    found = audit.drift
    if found is not None and found.is_adjusted:
        moved = "outcomes moved too" if found.level_p < CHANCE else "outcomes did not, beyond noise"
        yield Found(
            f"the actions' shares changed over {_clock(found)} and {moved}: actions were compared within "
            f"{len(found.rows)} periods",
            "log the propensities from now on: they know what the policy was",
        )


def _clock(found: DriftFinding) -> str:
    return "time" if found.clock == "time" else "the rows as they are ordered"
