"""How far to trust a log: a prior weight and a bound on its bias per action, from what an audit found, with reasons.

The weight w_a is the chance, before any user, that the log's mean of action a is right up to its standard error;
with 1 - w_a it may be anything, and only users will tell (see oracles/logged_prior.py). No audit can see
every fault, so w starts below 1 even for a log without one. The numbers are judgements, stated in one table; what is
measured is how a start with them fares (METHODS.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.summary import Summary
from headstart.priors.logged import trust_among

if TYPE_CHECKING:
    from headstart.judgement.audit.audit import Audit


ADJUSTED, UNADJUSTED = 0.8, 0.6  # before any finding, in a log of two actions
# What a finding does to the odds w / (1 - w). The gravest findings do not end trust: the mixture ends it by itself if
# users disagree, and a log that was suspected for nothing still helps.
FACTORS = {
    "wrong propensities": 0.2,
    "leaked outcome": 0.5,
    "large imbalance": 0.4,
    "imbalance": 0.7,
    "refuted": 0.6,
    "miscalibration": 0.7,
    "no overlap": 0.5,
}
_LARGE = 0.25  # standardised mean difference after weighting (Rubin 2001)


@dataclass(frozen=True, eq=False)
class Trust:
    """Per action, each (K,): the weight of the log in the prior and how far its mean may be off; and why, in
    words."""

    weights: Floats
    bias_bounds: Floats
    reasons: tuple[str, ...]

    def applied_to(self, summary: Summary) -> Summary:
        """The summary with the bias bound in its standard errors: s.e.^2 + V^2 / 3, as for a bias anywhere in [-V,
        V]."""
        errors = np.sqrt(summary.standard_errors**2 + self.bias_bounds**2 / 3.0)
        return Summary(summary.means, errors, summary.variances)


@dataclass(frozen=True, eq=False)
class Signs:
    """What bears on trust, however it was found out."""

    action_names: tuple[object, ...]
    is_logged: bool  # the propensities are the logging policy's own
    has_contexts: bool
    faults: tuple[tuple[str, str], ...]  # a key of FACTORS, and what was found, in words
    faults_of: tuple[tuple[int, str, str], ...]  # the same for one action
    confounding: Floats  # (K,) the bias that a hidden confounder as strong as the strongest observed one would cause
    unseen: Floats  # (K,) bias where part of the users never saw the action


def suggest_trust(audit: Audit) -> Trust:
    """The trust that this audit supports.

    w starts at 1 - 0.4 / K with propensities or contexts to adjust by (0.8 for two actions), 1 - 0.8 / K with
    neither of them; each finding multiplies its odds by a stated factor. V is the largest of: with estimated
    propensities, what leaving out the strongest observed column does to its mean (a hidden confounder as strong is
    thinkable; a policy that logs its chances has none); the share of users who never saw the action times the
    outcome's spread; and, if users to come were given, nothing for their difference, because the estimate is for
    them.
    """
    return weigh(_signs_of(audit))


def weigh(signs: Signs) -> Trust:
    """Trust by the table."""
    k = len(signs.action_names)
    reasons: list[str] = []
    start = trust_among(k, ADJUSTED if signs.is_logged or signs.has_contexts else UNADJUSTED)
    if signs.is_logged:
        why = "the propensities are logged"
    elif signs.has_contexts:
        why = "the propensities are estimated from the contexts, which may lack one"
    else:
        why = "there are neither propensities nor contexts to adjust by"
    reasons.append(f"{why}: trust starts at {start:.3g}")
    odds = np.full(k, start / (1.0 - start))
    seen: set[str] = set()
    for rule, text in signs.faults:
        if rule not in seen:  # two columns out of balance are one fault
            odds *= FACTORS[rule]
            reasons.append(f"{text}: its odds times {FACTORS[rule]:g}")
        seen.add(rule)
    for a, rule, text in signs.faults_of:
        odds[a] *= FACTORS[rule]
        reasons.append(f"{text}: the odds for {signs.action_names[a]} times {FACTORS[rule]:g}")
    confounding = np.zeros(k) if signs.is_logged else signs.confounding
    bounds = np.maximum(confounding, signs.unseen)
    if bounds.max(initial=0.0) > 0.0:
        worst = int(np.argmax(bounds))
        why = "a hidden confounder as strong as the strongest observed one"
        if signs.unseen[worst] >= confounding[worst]:
            why = "what users who never saw it would have done"
        reasons.append(f"{why} could move the mean of {signs.action_names[worst]} by {bounds[worst]:.3g}")
    return Trust(odds / (1.0 + odds), bounds, tuple(reasons))


def _signs_of(audit: Audit) -> Signs:
    names = audit.facts.action_names
    faults: list[tuple[str, str]] = []
    faults_of: list[tuple[int, str, str]] = []
    for reason in audit.verdict.reasons:
        if reason.rule == "imbalance":
            is_large = audit.balance.unbalanced and abs(audit.balance.unbalanced[0][2]) >= _LARGE
            faults.append(("large imbalance" if is_large else "imbalance", reason.text))
        elif reason.rule == "no overlap":
            continue  # below, action by action
        elif reason.rule in FACTORS:
            faults.append((reason.rule, reason.text))
    unseen = np.zeros(len(names))
    for a, overlap in enumerate(audit.overlap.actions):
        if overlap.never_share > 0.0:
            unseen[a] = overlap.never_share * np.sqrt(max(audit.actions.actions[a].variance, 0.0))
            if overlap.never_share >= 0.1:
                faults_of.append((a, "no overlap", f"{overlap.never_share:.0%} of the users never saw it"))
    confounding = np.zeros(len(names)) if audit.sensitivity is None else np.array(audit.sensitivity.confounding)
    return Signs(
        action_names=names,
        is_logged=audit.facts.propensities == "logged",
        has_contexts=bool(audit.facts.context_names),
        faults=tuple(faults),
        faults_of=tuple(faults_of),
        confounding=confounding,
        unseen=unseen,
    )
