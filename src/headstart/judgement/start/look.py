"""A quick look at a log: what it says per action for the users to come, and what speaks against believing it.

The audit says more and takes longer; this is what a start needs, in milliseconds. Stated rules:

- Logged propensities are used if the audit's quick check of totals finds nothing wrong (the rows of each action,
  weighted by 1/p, stand for all users); otherwise they are estimated.
- Missing ones are filled in as everywhere (`estimates/propensity/missing.py`).
- With a population given and no logged propensities none are estimated: each action's rows are balanced towards the
  users directly, which undoes the log's choices too.
- Means and errors are doubly robust, for the population if one is given. Without contexts that is inverse propensity
  weighting, without propensities too the plain average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.estimates.propensity.missing import fill_missing
from headstart.estimates.summary import Summary
from headstart.evaluators.doubly_robust import DoublyRobust
from headstart.judgement.audit.findings import glance
from headstart.judgement.audit.rules import QUICK_RULES, find_reasons
from headstart.judgement.audit.trust import Trust, weigh_reasons
from headstart.logs.log import Log
from headstart.priors.options import LoggedPriorOptions


@dataclass(frozen=True, eq=False)
class Look:
    log: Log  # with the propensities that are used
    summary: Summary
    trust: Trust
    notes: tuple[str, ...]  # what was done, in words


def look_at(log: Log, population: object, options: LoggedPriorOptions) -> Look:
    """The log with usable propensities, its summary for the population, and how far the quick checks let trust it."""
    notes: list[str] = []
    reasons = find_reasons(QUICK_RULES, glance(log)) if log.has_propensities else []
    is_logged = log.has_propensities
    if log.n_features and any(reason.rule == "wrong propensities" for reason in reasons):
        notes.append(f"the logged propensities were set aside: {reasons[0].text}")
        is_logged, reasons = False, []
    if is_logged:
        seen = log
    elif population is not None:
        seen = log.with_propensities((np.bincount(log.actions, minlength=log.n_actions) / len(log))[log.actions])
        notes.append("weights balance each action's rows towards the users to come: propensities are not needed")
    else:
        filled = fill_missing(log)
        seen = filled.log
        notes.append(filled.note)
    summary = DoublyRobust(seen, population=population).summary()
    notes.append(_name_estimate(log, population))
    basis = "logged" if is_logged else "estimated" if log.n_features else "nothing"
    return Look(seen, summary, weigh_reasons(log.action_names, basis, reasons, options), tuple(notes))


def _name_estimate(log: Log, population: object) -> str:
    if log.n_features:
        users = "the users to come" if population is not None else "users such as the log's"
        return f"means are doubly robust (regression corrected by weighted residuals), for {users}"
    if log.has_propensities:
        return "means are weighted by 1 / propensity: there are no contexts to do better with"
    return "means are plain averages: there is nothing to adjust by"
