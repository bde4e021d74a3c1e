"""How far to trust a log: a weight per action, by what was found out about it, with reasons.

The weight w_a is the chance, before any user, that the log's mean of action a is right up to its standard error;
with 1 - w_a it may be anything, and only users will tell (see `priors.logged`). No check can see every fault, so w
starts below 1 even for a log without one. What a finding does to the odds w / (1 - w) stands beside its severity in
the table of rules. The numbers are judgements; what is measured is how a start with them fares (METHODS.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headstart.arrays import Floats
from headstart.displayed import Display, Displayed
from headstart.errors import OptionError
from headstart.judgement.audit.reasons import Reason
from headstart.priors.logged import trust_among
from headstart.priors.options import LoggedPriorOptions

if TYPE_CHECKING:
    from headstart.judgement.audit.audit import Audit

# Why a log may be believed, by what its means are adjusted by.
BASES = {
    "logged": "the propensities are logged",
    "estimated": "the propensities are estimated from the contexts, which may lack one",
    "nothing": "there are neither propensities nor contexts to adjust by",
}


@dataclass(frozen=True, eq=False, repr=False)
class Trust(Displayed):
    """Per action the weight of the log in the prior, (K,), and why, in words.

    Parameters
    ----------
    weights
        (K,) chances.
    reasons
        Why, in words.

    Raises
    ------
    OptionError
        If weights are not one chance per action.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> hs.Trust(np.array([0.8, 0.5]), ("the second action was rarely shown",)).weights
    array([0.8, 0.5])
    """

    weights: Floats
    reasons: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.weights, np.ndarray) or self.weights.ndim != 1:
            raise OptionError(f"weights must be an array of a chance per action, got {self.weights!r}")
        if not ((self.weights >= 0.0) & (self.weights <= 1.0)).all():
            raise OptionError(f"trust must be in [0, 1], got {self.weights!r}")

    def _tell(self) -> Display:
        weights = self.weights.tolist()
        columns = {"action": list(range(len(weights))), "chance that the log is right": weights}
        return Display("Trust in the log, per action", self.reasons, columns)


def suggest_trust(audit: Audit, options: LoggedPriorOptions = LoggedPriorOptions()) -> Trust:
    """The trust that this audit supports.

    w starts at 1 - 0.4 / K with propensities or contexts to adjust by (0.8 for two actions), 1 - 0.8 / K with
    neither of them; each finding multiplies its odds by the factor that stands in `rules.RULES`. A log that is not to
    be used is not believed at all.

    Parameters
    ----------
    audit
        What `audit` found.
    options
        Where trust starts.

    Returns
    -------
    Trust
        A weight per action, and why.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> hs.suggest_trust(hs.audit(log)).weights.round(2)
    array([0.8, 0.8])
    """
    verdict, names = audit.verdict, audit.facts.action_names
    if verdict.severity == "stop":
        stops = [f"do not use it: {each.text}; {each.advice}" for each in verdict.reasons if each.severity == "stop"]
        return Trust(np.zeros(len(names)), tuple(stops))
    return weigh_reasons(names, audit.facts.basis, verdict.reasons, options)


def weigh_reasons(
    action_names: Sequence[object],
    basis: str,
    reasons: Sequence[Reason],
    options: LoggedPriorOptions = LoggedPriorOptions(),
) -> Trust:
    """Trust by the reasons' odds; those of one rule that are about the whole log count once."""
    among_two = options.unadjusted_trust if basis == "nothing" else options.trust
    start = trust_among(len(action_names), among_two)
    words = [f"{BASES[basis]}: trust starts at {start:.3g}"]
    odds = np.full(len(action_names), start / (1.0 - start) if start < 1.0 else np.inf)
    counted: set[str] = set()
    for reason in reasons:
        if reason.odds == 1.0 or reason.rule in counted:
            continue
        if reason.action is None:
            counted.add(reason.rule)  # two columns out of balance are one fault
            odds *= reason.odds
            words.append(f"{reason.text}: its odds times {reason.odds:g}")
        else:
            odds[reason.action] *= reason.odds
            words.append(f"{reason.text}: the odds for {action_names[reason.action]} times {reason.odds:g}")
    # No finding moves full trust: infinite odds stay infinite.
    weights = np.divide(odds, 1.0 + odds, out=np.ones_like(odds), where=np.isfinite(odds))
    return Trust(weights, tuple(words))
