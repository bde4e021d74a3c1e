"""Several logs: each a source of its own, believed as far as its audit, its neighbours and the users bear it out.

- Each log is audited, capped and trusted by itself (`audit.trust`); one that is not to be used is left out.
- Actions and columns are matched by name (`logs.joined`). An action that a log lacks is not spoken of by it, and of a
  column that it lacks it knows no slope.
- A log with estimated propensities is believed less beside one with logged ones (`SourceOptions.observed`).
- Logs whose outcomes are at another level for all actions alike are moved to that of one (`priors.shifts`): of the
  newest where all have times, else of the one that is worth most. Not where outcomes are 0 and 1.
- The prior has a component for each set of logs that may be right about an action (`priors.several`, by context
  `priors.several_linear`). A forest, which has no such guard, is not tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.robust_slopes import adjust_rows
from headstart.estimates.summary import Summary
from headstart.judgement.audit.trust import BelievedLog, Trust, name_unknown
from headstart.judgement.start.by_context import (
    NOTHING_VARIES,
    decide_by_lines,
    decide_coldly,
    describe_linear,
    see_rows,
)
from headstart.judgement.start.for_all import decide_for_all
from headstart.judgement.start.options import StartOptions
from headstart.judgement.start.started import Choice, Origin, Started
from headstart.judgement.start.together import Together, bring_together
from headstart.logs.joined import has_columns
from headstart.priors.linear import LinearPrior
from headstart.priors.logged import LoggedPrior
from headstart.priors.several import pool_summaries, prior_of_sources
from headstart.priors.several_linear import SourceRows, linear_prior_of_sources
from headstart.priors.sources import weigh_sources


def start_several(
    sources: Sequence[BelievedLog],
    decide_on: Sequence[str | int] | None,
    population: object,
    users: int | None,
    options: StartOptions,
    rng: np.random.Generator,
) -> Started:
    """A policy that starts from all of them."""
    together = bring_together(sources, options)
    reasons = [f"log {s + 1}: {reason}" for s, source in enumerate(sources) for reason in source.reasons]
    choice = None
    if decide_on is not None:
        has_levels = population is None  # of users such as the logs', as their rows are
        choice = _choose_by_context(together, decide_on, users, options, rng, has_levels=has_levels)
        if choice is None:
            reasons.append(NOTHING_VARIES)
    if choice is None:
        choice = _choose_for_all(together, users, options, rng)
    pooled, names = pool_summaries(together.summaries), together.rows.action_names
    prior = _number(choice.prior, together, len(sources))
    choice = choice._replace(prior=prior)
    reasons += [*_tell_levels(together), *_tell_weights(together, weigh_sources(prior.chances, prior.believed))]
    reasons += [choice.reason, *name_unknown(names, pooled)]
    some = np.minimum(prior.chances[:, : prior.n_logged].sum(axis=1), 1.0)
    most = max(sources, key=lambda source: float(source.trust.weights @ source.summary.effective_sizes))
    return Started(
        choice,
        Origin(together.rows, population, users),
        most.audit,
        pooled,
        Trust(some, tuple(reasons)),
        tuple(reasons),
        tuple(source.audit for source in sources),
    )


def _choose_for_all(together: Together, users: int | None, options: StartOptions, rng: np.random.Generator) -> Choice:
    """One action for all users."""

    def make(summaries: Sequence[Summary], is_binary: bool) -> LoggedPrior:
        return prior_of_sources(
            summaries,
            together.trust,
            together.kinds,
            options.prior,
            options.sources,
            together.rows.action_names,
            is_binary=is_binary,
        )

    is_early = not any(source.intake.left_out for source in together.sources)
    return decide_for_all(together.rows, together.summaries, make, users, options, rng, is_early=is_early)


def _choose_by_context(
    together: Together,
    decide_on: Sequence[str | int],
    users: int | None,
    options: StartOptions,
    rng: np.random.Generator,
    *,
    has_levels: bool,
) -> Choice | None:
    """A linear model per action of these columns; None if none of them varies."""
    log = together.rows
    seen = see_rows(log, decide_on)
    if seen is None:
        return None
    if not together.trust.any():
        return decide_coldly(seen, log, users, options, rng)
    known = [has_columns(source.intake.whole, log.encoding)[seen.view.columns] for source in together.sources]
    numbers = range(len(together.sources))
    rows = SourceRows(
        seen.plain,
        log.actions,
        log.outcomes,
        np.ones(len(log)),
        together.origins,
        np.column_stack([np.ones(len(known), dtype=np.bool_), known]),
        together.trust,
        together.kept,
        together.kinds,
        together.levels if has_levels and not seen.has_all else None,
        None if seen.has_all else [adjust_rows(log.take(np.flatnonzero(together.origins == s))) for s in numbers],
    )
    prior, expanded = linear_prior_of_sources(rows, options.linear_prior, options.sources)
    words = describe_linear(prior, expanded, options)
    return decide_by_lines(prior, seen.view, log, users, options, rng, words)


def _number(prior: LoggedPrior | LinearPrior | None, together: Together, n_logs: int) -> LoggedPrior | LinearPrior:
    """The prior, its logs numbered as they were given; nothing believes those that are not used."""
    assert prior is not None, "forests are not tried"
    used = prior.believed
    if used is None:  # a cold start
        used = np.zeros((prior.n_actions, prior.n_logged, len(together.numbers)), dtype=np.bool_)
    believed = np.zeros((*used.shape[:2], n_logs), dtype=np.bool_)
    believed[:, :, np.array(together.numbers) - 1] = used
    return replace(prior, believed=believed)


def _tell_levels(together: Together) -> list[str]:
    """A word on each log that was moved to another's level."""
    return [
        f"log {number} has every action {abs(shift.size):.3g} ± {shift.error:.2g} "
        f"{'above' if shift.size > 0.0 else 'below'} log {together.level_of}: it counts from that level"
        for number, shift in sorted(zip(together.numbers, together.shifts, strict=True))
        if shift.size != 0.0
    ]


def _tell_weights(together: Together, weights: Floats) -> list[str]:
    """How far each log is believed beside the others."""
    if not together.trust.any():
        return []
    lines = []
    for number, trust in sorted(zip(together.numbers, together.trust, strict=True), key=lambda each: each[0]):
        shown = trust > 0.0
        alone, now = trust[shown], weights[number - 1, shown]
        lines.append(
            f"log {number} is right about an action with chance {_range(now)}: {_range(alone)} by its own audit, the "
            "rest by whether the logs agree"
        )
    return lines


def _range(values: Floats) -> str:
    low, high = f"{values.min():.2g}", f"{values.max():.2g}"
    return low if low == high else f"{low} to {high}"
