"""What the policy gained against the hold-out, whose users get every action with the same chance.

The target is the mean of what the policy's users could expect so far, less that of the hold-out's: a policy that
learns gains more the longer it runs, and the sequence follows it.
"""

from __future__ import annotations

import math
from typing import TypedDict

import numpy as np

from headstart.estimates.sequences import differences, p_values
from headstart.serve.telling.report import ALPHA, Report, finite_or_none


class HoldoutGain(TypedDict):
    """Per user, with its confidence sequence."""

    value: float | None
    low: float | None
    high: float | None
    p: float | None  # always-valid, of "there is no gain"
    users: int  # of the policy, with an outcome
    text: str


def find_gain(report: Report, *, has_holdout: bool) -> HoldoutGain:
    """From sums as they are."""
    policy, holdout = (report.value(is_holdout=which) for which in (False, True))
    unknown: HoldoutGain = {"value": None, "low": None, "high": None, "p": None, "users": policy["n"], "text": ""}
    if not holdout["n"] or not policy["n"]:
        why = "no outcomes in the hold-out yet" if has_holdout else "there is no hold-out to compare with"
        return {**unknown, "text": f"What is gained cannot be told: {why}."}
    apart = differences(report.groups, np.array(0), ALPHA, is_binary=report.is_binary)
    value, low, high = (float(each[1]) for each in apart)
    words = report.words
    if not math.isfinite(low):
        return {**unknown, "value": value, "text": "Too few outcomes to tell what is gained against the hold-out."}
    text = f"Against the hold-out, {words.tell_change(value)} a user ({words.tell_change(low)} to "
    text += (
        f"{words.tell_change(high)}); over {policy['n']:,} users, {words.tell_total(value * policy['n'])} in all. "
    )
    text += "That is a gain." if low > 0.0 else "That is a loss." if high < 0.0 else "It may be nothing yet."
    p = float(p_values(report.groups, 0, is_binary=report.is_binary)[1])
    return {
        "value": value, "low": finite_or_none(low), "high": finite_or_none(high), "p": p, "users": policy["n"],
        "text": text,
    }  # fmt: skip
