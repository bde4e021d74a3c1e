"""The verdict: use it, use it with a cap, or do not use it; by the rules of one table, with the reasons in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headstart.judgement.audit.basis import name_basis
from headstart.judgement.audit.findings import find_reasons
from headstart.judgement.audit.grounds import is_heavy
from headstart.judgement.audit.reasons import Reason
from headstart.judgement.audit.rules import RULES

if TYPE_CHECKING:
    from headstart.judgement.audit.audit import Audit

USE, CAP, STOP = "use it", "use it with a cap", "do not use it"
_ORDER = {"stop": 0, "cap": 1, "note": 2}


@dataclass(frozen=True)
class Verdict:
    """The decision in words; every reason, gravest first; and the virtual plays that each action may have.

    `start` and the service obey it: they use so many plays, none if the log is not to be used.
    """

    decision: str
    summary: str
    reasons: tuple[Reason, ...]
    caps: tuple[int, ...]  # per action

    @property
    def severity(self) -> str:
        return {USE: "fine", CAP: "cap", STOP: "stop"}[self.decision]


def judge(audit: Audit) -> Verdict:
    """The gravest reason decides."""
    reasons = sorted(find_reasons(RULES, audit), key=lambda reason: _ORDER[reason.severity])
    severities = {reason.severity for reason in reasons}
    decision = STOP if "stop" in severities else CAP if "cap" in severities else USE
    caps = find_caps(audit) if decision == CAP else tuple(audit.summary.plays.tolist())
    if decision == STOP:
        caps = (0,) * len(caps)
    return Verdict(decision, _summary(audit, caps, decision), tuple(reasons), caps)


def find_caps(audit: Audit) -> tuple[int, ...]:
    """Virtual plays that would know as much as a mean with this error and this bias: variance / (s.e.^2 + bias^2).

    The bias allowed for is the largest of: what leaving out the strongest observed column would do to the action
    (estimated propensities only), what weighting left of the placebo outcome, the outcome's spread times the share of
    users who never saw the action, and the change over time. A row that carries a share s of a mean is allowed 1 / s
    plays.
    """
    hidden = [0.0] * len(audit.actions.actions)
    if audit.sensitivity is not None and audit.facts.propensities == "estimated":
        hidden = list(audit.sensitivity.biases)
    placebos = [r.value for r in audit.refutations.refutations if r.name == "placebo outcome" and not r.is_passed]
    shared = max([0.0, *(abs(value) for value in placebos)])
    means, caps = audit.summary, []
    for a, action in enumerate(audit.actions.actions):
        variance, error = float(means.variances[a]), float(means.standard_errors[a])
        plays = float(means.plays[a])
        if plays and variance > 0.0:
            bias = max(shared, hidden[a], audit.overlap.actions[a].never_share * math.sqrt(variance))
            if audit.drift is not None:
                bias = max(bias, audit.drift.bias[a])
            plays = min(plays, variance / (error**2 + bias**2))
        if is_heavy(action):
            plays = min(plays, 1.0 / action.heaviest_share)
        caps.append(math.floor(plays))
    return tuple(caps)


def _summary(audit: Audit, caps: tuple[int, ...], decision: str) -> str:
    plays = sum(caps)
    if decision == STOP:
        return "Not as it is: mend what is marked, or start without it."
    if audit.actions.second is None:
        return "The log shows only one action."
    assert audit.actions.best is not None
    best = audit.actions.actions[audit.actions.best].name
    points = f"It points to {best}" + ("" if audit.actions.is_lead_clear else ", but not beyond noise")
    if decision == CAP and not plays:
        return (
            f"{points}. It is too small, or too noisy, to count for even one user's outcome: headstart will learn "
            "from the users themselves. More rows would help."
        )
    if decision == CAP:
        most = f"it counts for no more than {plays:,} users' outcomes (virtual plays), which headstart sees to itself"
        return f"{points}. With a cap: {most}. {name_basis(audit)}"
    return f"{points}, and is worth {plays:,} users' outcomes (virtual plays). {name_basis(audit)}"
