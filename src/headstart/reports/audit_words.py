"""The audit in words and tables, for the terminal and the page alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from headstart.judgement.audit.audit import Audit
from headstart.numerals import NONE, number, tell_chance, tell_count
from headstart.reports.section import Section, as_percent
from headstart.reports.time_words import write_drift

ORDER = {"stop": 0, "cap": 1, "note": 2, "fine": 3}


def write_sections(audit: Audit, n_most: int) -> list[Section]:
    """Every section in the order of reading, tables of at most `n_most` rows."""
    makers = (
        _actions,
        _copies,
        _propensities,
        _overlap,
        _balance,
        write_drift,
        _refutations,
        _leakage,
        _telling,
        _sensitivity,
        _value,
        _population,
    )
    sections = [section for maker in makers for section in maker(audit)]
    return [_finish(section, audit, n_most) for section in sections]


def _finish(section: Section, audit: Audit, n_most: int) -> Section:
    subjects = {"propensities": ("propensities", "calibration")}.get(section.key, (section.key,))
    statuses = [reason.severity for reason in audit.verdict.reasons if reason.subject in subjects]
    return Section(
        section.key,
        section.title,
        section.sentences,
        section.header,
        section.rows[:n_most],
        max(0, len(section.rows) - n_most),
        min(statuses, key=lambda status: ORDER[status], default="fine"),
    )


def describe_log(audit: Audit) -> str:
    facts = audit.facts
    known = "logged propensities" if facts.propensities == "logged" else "no propensities (estimated here)"
    looked = "" if facts.n_sampled == facts.n_rows else f"; {facts.n_sampled:,} of them looked at one by one"
    return (
        f"{tell_count(facts.n_rows, 'row')}, {tell_count(len(facts.action_names), 'action')}, "
        f"{tell_count(len(facts.context_names), 'context column')}, "
        f"{known}{looked}."
    )


def _actions(audit: Audit) -> Iterator[Section]:
    found, verdict = audit.actions, audit.verdict
    order = sorted(range(len(found.actions)), key=lambda a: -_first(found.actions[a].mean))
    interval = f"{100 * found.level:g} % interval"
    header = ("action", "rows", "raw mean", "adjusted mean", interval, "effective rows", "virtual plays")
    rows = []
    for a in order:
        action = found.actions[a]
        interval = NONE if math.isnan(action.low) else f"{number(action.low)} to {number(action.high)}"
        row = [str(action.name), f"{action.rows:,}", number(action.raw_mean), number(action.mean), interval]
        rows.append((*row, number(action.effective_size, 4), f"{verdict.caps[a]:,}"))
    plays = "Virtual plays are outcomes that a start learns from the log as if users had given them"
    worth = {
        "fine": f"{plays}: as many as the doubly robust mean is worth.",
        "cap": f"{plays}: capped, by headstart itself, for the bias that the findings below leave possible.",
        "stop": "A start uses no virtual plays of a log that is not to be used.",
    }
    sentences = (
        "The adjusted mean weights each row by 1 / its propensity: what every user would have given under the "
        "action. Effective rows are what is left of the rows after weighting.",
        worth[verdict.severity],
    )
    yield Section("actions", "What the log knows of each action", sentences, header, tuple(rows))


def _first(mean: float) -> float:
    return -math.inf if math.isnan(mean) else mean


def _propensities(audit: Audit) -> Iterator[Section]:
    found, curve = audit.propensities, audit.calibration
    agreement = (
        f"In {curve.n_groups} groups of like users, observed and claimed shares differ by "
        f"{as_percent(curve.error)} on average (slope {number(curve.slope)}; 1 is right)."
    )
    if not found.is_checked:
        sentence = "The log has none. They were estimated from the contexts, each row by models that never saw it."
        filling = f"{audit.facts.filling[:1].upper()}{audit.facts.filling[1:]}."
        yield Section("propensities", "How good are the estimated propensities?", (sentence, filling, agreement))
        return
    kind = "counts of actions" if found.is_chi_square_of_counts else "weights of all actions together"
    sentences = (
        f"If they are true, the rows of each action, weighted by 1/p, stand for 100 % of the users. Over all actions "
        f"mean(1/p) / K is {number(found.overall_ratio, 4)} (± {number(found.overall_error, 2)}); chi-square of the "
        f"{kind}: {number(found.chi_square)} on {found.degrees} degrees of freedom, "
        f"p = {tell_chance(found.p_value)}.",
        agreement,
    )
    rows = tuple(
        (
            str(action.name),
            f"{known.rows:,}",
            number(action.expected_rows, 4),
            as_percent(action.ratio),
            f"± {as_percent(action.error)}",
            tell_chance(action.p_value),
        )
        for action, known in zip(found.actions, audit.actions.actions, strict=True)
    )
    header = ("action", "rows", "expected rows", "stands for", "standard error", "p-value")
    yield Section("propensities", "Are the logged propensities true?", sentences, header, rows)


def _overlap(audit: Audit) -> Iterator[Section]:
    found = audit.overlap
    header = ("action", "smallest", "rows below 0.01", "below 0.05", "users below 0.01", "never saw it", "who")
    rows = tuple(
        (
            str(action.name),
            number(action.rarest, 2),
            as_percent(action.rows_below_1),
            as_percent(action.rows_below_5),
            as_percent(action.users_below_1),
            as_percent(action.never_share),
            action.never_who or NONE,
        )
        for action in found.actions
    )
    sentence = (
        "Where an action had no real chance, the log cannot say what it does. Users below 0.01: the share of users "
        "whose chance of the action was that small, judged by the rows that have it."
    )
    yield Section("overlap", "Did everybody have a chance to see every action?", (sentence,), header, rows)


def _balance(audit: Audit) -> Iterator[Section]:
    found = audit.balance
    if not found.columns:
        return
    columns = sorted(found.columns, key=lambda column: -max(column.worst_before, column.worst_after))
    known = [noise for noise in found.noise if math.isfinite(noise)]
    rows = tuple((column.name, number(column.worst_before, 2), number(column.worst_after, 2)) for column in columns)
    sentence = (
        f"Largest difference between an action's users and everybody, in standard deviations: "
        f"{number(found.worst_before, 2)} before weighting, {number(found.worst_after, 2)} after. Below 0.1 is good; "
        f"noise alone makes differences of {number(max(known, default=0.0), 2)} (a standard error)."
    )
    yield Section("balance", "Do weighted users look alike?", (sentence,), ("column", "before", "after"), rows)


def _refutations(audit: Audit) -> Iterator[Section]:
    found = audit.refutations
    title = "Does the difference stand up?"
    if not found.refutations:
        yield Section("refutations", title, ("Too few rows of the best two actions to try.",))
        return
    rows = tuple(
        (test.name, test.expects, number(test.value), number(test.error, 2), "passed" if test.is_passed else "FAILED")
        for test in found.refutations
    )
    sentence = (
        f"The best action leads the second by {number(found.weighted)} (give or take "
        f"{number(found.weighted_error, 2)}) by weighting and by {number(found.robust)} (give or take "
        f"{number(found.robust_error, 2)}) doubly robust. What stands after give or take is a standard error."
    )
    yield Section("refutations", title, (sentence,), ("test", "expected", "found", "standard error", "finding"), rows)


def _leakage(audit: Audit) -> Iterator[Section]:
    found = audit.leakage.columns
    if not found:
        return
    rows = tuple((column.name, number(column.r2, 2), number(column.auc, 3), column.kind) for column in found)
    sentence = (
        "How much of the outcome one context tells by itself within an action. R2 is the share of the outcome's "
        "variation that it tells: 0 is nothing, 1 all. Where the outcome is yes or no, AUC is how often it puts a "
        "yes above a no: 0.5 is guessing, 1 is always."
    )
    header = ("column", "R2", "AUC", "finding")
    yield Section("leakage", "Is the outcome among the contexts?", (sentence,), header, rows)


def _telling(audit: Audit) -> Iterator[Section]:
    found = audit.telling.columns
    if not found:
        return
    rows = tuple(
        (column.name, as_percent(column.share), str(column.action), "tells" if column.is_telling else "none")
        for column in found
    )
    sentence = (
        "How often one column alone says whether an action was taken, beyond always guessing the same. A column that "
        "was written down with the action says what was done, not who the user is: it is left out of all else here."
    )
    header = ("column", "told", "action", "finding")
    yield Section("telling", "Is the action among the contexts?", (sentence,), header, rows)


def _copies(audit: Audit) -> Iterator[Section]:
    if audit.copies.is_material:
        sentence = (
            f"{as_percent(audit.copies.share)} of the rows are the same as another one in every column, the action "
            "and the outcome. They count as rows of one unit: errors are larger, and virtual plays fewer, by that."
        )
        yield Section("copies", "Is every row there once?", (sentence,))


def _sensitivity(audit: Audit) -> Iterator[Section]:
    found = audit.sensitivity
    if found is None or audit.actions.best is None:
        return
    best = audit.actions.actions[audit.actions.best].name
    sentences = [
        f"{best} leads {found.rivals[0].name} by {number(found.tipping)} ({number(found.standardised, 2)} standard "
        "deviations of the outcome). Hidden bias in its favour above that makes the log harmful; "
        + (
            f"above {number(found.useless)}, bias and noise together could explain the lead."
            if found.useless > 0.0
            else "noise alone could explain it."
        )
    ]
    if not math.isnan(found.e_value):
        sentences.append(
            f"E-value {number(found.e_value)} (of the interval's end {number(found.e_value_low)}; "
            f"{found.e_value_scale}): a hidden confounder would have to multiply both the chance of the action and "
            "the outcome by that much."
        )
    if found.benchmarks:
        sentences.append(
            f"For scale: leaving out {found.benchmarks[0].column}, the strongest of the observed columns, moves the "
            f"lead by {number(found.strongest)}; all observed confounding together moved it by "
            f"{number(abs(found.observed_bias))}."
        )
    if audit.facts.propensities == "logged" and audit.propensities.fault == "none":
        sentences.append("Propensities that were logged and are true leave no room for a hidden confounder.")
    rows = tuple(
        (str(rival.name), number(rival.tipping), number(rival.low), rival.column or NONE, number(abs(rival.bias)))
        for rival in found.rivals
    )
    header = (
        "better than the best if bias exceeds",
        "harmful above",
        "useless above",
        "strongest column",
        "its bias",
    )
    title = "The tipping point: how much hidden bias would turn it?"
    yield Section("sensitivity", title, tuple(sentences), header, rows)


def _value(audit: Audit) -> Iterator[Section]:
    found = audit.value
    if found is None:
        return
    title = "What is it worth?"
    if found.is_vacuous:
        sentence = (
            f"Over {found.horizon:,} users the bounds cannot tell: the differences are too small for that horizon, "
            "with the log or without."
        )
        yield Section("value", title, (sentence,))
        return
    sentence = (
        f"Over the next {found.horizon:,} users the log lowers the bound on UCB's regret from "
        f"{number(found.without_log)} to {number(found.with_log)}: it saves {number(found.saves)} (in units of the "
        "outcome). Bounds are generous; their difference is a scale, not a forecast."
    )
    rows = tuple(
        (str(action.name), number(action.gap), number(action.enough), number(action.missing_rows))
        for action in found.actions
    )
    header = ("action", "gap to the best", "enough virtual plays", "rows still missing")
    yield Section("value", title, (sentence,), header, rows)


def _population(audit: Audit) -> Iterator[Section]:
    found = audit.population
    if found is None:
        return
    sentences = [
        f"{found.n_users:,} users to come. A regression tells them from the log's users with AUC {number(found.auc)} "
        f"(0.5: not at all); weighted to them, {as_percent(found.kept_share)} of the rows' worth is left."
    ]
    if found.n_missing:
        sentences.append(f"Of {found.n_missing:,} a value is missing: it is filled in as in the log.")
    if found.unseen_share:
        sentences.append(f"{as_percent(found.unseen_share)} have a category that the log never shows: left out.")
    rows = tuple(
        (column.name, number(column.log_mean), number(column.population_mean), f"{column.difference:+.2f}")
        for column in found.columns
    )
    header = ("column", "log's mean", "users' mean", "standardised difference")
    yield Section("population", "Are the users to come like the log's?", tuple(sentences), header, rows)


def numeric_columns(section: Section) -> Sequence[int]:
    """Which columns hold numbers, to be set flush right: all but the first and those of words."""
    words = {"who", "expected", "finding", "", "test", "strongest column", "what was found"}
    words |= {"action"} if section.key == "telling" else set()
    return [j for j, name in enumerate(section.header) if j and name not in words]
