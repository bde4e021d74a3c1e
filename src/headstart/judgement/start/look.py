"""A quick look at a log: what it says per action for the users to come, and what speaks against believing it.

The audit says more and takes longer; this is what a start needs, in milliseconds. Stated rules:

- Logged propensities are used if the audit's quick check of totals finds nothing wrong (the rows of each action,
  weighted by 1/p, stand for all users); otherwise they are estimated.
- Missing ones are estimated by cross-fitted logistic regression, then drawn towards the actions' shares as far as
  the rows left out advise (p proportional to share^(1 - s) p^s, s in [0, 1] of the largest likelihood): chances
  learnt from few rows and many columns are far too sure.
- With a population given and no logged propensities none are estimated: each action's rows are balanced towards the
  users directly, which undoes the log's choices too.
- Means and errors are doubly robust, for the population if one is given. Without contexts that is inverse propensity
  weighting, without propensities too the plain average.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.propensity import TrimmingWarning, estimate_propensities
from headstart.estimates.summary import Summary
from headstart.evaluators.doubly_robust import DoublyRobust
from headstart.judgement.audit.findings import glance
from headstart.judgement.audit.rules import QUICK_RULES, find_reasons
from headstart.judgement.audit.trust import Trust, weigh_reasons
from headstart.logs.log import Log
from headstart.randomness import RNG, as_generator

_STEPS = np.linspace(0.0, 1.0, 21)  # how much of the estimated chances is believed


@dataclass(frozen=True, eq=False)
class Look:
    log: Log  # with the propensities that are used
    summary: Summary
    trust: Trust
    notes: tuple[str, ...]  # what was done, in words


def look_at(log: Log, population: object = None) -> Look:
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
        seen = estimate_chances(log, notes=notes)
    summary = DoublyRobust(seen, population=population).summary()
    notes.append(_name_estimate(log, population))
    basis = "logged" if is_logged else "estimated" if log.n_features else "nothing"
    return Look(seen, summary, weigh_reasons(log.action_names, basis, reasons), tuple(notes))


def estimate_chances(log: Log, rng: RNG = 0, notes: list[str] | None = None) -> Log:
    """The log with propensities estimated from its contexts, believed as far as the rows left out advise."""
    said = [] if notes is None else notes
    n = len(log)
    shares = np.bincount(log.actions, minlength=log.n_actions) / n
    if log.n_features == 0 or n < 10:
        why = "" if n >= 10 else ", which has so few rows"
        said.append(f"the chance of an action is taken to be its share of the log{why}")
        return log.with_propensities(shares[log.actions])
    with warnings.catch_warnings():  # overlap and trimming are dealt with here, and show in the standard errors
        warnings.simplefilter("ignore", TrimmingWarning)
        matrix = estimate_propensities(log, rng=as_generator(rng), warn_share=1.0).propensity_matrix
    assert matrix is not None
    belief, taken = _temper(np.maximum(matrix, 1e-12), log.actions, np.maximum(shares, 1e-12))
    said.append(f"propensities were estimated from {log.n_features} context columns and believed by {belief:.0%}")
    return log.with_propensities(taken)


def _temper(matrix: Floats, actions: Integers, shares: Floats) -> tuple[float, Floats]:
    """s of the largest likelihood of the actions taken, and their chances with it, (n,)."""
    apart = np.log(matrix) - np.log(shares)
    best, belief, chances = -np.inf, 0.0, shares[actions]
    rows = np.arange(actions.size)
    for s in _STEPS:
        scores = np.log(shares) + s * apart
        scores -= scores.max(axis=1, keepdims=True)
        raw = np.exp(scores)
        taken = raw[rows, actions] / raw.sum(axis=1)
        likelihood = float(np.log(np.maximum(taken, 1e-300)).sum())
        if likelihood > best:
            best, belief, chances = likelihood, float(s), taken
    return belief, np.maximum(chances, 1e-9)


def _name_estimate(log: Log, population: object) -> str:
    if log.n_features:
        users = "the users to come" if population is not None else "users such as the log's"
        return f"means are doubly robust (regression corrected by weighted residuals), for {users}"
    if log.has_propensities:
        return "means are weighted by 1 / propensity: there are no contexts to do better with"
    return "means are plain averages: there is nothing to adjust by"
