"""The one call: a log becomes a policy, by stated rules, with its reasons in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headstart.errors import OptionError
from headstart.judgement.audit.trust import Trust
from headstart.judgement.start.look import Look, look_at
from headstart.judgement.start.started import Started, check_horizon
from headstart.logs.log import Log
from headstart.oracles.knowledge_gradient import KnowledgeGradient
from headstart.priors.logged import check_trust
from headstart.randomness import RNG, as_generator

MOST_ROWS = 100_000  # of a table: a mean of so many is known to a 300th of the outcome's spread


def start(
    log: Any,
    *,
    decide_on: Sequence[str | int] | None = None,
    population: Any = None,
    horizon: int | None = None,
    trust: ArrayLike | Trust | None = None,
    rng: RNG = None,
) -> Started:
    """A policy that starts from this log, ready to `play` and `update`; its `explanation` says what was done and why.

    Parameters
    ----------
    log
        A `Log`, or a `LogTable`, of which at most 100,000 rows are looked at.
    decide_on
        The context columns, by name or index, that decisions may look at. None: one best action for all users
        (context-free); the contexts then serve to undo how the log chose its actions.
    population
        Contexts of the users to come (a matrix, a data frame or a Log), if they may differ from the log's.
    horizon
        Users to come; 5,000 by default. It bears on what is worth exploring and on whether learning by context can
        pay; a factor of ten either way costs little.
    trust
        How far to believe the log: a chance in [0, 1], one per action, or a `Trust`. None: `suggest_trust`'s rules.
    rng
        Of the policy's draws.

    Notes
    -----
    Context-free: the log's doubly robust means and their standard errors are a prior, beside a component for a log
    that is wrong; one in conflict fades by itself, and what is worth finding out about is tried (KnowledgeGradient).
    `start.look` has the rules for propensities, `audit.trust` those for trust, `start.by_context` those for deciding
    by context.
    """
    users = check_horizon(horizon)
    generator = as_generator(rng)
    rows, reasons = _as_rows(log)
    looked = look_at(rows, population)
    reasons += looked.notes
    believed = _as_trust(trust, looked)
    reasons += believed.reasons
    if decide_on is None:
        oracle: Any = KnowledgeGradient(
            rows.n_actions, looked.summary, trust=believed.weights, horizon=users, rng=generator
        )
        reasons.append(
            "decisions are context-free: the best by the log and the users so far, or what is worth learning about "
            f"while {users:,} users are to come"
        )
        view = None
    else:
        from headstart.judgement.start.by_context import choose

        oracle, view, why = choose(looked, decide_on, believed, users, generator)
        reasons += why
    unknown = [str(rows.action_names[a]) for a in np.flatnonzero(np.isnan(looked.summary.means))]
    if unknown:
        more = " and others" if len(unknown) > 5 else ""
        reasons.append(f"the log never shows {', '.join(unknown[:5])}{more}: users will tell")
    return Started(
        oracle,
        log=log,
        population=population,
        horizon=users,
        summary=looked.summary,
        trust=believed,
        reasons=tuple(reasons),
        view=view,
    )


def _as_rows(log: Any) -> tuple[Log, list[str]]:
    if isinstance(log, Log):
        return log, []
    if not hasattr(log, "sample") or not hasattr(log, "n_actions"):
        raise OptionError(f"log must be a Log or a LogTable (hs.read_log(...)), got {type(log).__name__}")
    n = len(log)
    rows: Log = log.sample(MOST_ROWS, rng=0) if n > MOST_ROWS else log.to_log()
    return rows, [f"{len(rows):,} of the table's {n:,} rows were looked at, drawn by lot"] if n > MOST_ROWS else []


def _as_trust(trust: ArrayLike | Trust | None, looked: Look) -> Trust:
    n_actions = looked.summary.n_actions
    if trust is None:
        return looked.trust
    if isinstance(trust, Trust):
        if trust.weights.shape != (n_actions,):
            raise OptionError(f"trust must be for {n_actions} actions, got {trust.weights.size}")
        return dataclasses.replace(trust, weights=check_trust(trust.weights, n_actions))
    weights = check_trust(trust, n_actions)
    return Trust(weights, (f"trust was given: {np.unique(weights).tolist()}",))
