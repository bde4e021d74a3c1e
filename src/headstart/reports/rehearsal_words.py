"""A rehearsal in words and tables: what to do first, then what to expect of it, then what it cannot know."""

from __future__ import annotations

import math

from headstart.judgement.rehearsal.policies import AB_TEST, TODAY
from headstart.judgement.rehearsal.rehearsal import DayKnown, Outlook, OverWorlds, Rehearsal
from headstart.judgement.rehearsal.worlds import RIGHT
from headstart.numerals import NONE, more, number, signed
from headstart.reports.section import Section


def tell_headline(found: Rehearsal) -> str:
    """What to switch on, in one sentence."""
    advice = found.advice
    trust = "Believe the log as far as the audit does"
    if advice.trust is not None:
        how = "fully" if advice.trust == 1.0 else f"with a chance of {advice.trust:.0%}"
        trust = f"Believe the log {how} (trust={advice.trust:g})"
    floor = (
        f"give {advice.floor:.0%} of users an action by lot (the floor)"
        if advice.floor
        else "give nobody an action by lot (no floor)"
    )
    held = (
        f"keep {advice.hold_out:.0%} of users with today's policy (the hold-out)"
        if advice.hold_out
        else "keep nobody with today's policy (no hold-out)"
    )
    return f"{trust}, {floor}, and {held}."


def tell_expectation(found: Rehearsal) -> str:
    """What that is expected to earn, and what it costs where the log is wrong."""
    ours, worst = found.forecast(found.advice.policy), found.worst(found.advice.policy)
    price = (
        f"At worst it earns {more(worst.over_ab.mean)} than the {AB_TEST}: that is where "
        f"{found.scenarios[worst.scenario]} (“{worst.scenario}”)."
        if worst.scenario != RIGHT
        else "It does no worse in the other scenarios."
    )
    return (
        f"Where the log is right it earns, of {found.unit} over {found.days} days, {more(ours.over_today.mean)} than "
        f"{TODAY} and {more(ours.over_ab.mean)} than an {AB_TEST}: {more(ours.over_today.mean / found.days)} and "
        f"{more(ours.over_ab.mean / found.days)} a day. {price}"
    )


def describe_rehearsal(found: Rehearsal) -> str:
    """What was played."""
    by = f"decided by {', '.join(found.decide_on)}" if found.decide_on else "one action for all"
    return (
        f"{found.days} days of {found.users_per_day:,} users, {by}; {found.runs} worlds in each of "
        f"{len(found.scenarios)} scenarios, drawn from a log of {found.n_rows:,} rows (the audit says: "
        f"{found.verdict}). The {AB_TEST} tests on {found.test_users:,} users, then plays its winner."
    )


def write_rehearsal(found: Rehearsal) -> list[Section]:
    """The sections of a report, in order."""
    return [
        _write_gains(found),
        _write_days(found),
        _write_scenarios(found),
        _write_reasons(found),
        _write_limits(found),
    ]


def _write_gains(found: Rehearsal) -> Section:
    rows = tuple(_tell_gains(found, found.forecast(policy)) for policy in found.policies)
    return Section(
        "gains",
        "What is it expected to earn?",
        (
            f"Where the log is right: {found.unit}, added up over all {found.n_users:,} users; in brackets what "
            "nine worlds of ten lie between. Lost is against the best action from the first user on.",
            "Trust 0.5 and trust 1 believe the log with that chance, whatever the audit says; a floor of 5% gives "
            "that share of users an action by lot. The arrow marks what is advised.",
        ),
        ("policy", f"more than {TODAY}", "a day", f"more than the {AB_TEST}", "a day", "lost"),
        rows,
    )


def _tell_gains(found: Rehearsal, each: Outlook) -> tuple[str, ...]:
    def gain(spread: OverWorlds, is_itself: bool) -> tuple[str, str]:
        if is_itself:
            return NONE, NONE
        ends = f"({signed(spread.low)} to {signed(spread.high)})"
        return f"{signed(spread.mean)} {ends}", signed(spread.mean / found.days)

    name = f"{each.policy} ←" if each.policy == found.advice.policy else each.policy
    today, test = gain(each.over_today, each.policy == TODAY), gain(each.over_ab, each.policy == AB_TEST)
    return (name, *today, *test, number(each.regret.mean))


def _write_days(found: Rehearsal) -> Section:
    rows = [
        (policy, *_tell_known(each.known), number(100 * each.known.share) + " %", _percent(each.known.right))
        for policy in found.policies
        if (each := found.forecast(policy)).known is not None and each.known is not None
    ]
    return Section(
        "days",
        "When do the users themselves tell the best action?",
        (
            "The first day at whose end the best mean of users' outcomes is above every other with 95 %, by the same "
            "rule for every policy; the log does not count. A policy that gives almost everybody the best action "
            "learns little about the others: that is no fault, but it proves nothing either.",
        ),
        ("policy", "early (5 %)", "half of worlds by", "late (95 %)", "known at all", "then right"),
        tuple(rows),
    )


def _tell_known(known: DayKnown | None) -> tuple[str, ...]:
    assert known is not None
    return tuple(
        "not in time" if math.isinf(day) else f"day {day:.0f}" for day in (known.low, known.median, known.high)
    )


def _percent(share: float) -> str:
    return NONE if math.isnan(share) else f"{100 * share:.0f} %"


def _write_scenarios(found: Rehearsal) -> Section:
    rows = []
    for policy in found.policies:
        if policy != AB_TEST:
            worst = found.worst(policy)
            gains = [signed(found.forecast(policy, scenario).over_ab.mean) for scenario in found.scenarios]
            rows.append((policy, *gains, f"{signed(worst.over_ab.low)}"))
    return Section(
        "scenarios",
        "And if the log is wrong?",
        (
            f"What is earned of {found.unit} in all more than by the {AB_TEST}, on average over each scenario's "
            "worlds. The last column is for bad luck as well: one world of twenty of the worst scenario is worse.",
            *(f"{name[:1].upper()}{name[1:]}: {words}." for name, words in found.scenarios.items()),
        ),
        ("policy", *found.scenarios, "worst, 5 %"),
        tuple(rows),
    )


def _write_reasons(found: Rehearsal) -> Section:
    reasons = tuple(f"{reason[:1].upper()}{reason[1:]}." for reason in found.advice.reasons)
    return Section("reasons", "Why this advice?", reasons, status="note")


def _write_limits(found: Rehearsal) -> Section:
    return Section("limits", "What it cannot know", found.limits, status="note")
