"""The one call: a log becomes a policy, by stated rules, with its reasons in words.

- Logged propensities are used if the audit's quick check of totals finds nothing wrong (the rows of each action,
  weighted by 1/p, stand for all users); otherwise they are estimated.
- Missing ones are filled in as everywhere (`estimates.propensity.missing`).
- With a population given and no logged propensities none are estimated: each action's rows are balanced towards the
  users directly, which undoes the log's choices too.
- Means and errors are doubly robust, for the population if one is given. Without contexts that is inverse propensity
  weighting with large weights cut, without propensities too the plain average.
- Trust is what the quick checks' reasons leave of it (`audit.trust`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.errors import OptionError
from headstart.estimates.doubly_robust import robust_means
from headstart.estimates.outliers import clip_log, find_ranges
from headstart.estimates.population import as_population
from headstart.estimates.propensity.missing import fill_missing
from headstart.estimates.summary import Summary
from headstart.judgement.audit.findings import find_reasons, glance
from headstart.judgement.audit.reasons import Reason
from headstart.judgement.audit.rules import QUICK_RULES
from headstart.judgement.audit.trust import Trust, weigh_reasons
from headstart.judgement.start.by_context import choose_by_context
from headstart.judgement.start.options import StartOptions
from headstart.judgement.start.started import Choice, Origin, Started
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.logs.tables.table import LogTable
from headstart.oracles.knowledge_gradient import KnowledgeGradient
from headstart.priors.logged import LoggedPrior, check_trust
from headstart.randomness import RNG, as_generator


def start(
    log: AnyLog,
    *,
    decide_on: Sequence[str | int] | None = None,
    population: object = None,
    horizon: int | None = None,
    trust: ArrayLike | Trust | None = None,
    options: StartOptions = StartOptions(),
    rng: RNG = None,
) -> Started:
    """A policy that starts from this log, ready to `play` and `update`; its `explanation` says what was done and why.

    Parameters
    ----------
    log
        A `Log`, or a `LogTable`, of which at most `options.most_rows` (100,000) rows are looked at.
    decide_on
        The context columns, by name or index, that decisions may look at. None: one best action for all users
        (context-free); the contexts then serve to undo how the log chose its actions.
    population
        Contexts of the users to come (a matrix, a data frame or a Log), if they may differ from the log's.
    horizon
        Users to come; `options.horizon` (5,000) by default. It bears on what is worth exploring; a factor of ten
        either way costs little.
    trust
        How far to believe the log: a chance in [0, 1], one per action, or a `Trust`. None: the audit's quick rules.
    options
        Every chosen number; docs/reference.md says what each does.
    rng
        Of the policy's draws.

    Notes
    -----
    Context-free: the log's doubly robust means and their standard errors are a prior, beside a component for a log
    that is wrong; one in conflict fades by itself, and what is worth finding out about is tried (KnowledgeGradient).
    The rules for propensities stand above, those for trust in `audit.trust`, those for deciding by context in
    `start.by_context`.
    """
    users = _check_users(horizon, options)
    generator = as_generator(rng)
    rows, reasons = _bound_rows(*_take_rows(log, options.most_rows))
    used = _settle_propensities(rows, population)
    contexts = None if population is None else as_population(population, rows)
    summary = robust_means(used.log, users=contexts).summary
    if trust is None:
        believed = weigh_reasons(rows.action_names, used.basis, used.reasons, options.prior)
    else:
        believed = _as_trust(trust, rows.n_actions)
    reasons += [*used.notes, _name_estimate(rows, population), *believed.reasons]
    unknown = _name_unknown(rows, summary)
    choice = None
    if decide_on is not None:
        choice = choose_by_context(used.log, decide_on, believed.weights, users, options, generator)
        if choice is None:
            reasons.append("none of the columns to decide on varies")
    if choice is None:
        prior = LoggedPrior.of_summary(summary, believed.weights, options.prior, rows.action_names)
        choice = _choose_for_all(prior, users, options, generator)
    reasons += [choice.reason, *unknown]
    return Started(choice, Origin(log, population, users), summary, believed, tuple(reasons))


def _choose_for_all(prior: LoggedPrior, users: int, options: StartOptions, rng: np.random.Generator) -> Choice:
    oracle = KnowledgeGradient.from_prior(prior, horizon=users, options=options.exploring, rng=rng)
    why = (
        "decisions are context-free: the best by the log and the users so far, or what is worth learning about "
        f"while {users:,} users are to come"
    )
    return Choice(oracle, None, prior, why)


def _check_users(horizon: object, options: object) -> int:
    """The number of users to come, at the door of `start`."""
    if not isinstance(options, StartOptions):
        raise OptionError(f"options must be StartOptions(...), got {options!r}")
    if horizon is None:
        return options.horizon
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        raise OptionError(f"horizon must be a whole number of at least 1, or None, got {horizon!r}")
    return int(horizon)


def _take_rows(log: AnyLog, most: int) -> tuple[Log, list[str]]:
    """The log's rows in memory, and a word if they are not all."""
    if isinstance(log, Log):
        return log, []
    if not isinstance(log, LogTable):
        raise OptionError(f"log must be a Log or a LogTable (hs.read_log(...)), got {type(log).__name__}")
    n = len(log)
    if n <= most:
        return log.to_log(), []
    rows = log.sample(most, rng=0)
    return rows, [f"{len(rows):,} of the table's {n:,} rows were looked at, drawn by lot"]


def _bound_rows(log: Log, notes: list[str]) -> tuple[Log, list[str]]:
    """The log with values far outside all others drawn to the range of those, and a word on each such column.

    One age of 1e200 would make every other one the mean, one outcome of 1e300 every fit infinite.
    """
    if not _may_stray(np.column_stack([log.outcomes, log.contexts])):
        return log, notes
    outcome, columns = find_ranges(log)
    found = {"an outcome": outcome, **columns}
    far = {name: each for name, each in found.items() if each is not None and each.n_outside}
    told = [
        f"{each.n_outside} of {len(log)} rows have {name} far outside the others: it counts as the nearest value in "
        f"[{each.low:.4g}, {each.high:.4g}]"
        for name, each in far.items()
    ]
    ranges = {name: (each.low, each.high) for name, each in far.items()}
    return clip_log(log, ranges.pop("an outcome", None), ranges), [*notes, *told]


def _may_stray(values: Floats) -> bool:
    """Whether nearly all of a column is huddled in a fiftieth of its range, as it is beside a value far outside."""
    with np.errstate(over="ignore"):
        middles, spans = np.median(values, axis=0), np.ptp(values, axis=0)
        return bool((np.mean(np.abs(values - middles) <= 0.02 * spans, axis=0) > 0.9).any())


class Settled(NamedTuple):
    """A log with the propensities that are used, what they are, what speaks against them, and what was done."""

    log: Log
    basis: str  # a key of `trust.BASES`
    reasons: list[Reason]
    notes: list[str]


def _settle_propensities(log: Log, population: object) -> Settled:
    notes: list[str] = []
    if log.propensities is not None:
        reasons = find_reasons(QUICK_RULES, glance(log))
        if not log.n_features or all(reason.rule != "wrong propensities" for reason in reasons):
            return Settled(log, "logged", reasons, notes)
        notes.append(f"the logged propensities were set aside: {reasons[0].text}")
    basis = "estimated" if log.n_features else "nothing"
    if population is not None:
        shares = np.bincount(log.actions, minlength=log.n_actions) / len(log)
        notes.append("weights balance each action's rows towards the users to come: propensities are not needed")
        return Settled(log.with_propensities(shares[log.actions]), basis, [], notes)
    filled = fill_missing(log)
    return Settled(filled.log, basis, [], [*notes, filled.note])


def _name_estimate(log: Log, population: object) -> str:
    if log.n_features:
        users = "the users to come" if population is not None else "users such as the log's"
        return f"means are doubly robust (regression corrected by weighted residuals), for {users}"
    if log.propensities is not None:
        return "means are weighted by 1 / propensity, large weights cut: there are no contexts to do better with"
    return "means are plain averages: there is nothing to adjust by"


def _as_trust(trust: ArrayLike | Trust, n_actions: int) -> Trust:
    """The trust that was given, as one for each action."""
    if isinstance(trust, Trust):
        if trust.weights.shape != (n_actions,):
            raise OptionError(f"trust must be for {n_actions} actions, got {trust.weights.size}")
        return trust
    weights = check_trust(trust, n_actions)
    return Trust(weights, (f"trust was given: {np.unique(weights).tolist()}",))


def _name_unknown(log: Log, summary: Summary) -> list[str]:
    """A word on the actions that the log never shows, if there are any."""
    unknown = [str(log.action_names[a]) for a in np.flatnonzero(np.isnan(summary.means))]
    more = " and others" if len(unknown) > 5 else ""
    return [f"the log never shows {', '.join(unknown[:5])}{more}: users will tell"] if unknown else []
