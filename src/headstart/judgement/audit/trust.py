"""How far to trust a log: a weight per action, by what was found out about it, with reasons; the log as it is used.

The weight w_a is the chance, before any user, that the log's mean of action a is right up to its standard error;
with 1 - w_a it may be anything, and only users will tell (see `priors.logged`). No check can see every fault, so w
starts below 1 even for a log without one. What a finding does to the odds w / (1 - w) stands beside its severity in
the table of rules. The numbers are judgements; what is measured is how a start with them fares (METHODS.md).

`believe` has the verdict bind. "Do not use it": nothing is taken from the log but the scale of its outcomes. "Use it
with a cap": no action has more virtual plays than the audit allows. `trust=` and `cap=` overrule either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.displayed import Display, Displayed
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.judgement.audit.checks.propensities import ALPHA, MATERIAL, PropensityFinding
from headstart.judgement.audit.reasons import Reason
from headstart.judgement.audit.verdict import CAP, STOP, find_caps
from headstart.priors.logged import check_trust, trust_among
from headstart.priors.options import LoggedPriorOptions

if TYPE_CHECKING:
    from headstart.judgement.audit.audit import Audit, Examined
    from headstart.judgement.audit.intake import Intake

_UNUSED = "THE LOG IS NOT USED: the audit says so, and why stands below; trust= would overrule it"
_DESPITE = "the audit says: do not use it. It is used all the same"

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
    action_names
        What the actions are called in what is shown; their numbers where it is empty.

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
    action_names: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.weights, np.ndarray) or self.weights.ndim != 1:
            raise OptionError(f"weights must be an array of a chance per action, got {self.weights!r}")
        if not ((self.weights >= 0.0) & (self.weights <= 1.0)).all():
            raise OptionError(f"trust must be in [0, 1], got {self.weights!r}")

    def _tell(self) -> Display:
        weights = self.weights.tolist()
        names: list[object] = [str(name) for name in self.action_names] or list(range(len(weights)))
        columns: dict[str, list[object]] = {"action": names, "chance that the log is right": weights}
        reasons = tuple(f"{reason[:1].upper()}{reason[1:]}." for reason in self.reasons)
        return Display("Trust in the log, per action", reasons, columns)


def suggest_trust(audit: Audit, options: LoggedPriorOptions = LoggedPriorOptions()) -> Trust:
    """The trust that this audit supports.

    w starts at 1 - 0.2 / K with propensities or contexts to adjust by (0.9 for two actions), 1 - 0.8 / K with
    neither of them. Logged propensities that pass take away up to half of that doubt, by how small a fault would have
    been seen; each finding multiplies the odds by the factor that stands in `rules.RULES`. A log that is not to be
    used is not believed at all.

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
    array([0.9, 0.9])
    """
    verdict, names = audit.verdict, audit.facts.action_names
    if verdict.severity == "stop":
        stops = [f"do not use it: {each.text}; {each.advice}" for each in verdict.reasons if each.severity == "stop"]
        return Trust(np.zeros(len(names)), tuple(stops), tuple(names))
    return weigh_reasons(names, audit.facts.basis, verdict.reasons, options, overlooked(audit.propensities))


def overlooked(finding: PropensityFinding) -> Floats:
    """How much of a confounder could hide behind the logged propensities, (K,): 1 everything, 0 nothing.

    Each action's weights should add up to the users (`checks.propensities`). A total that passes says that the
    propensities are off by less than 3.3 of its standard errors; where that is less than what is called a fault, as
    much less could be overlooked.
    """
    if not finding.is_checked:
        return np.ones(len(finding.actions))
    return behind_totals(np.array([each.error if np.isfinite(each.ratio) else np.inf for each in finding.actions]))


def behind_totals(errors: Floats) -> Floats:
    """What could hide behind totals that pass and have these standard errors, in shares of the users."""
    from headstart.special import ndtri

    return np.minimum(1.0, -float(ndtri(ALPHA / 2.0)) * errors / MATERIAL)


def weigh_reasons(
    action_names: Sequence[object],
    basis: str,
    reasons: Sequence[Reason],
    options: LoggedPriorOptions = LoggedPriorOptions(),
    overlooked: Floats | None = None,
) -> Trust:
    """Trust by the reasons' odds; those of one rule that are about the whole log count once.

    `overlooked`, (K,), is how much of a confounder the checks of logged propensities could not have seen; None: all.
    """
    among_two = options.unadjusted_trust if basis == "nothing" else options.trust
    start = trust_among(len(action_names), among_two)
    words = [f"{BASES[basis]}: trust, the chance that the log is right about an action, starts at {start:.3g}"]
    unseen = np.ones(len(action_names)) if overlooked is None else overlooked
    doubts = (1.0 - start) * (1.0 - options.confounded * (1.0 - unseen))
    if (unseen < 1.0).any():
        words.append(
            f"they pass where {100.0 * MATERIAL * unseen.min():.2g} % off would have been seen, so little can have "
            f"chosen the actions unseen: trust starts at up to {1.0 - doubts.min():.3g}"
        )
    with np.errstate(divide="ignore"):
        odds = (1.0 - doubts) / doubts
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
    return Trust(weights, tuple(words), tuple(action_names))


@dataclass(frozen=True, eq=False)
class BelievedLog:
    """A log as it is started from: audited, capped, and believed as far as audit or caller say."""

    audit: Audit
    intake: Intake
    trust: Trust
    summary: Summary  # what it says, as far as caps leave it
    reasons: tuple[str, ...]  # what was done and why, in words

    @property
    def is_trusted(self) -> bool:
        return bool(self.trust.weights.any())

    @property
    def scaled(self) -> Summary:
        """What it says; of a log that is not believed, for its scale."""
        return self.summary if self.is_trusted else self.audit.summary

    @property
    def kept(self) -> Floats:
        """What the caps leave of each action's worth, (K,), in (0, 1]."""
        capped, sizes = self.summary.effective_sizes, self.audit.summary.effective_sizes
        return np.maximum(np.divide(capped, sizes, out=np.ones_like(sizes), where=sizes > 0.0), 1e-9)


def believe(
    examined: Examined,
    trust: ArrayLike | Trust | None,
    cap: ArrayLike | None,
    options: LoggedPriorOptions,
    *,
    has_population: bool,
) -> BelievedLog:
    """A log that was examined, with what is believed of it; `trust` and `cap` are the caller's, None: the audit's."""
    found, _, intake = examined
    believed = suggest_trust(found, options) if trust is None else _as_trust(trust, intake.whole.n_actions)
    caps, told = _settle_caps(cap, found, is_trusted=bool(believed.weights.any()))
    reasons = (*intake.notes, *_name_estimate(found, has_population=has_population), *told, *believed.reasons)
    return BelievedLog(found, intake, believed, found.summary.capped(caps), reasons)


def _settle_caps(cap: ArrayLike | None, found: Audit, *, is_trusted: bool) -> tuple[Floats, list[str]]:
    """The most virtual plays of each action, (K,), and a word on them."""
    verdict, n = found.verdict, len(found.facts.action_names)
    if cap is not None:
        try:
            caps = np.broadcast_to(np.asarray(cap, dtype=np.float64), (n,)).copy()
        except (TypeError, ValueError):
            caps = np.full(n, np.nan)
        if not (caps >= 0.0).all():
            raise OptionError(f"cap must be a number of plays, at least 0, or {n} of them, got {cap!r}")
        said = [
            f"no action has more virtual plays than was said: {', '.join(f'{each:g}' for each in np.unique(caps))}"
        ]
        if verdict.decision != STOP:
            return caps, said
        return (caps, [*said, _DESPITE]) if is_trusted else (np.zeros(n), [_UNUSED])
    if verdict.decision == STOP and is_trusted:  # somebody knows better
        return np.array(find_caps(found), dtype=np.float64), [_DESPITE]
    caps = np.array(verdict.caps, dtype=np.float64)
    if verdict.decision == STOP:
        return caps, [_UNUSED]
    if verdict.decision == CAP:
        why = next(reason.text for reason in verdict.reasons if reason.severity == "cap")
        return caps, [f"the log counts for at most {int(caps.sum()):,} users' outcomes (virtual plays): {why}"]
    return caps, []


def _name_estimate(found: Audit, *, has_population: bool) -> list[str]:
    basis = found.facts.basis
    if found.facts.context_names:
        users = "the users to come" if has_population else "users such as the log's"
        return [f"means are doubly robust (regression corrected by weighted residuals), for {users}"]
    if basis == "logged":
        return ["means are weighted by 1 / propensity, large weights cut: there are no contexts to do better with"]
    return ["means are plain averages: there is nothing to adjust by"]


def _as_trust(trust: ArrayLike | Trust, n_actions: int) -> Trust:
    """The trust that was given, as one for each action."""
    if isinstance(trust, Trust):
        if trust.weights.shape != (n_actions,):
            raise OptionError(f"trust must be for {n_actions} actions, got {trust.weights.size}")
        return trust
    weights = check_trust(trust, n_actions)
    return Trust(weights, (f"trust was given: {', '.join(f'{each:g}' for each in np.unique(weights))}",))


def name_unknown(action_names: Sequence[object], summary: Summary) -> list[str]:
    """A word on the actions that the log never shows, if there are any."""
    unknown = [str(action_names[a]) for a in np.flatnonzero(np.isnan(summary.means)).tolist()]
    more = " and others" if len(unknown) > 5 else ""
    return [f"the log never shows {', '.join(unknown[:5])}{more}: users will tell"] if unknown else []
