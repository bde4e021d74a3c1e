"""The rules of the verdict: which finding becomes a reason, and how grave it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from headstart.estimates.missed import FEW_ROWS
from headstart.judgement.audit.checks.balance import LARGE, word_balance, word_totals
from headstart.judgement.audit.grounds import (
    find_copied_rows,
    find_estimated,
    find_filled,
    find_heavy_rows,
    find_leaked_columns,
    find_left_out,
    find_miscalibration,
    find_no_overlap,
    find_one_action,
    find_other_users,
    find_refuted,
    find_short_intervals,
    find_telling_columns,
    find_thin_overlap,
    find_tipping,
    find_unadjusted,
    find_unclear_lead,
    find_unread,
    find_unshown,
    find_wrong_propensities,
)
from headstart.judgement.audit.grounds_of_time import (
    find_adjusted_time,
    find_moved_contrast,
    find_partial_actions,
    find_wrong_period,
)
from headstart.judgement.audit.reasons import Rule

if TYPE_CHECKING:
    from headstart.judgement.audit.audit import Audit

# All rules, gravest first; so are those of one name.
RULES: tuple[Rule[Audit], ...] = (
    Rule("one action", "actions", "stop", "fewer than two actions have rows", find_one_action),
    Rule(
        "wrong propensities",
        "propensities",
        "stop",
        "the weights of an action's rows add up to more than 5 % off the number of users (1 in 1,000, all actions "
        "together), or to 10 % off in a group of users or a period of time (1 in 1,000 each)",
        find_wrong_propensities,
    ),
    Rule(
        "wrong propensities",
        "drift",
        "stop",
        "in a period of the log the weights of an action's rows are off by 10 % (1 in 500, all periods together)",
        find_wrong_period,
    ),
    Rule(
        "wrong propensities",
        "totals",
        "note",
        "the rows of an action, weighted, stand for a number of users that is off by 5 % (1 in 1,000, all actions)",
        word_totals,
        odds=0.2,
    ),
    Rule(
        "tells the action",
        "telling",
        "stop",
        "a column alone tells an action from the others in 95 % of the rarer ones' rows",
        find_telling_columns,
    ),
    Rule(
        "no overlap",
        "overlap",
        "stop",
        "10 % of the users or more never saw one",
        find_no_overlap(0.1, math.inf),
    ),
    Rule("no overlap", "overlap", "cap", "1 % to 10 % never saw it", find_no_overlap(0.01, 0.1)),
    Rule(
        "thin overlap",
        "overlap",
        "cap",
        "10 % of the users or more had an estimated chance below 0.01 of an action that has 5 % of the rows",
        find_thin_overlap(is_logged=False),
    ),
    # Small chances that were logged, and are true, cost effective rows and nothing else: the caps have it already.
    Rule(
        "thin overlap",
        "overlap",
        "note",
        "the same for a logged chance",
        find_thin_overlap(is_logged=True),
    ),
    Rule(
        "leaked outcome",
        "leakage",
        "stop",
        "a context has R2 >= 0.8 or AUC >= 0.95",
        find_leaked_columns("leak"),
    ),
    # What people bought last year tells as much of what they buy this year: a question, not an accusation.
    Rule(
        "leaked outcome",
        "leakage",
        "note",
        "R2 >= 0.4 or AUC >= 0.85, and an R2 four times that of any other column",
        find_leaked_columns("suspect"),
    ),
    Rule(
        "other users",
        "population",
        "stop",
        "less than 2 % of the rows' worth left, weighted to them, or more than 10 % unknown categories",
        find_other_users("stop"),
    ),
    Rule(
        "other users",
        "population",
        "cap",
        "AUC >= 0.6 or a column 0.25 standard deviations off, beyond noise; more than 1 % unknown categories; or "
        "another best action",
        find_other_users("cap"),
    ),
    Rule(
        "imbalance",
        "balance",
        "stop",
        "0.25 standard deviations after weighting by logged propensities, beyond noise",
        word_balance(LARGE, math.inf, is_logged=True),
    ),
    Rule(
        "imbalance",
        "balance",
        "cap",
        "0.1 to 0.25 after weighting by logged propensities, beyond noise",
        word_balance(0.0, LARGE, is_logged=True),
        odds=0.7,
    ),
    # What estimated propensities leave unbalanced, the regression of a doubly robust mean takes up: trust stays.
    Rule(
        "imbalance",
        "balance",
        "stop",
        "0.25 standard deviations after weighting by estimated propensities, beyond noise",
        word_balance(LARGE, math.inf, is_logged=False),
    ),
    Rule(
        "imbalance",
        "balance",
        "cap",
        "0.1 to 0.25 after weighting by estimated propensities, beyond noise",
        word_balance(0.0, LARGE, is_logged=False),
    ),
    Rule(
        "miscalibration",
        "calibration",
        "cap",
        "estimated propensities off by 10 % between groups of users (1 in 10,000)",
        find_miscalibration,
        odds=0.7,
    ),
    Rule("refuted", "refutations", "cap", "a refutation fails (each 1 in 1,000)", find_refuted, 0.6),
    Rule(
        "heavy row",
        "actions",
        "cap",
        "by estimated propensities one row carries more than 10 % of an action's mean and half of its variance, of "
        "30 rows or more",
        find_heavy_rows(is_logged=False),
    ),
    Rule("heavy row", "actions", "note", "the same by logged propensities", find_heavy_rows(is_logged=True)),
    Rule(
        "rows left out",
        "completeness",
        "cap",
        "20 % of the source's rows or more were left out for a missing or wrong value",
        find_left_out(0.2, math.inf),
    ),
    Rule("rows left out", "completeness", "note", "5 % to 20 % were", find_left_out(0.05, 0.2)),
    Rule("filled in", "completeness", "note", "a context was missing in 20 % of the rows or more", find_filled),
    Rule("not adjusted for", "completeness", "note", "a column of text of more than 200 values", find_unread),
    Rule("copied rows", "copies", "cap", "1 % of the rows or more are copies of another", find_copied_rows),
    Rule(
        "tipping point",
        "sensitivity",
        "cap",
        "estimated propensities, and leaving out one column moves the best action's lead over a rival by more than "
        "that lead",
        find_tipping,
    ),
    Rule("unadjusted", "propensities", "cap", "neither propensities nor contexts", find_unadjusted),
    Rule(
        "estimated",
        "propensities",
        "cap",
        "propensities were estimated: what else decided who saw what, no log can show",
        find_estimated,
    ),
    Rule(
        "short interval",
        "summary",
        "note",
        "propensities were estimated, curves moved the means beyond chance (1 in 20), and an action has fewer than "
        f"{FEW_ROWS:,} rows",
        find_short_intervals,
    ),
    Rule("not shown", "actions", "note", "an action has no rows", find_unshown),
    Rule("unclear lead", "actions", "note", "the interval of the lead holds 0", find_unclear_lead),
    # Time.
    Rule(
        "change over time",
        "drift",
        "cap",
        "an action's difference to the others moved over the periods (1 in 500, all actions together)",
        find_moved_contrast,
        odds=0.5,
    ),
    Rule(
        "part of the time",
        "drift",
        "cap",
        "an action has no rows in periods where chance would have given it some (1 in 500)",
        find_partial_actions,
    ),
    Rule("time", "drift", "note", "shares moved over time, and periods were adjusted for", find_adjusted_time),
)
