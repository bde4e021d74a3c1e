"""Grounds: what of an audit is a reason, and the words for it. One function for each rule of `rules.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from headstart.estimates.summary import word_doubts
from headstart.judgement.audit.checks.actions import ActionFinding
from headstart.judgement.audit.checks.balance import LARGE
from headstart.judgement.audit.reasons import Found, percent

if TYPE_CHECKING:
    from headstart.judgement.audit.audit import Audit


def is_heavy(action: ActionFinding) -> bool:
    """More than a tenth of the mean, and more than half of its variance, by one row of thirty or more."""
    share = action.heaviest_share
    return action.rows >= 30 and share > 0.1 and share**2 * action.effective_size > 0.5


def find_one_action(audit: Audit) -> Iterator[Found]:
    """Fewer than two actions have rows."""
    shown = sum(action.rows > 0 for action in audit.actions.actions)
    if shown < 2:
        yield Found(
            "the log shows only one action: there is nothing to compare",
            "start without the log, or find rows of the others",
        )


def find_wrong_propensities(audit: Audit) -> Iterator[Found]:
    """The logged propensities are not the chances that the actions had."""
    found = audit.propensities
    if found.fault == "scaled":
        word = "small" if found.scale < 1.0 else "large"
        times = found.scale if found.scale > 1.0 else 1.0 / found.scale
        yield Found(
            f"the logged propensities look {times:.3g} times too {word}: the rows of an action stand for "
            f"{percent(found.overall_ratio)} of the users, where it should be 100 %",
            "find where they were scaled and log the chance that the action taken really had; or leave them out and "
            "have them estimated",
        )
    elif found.fault == "wrong action":
        worst = next(action for action in found.actions if action.nearest is not None)
        yield Found(
            f"the propensities in the rows of {worst.name} look like those of {worst.nearest}: they must be the "
            "chance of the action that was taken",
            "log p(action taken), not p(some action); or leave them out and have them estimated",
        )
    elif found.fault == "wrong":
        worst = max(found.actions, key=lambda action: abs(np.nan_to_num(action.ratio, nan=1.0) - 1.0))
        yield Found(
            "the logged propensities are not the chances that the actions had: weighted by them, the rows of "
            f"{worst.name} stand for {percent(worst.ratio)} of the users, where it should be 100 %"
            + (", unless the others could never see it" if worst.ratio < 1.0 else ""),
            "look at how they were logged; or leave them out and have them estimated",
        )
    elif found.fault == "wrong in places":
        assert found.worst is not None
        who, action, ratio = found.worst
        yield Found(
            f"the logged propensities are right on the whole and wrong in places: among {who} the rows of {action} "
            f"stand for {percent(ratio)} of the users, where it should be 100 %",
            "look at how they were logged; or leave them out and have them estimated",
        )


def find_no_overlap(least: float, most: float) -> Callable[[Audit], Iterator[Found]]:
    """Actions that a share of the users, `least` or more and below `most`, practically never saw."""

    def find(audit: Audit) -> Iterator[Found]:
        for a, action in enumerate(audit.overlap.actions):
            if least <= action.never_share < most:
                yield Found(
                    f"{percent(action.never_share)} of the users ({action.never_who}) practically never saw "
                    f"{action.name} (at most {100 * action.never_high:.2g} % of them): what it would do to them is "
                    "not in the log",
                    f"leave out the rows of {action.name}, or decide for the other users only",
                    a,
                )

    return find


def find_thin_overlap(*, is_logged: bool) -> Callable[[Audit], Iterator[Found]]:
    """Common actions of which a tenth of the users had hardly a chance, by logged or by estimated propensities."""

    def find(audit: Audit) -> Iterator[Found]:
        if is_logged != (audit.facts.propensities == "logged"):
            return
        for action, known in zip(audit.overlap.actions, audit.actions.actions, strict=True):
            if action.users_below_1 >= 0.1 and known.rows >= 0.05 * audit.facts.n_rows:
                rows = sum(action.counts[: _n_bins_below_1(audit.overlap.edges)])
                yield Found(
                    f"{percent(action.users_below_1)} of the users had a chance below 1 % of {action.name}: {rows} "
                    "rows speak for all of them",
                    "headstart caps what the log counts for there; or decide for the other users only",
                )

    return find


def _n_bins_below_1(edges: tuple[float, ...]) -> int:
    """How many bins lie below 0.01."""
    return sum(high <= 0.01 for high in edges[1:])


def find_leaked_columns(kind: str) -> Callable[[Audit], Iterator[Found]]:
    """Columns that tell the outcome; `kind` is "leak" or "suspect"."""

    def find(audit: Audit) -> Iterator[Found]:
        for column in audit.leakage.of_kind(kind):
            how = f"R2 {column.r2:.2f}" + ("" if math.isnan(column.auc) else f", AUC {column.auc:.3f}")
            yield Found(
                f"the context {column.name} tells the outcome almost by itself ({how} within an action)"
                if kind == "leak"
                else f"the context {column.name} tells far more of the outcome than any other column ({how})",
                "was it known before the decision? If not, leave it out",
            )

    return find


_SURE = 3.29  # standard errors: one false alarm in a thousand


def find_other_users(severity: str) -> Callable[[Audit], Iterator[Found]]:
    """Users to come who are not like the log's, as far off as `severity` says, and beyond noise.

    What a start begins from is weighted to them already, and has so much less worth: the log is of no use only where
    it has next to nobody like them.
    """

    def find(audit: Audit) -> Iterator[Found]:
        found = audit.population
        if found is None:
            return
        changes = found.best is not None and found.best != audit.actions.best and found.lead > 1.64 * found.lead_error
        noise = math.sqrt(1.0 / audit.facts.n_sampled + 1.0 / max(found.n_users, 1))
        worst = abs(found.columns[0].difference) if found.columns else 0.0
        are_told_apart = found.auc - 0.5 > max(0.1, _SURE * found.auc_error)
        is_off = are_told_apart or worst > LARGE + 4.0 * noise or found.unseen_share > 0.01 or changes
        is_far = found.unseen_share > 0.1 or (are_told_apart and found.kept_share < 0.02)
        if not (is_far if severity == "stop" else is_off):
            return
        column = f", most in {found.columns[0].name}" if found.columns else ""
        text = (
            f"the users to come differ from the log's{column} (they can be told apart with AUC {found.auc:.2f}; "
            f"weighted to them, {percent(found.kept_share)} of the rows' worth is left)"
        )
        if found.unseen_share > 0.01:
            text += f"; {percent(found.unseen_share)} of them have a category that the log never shows"
        if changes:
            assert found.best is not None
            text += f"; for them {audit.facts.action_names[found.best]} is best"
        yield Found(text, "weight the log to the users to come (population=), or start without it")

    return find


def find_miscalibration(audit: Audit) -> Iterator[Found]:
    """Estimated propensities that are off in groups of like users."""
    found = audit.propensities
    if not found.is_checked and found.group_p_value < 1e-4 and found.group_spread > 0.1:
        yield Found(
            f"the estimated propensities are off by {percent(found.group_spread)} in groups of like users (a "
            "standard deviation, noise taken off)",
            "estimate them with a classifier that can follow the logging policy: estimate_propensities(log, "
            "classifier)",
        )


def find_refuted(audit: Audit) -> Iterator[Found]:
    """Tests that the lead of the best does not stand."""
    for refutation in audit.refutations.failed:
        yield Found(
            f"the difference between the best two does not stand the test of {refutation.name}: expected "
            f"{refutation.expects}, found {refutation.value:.3g} (s.e. {refutation.error:.2g})",
            "something in the adjustment is not right; look at balance and propensities",
        )


def find_heavy_rows(*, is_logged: bool) -> Callable[[Audit], Iterator[Found]]:
    """Actions whose mean hangs on one row, by logged or by estimated propensities."""

    def find(audit: Audit) -> Iterator[Found]:
        if is_logged != (audit.facts.propensities == "logged"):
            return
        for action in audit.actions.actions:
            if is_heavy(action):
                yield Found(
                    f"one row carries {percent(action.heaviest_share)} of the mean of {action.name}: its effective "
                    f"{action.effective_size:.0f} rows promise too much",
                    "headstart caps what the log counts for there",
                )

    return find


def find_telling_columns(audit: Audit) -> Iterator[Found]:
    """Columns that are the action, or were written down with it."""
    for column in audit.telling.columns:
        if column.is_telling:
            yield Found(
                f"the column {column.name} tells the action: it alone says in {percent(column.share)} of the cases "
                f"whether it was {column.action}",
                f"leave out {column.name} if it was written down with the action (the rest was judged without it); "
                "if the action was chosen by it, the log cannot compare",
            )


def find_copied_rows(audit: Audit) -> Iterator[Found]:
    """Rows that stand in the log twice."""
    if audit.copies.is_material:
        yield Found(
            f"{percent(audit.copies.share)} of the rows are copies of another: the same in every column, the action "
            "and the outcome",
            "leave copies out, or say whose rows they are (unit=) if users came again; errors count them as one",
        )


def find_tipping(audit: Audit) -> Iterator[Found]:
    """A confounder no stronger than a known column would turn the decision, for whichever rival."""
    found = audit.sensitivity
    if found is None or audit.facts.propensities != "estimated" or not found.tipped:
        return
    assert audit.actions.best is not None
    rival, best = found.tipped[0], audit.actions.actions[audit.actions.best].name
    more = f", and so with {len(found.tipped) - 1} more of its rivals" if len(found.tipped) > 1 else ""
    yield Found(
        f"a hidden confounder as strong as {rival.column} would move the difference between {best} and {rival.name} "
        f"by {abs(rival.bias):.3g}, and {rival.tipping:.3g} turns the decision{more}",
        "headstart caps what the log counts for, so that users can overrule it",
    )


def find_unadjusted(audit: Audit) -> Iterator[Found]:
    """There is nothing to adjust by."""
    if audit.facts.propensities == "estimated" and not audit.facts.context_names:
        yield Found(
            "there are neither propensities nor contexts: nothing can be adjusted for, the means are the raw "
            "averages",
            "unless the actions were drawn by lot, add contexts or propensities",
        )


def find_estimated(audit: Audit) -> Iterator[Found]:
    """The propensities had to be estimated."""
    if audit.facts.propensities == "estimated" and audit.facts.context_names:
        yield Found(
            "the chances with which actions were chosen (propensities) are not in the log; they were estimated from "
            "the contexts, which is right if nothing else decided who saw what",
            "headstart caps what the log counts for, so that users can overrule it; log these chances from now on",
        )


def find_left_out(least: float, most: float) -> Callable[[Audit], Iterator[Found]]:
    """A share of the source's rows, `least` or more and below `most`, is not in the log."""

    def find(audit: Audit) -> Iterator[Found]:
        found = audit.completeness
        if found is not None and least <= found.dropped_share < most:
            yield Found(
                f"{percent(found.dropped_share)} of the source's {found.n_rows:,} rows were left out for a missing "
                "or wrong value: who is missing may not be so by chance",
                "the reading says which column it was: mend it at its source",
            )

    return find


def find_filled(audit: Audit) -> Iterator[Found]:
    """Contexts that are missing for many."""
    many = [] if audit.completeness is None else [each for each in audit.completeness.filled if each[1] >= 0.2]
    if many:
        some = ", ".join(f"{name} ({percent(share)})" for name, share in many[:3])
        more = f" and {len(many) - 3} more" if len(many) > 3 else ""
        yield Found(
            f"missing for many users and filled in: {some}{more}",
            "where it is missing it adjusts for nothing but that it is missing",
        )


def find_unread(audit: Audit) -> Iterator[Found]:
    """Columns that could not be taken, and so are not adjusted for."""
    names = () if audit.completeness is None else audit.completeness.unread
    if names:
        some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield Found(
            f"not adjusted for, because it is text of too many values: {some}",
            "if the action was chosen by it, group its values in the source",
        )


def find_short_intervals(audit: Audit) -> Iterator[Found]:
    """Curves confound, and some actions have too few rows for them to be followed."""
    if audit.summary.doubtful:
        names = [audit.actions.actions[a].name for a in audit.summary.doubtful]
        yield Found(
            word_doubts(names),
            "log the chances that the actions had, or wait for more rows; until then do not lean on these intervals",
        )


def find_unshown(audit: Audit) -> Iterator[Found]:
    """Actions that the log never shows."""
    names = [str(action.name) for action in audit.actions.actions if action.rows == 0]
    if names:
        some = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        yield Found(f"the log never shows {some}", "the bandit will have to try what the log does not know")


def find_unclear_lead(audit: Audit) -> Iterator[Found]:
    """The lead of the best may be noise."""
    if audit.actions.second is not None and not audit.actions.is_lead_clear:
        assert audit.actions.best is not None
        best, second = (audit.actions.actions[a].name for a in (audit.actions.best, audit.actions.second))
        low, high = audit.actions.lead_low, audit.actions.lead_high
        interval = f"{percent(audit.actions.level)} interval {low:.3g} to {high:.3g}"
        interval = interval if math.isfinite(low) else "too few rows for an interval"
        yield Found(
            f"the lead of {best} over {second}, {audit.actions.lead:.3g}, may be noise ({interval})",
            "the log alone does not settle it; a warm-started bandit will",
        )
