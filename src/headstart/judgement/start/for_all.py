"""One action for all users. Stated rules:

- Means and standard errors are a prior, beside a component for a log that is wrong about an action and levels that
  are off for all of them (`priors.logged`): a log in conflict fades by itself, and what is worth finding out about is
  tried (KnowledgeGradient).
- Outcomes that are all 0 or 1, with some of both, are learnt as chances of a 1.
- Otherwise, where a line through the log's contexts tells outcomes apart on rows that it has not seen, what it says
  of a user is taken off the outcome before it is learnt (Adjusted). Decisions do not look at contexts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.control_line import ControlLine
from headstart.estimates.summary import Summary
from headstart.judgement.start.options import StartOptions
from headstart.judgement.start.started import Choice
from headstart.logs.log import Log
from headstart.oracles.knowledge_gradient import KnowledgeGradient
from headstart.parts import Oracle
from headstart.priors.logged import LoggedPrior
from headstart.warmstart.adjusted import Adjusted

MakePrior = Callable[[Sequence[Summary], bool], LoggedPrior]
"""(what each log says, whether outcomes are 0 and 1) -> a prior."""


def choose_for_all(
    rows: Log,
    summary: Summary,
    trust: Floats,
    users: int | None,
    options: StartOptions,
    rng: np.random.Generator,
    *,
    is_early: bool = True,
) -> Choice:
    """What decides, from a log's rows and what it says of each action, (K,) believed with chance `trust`."""

    def make(summaries: Sequence[Summary], is_binary: bool) -> LoggedPrior:
        return LoggedPrior.of_summary(summaries[0], trust, options.prior, rows.action_names, is_binary=is_binary)

    return decide_for_all(rows, [summary], make, users, options, rng, is_early=is_early)


def decide_for_all(
    rows: Log,
    summaries: Sequence[Summary],
    make_prior: MakePrior,
    users: int | None,
    options: StartOptions,
    rng: np.random.Generator,
    *,
    is_early: bool,
) -> Choice:
    """What decides, from the rows of one log or of several and from what each says of the actions.

    `is_early`: every column was known before the action, as far as the audit sees. One that tells the action or the
    outcome would take the action's own effect off what is learnt of it.
    """
    is_binary = are_binary(rows.outcomes)
    line = _find_line(rows) if is_early and not is_binary else None
    prior = make_prior([each if line is None else line.adjust(each) for each in summaries], is_binary)
    oracle: Oracle = KnowledgeGradient.from_prior(prior, horizon=users, options=options.exploring, rng=rng)
    why = (
        "decisions are the same for all users (context-free): the best action by the log and the users so far, or "
        f"one that is worth learning about while {'others' if users is None else f'{users:,} users'} are to come"
    )
    if is_binary:
        why += "; outcomes are 0 or 1, so what is learnt is the chance of a 1"
    if line is not None:
        oracle = Adjusted(oracle, line)
        why += (
            f"; contexts explain {line.explained:.0%} of what varies in an outcome, and where a user comes with all "
            "of the log's columns that is taken off before it is learnt"
        )
    return Choice(oracle, None, prior, why)


def are_binary(outcomes: Floats) -> bool:
    """Whether they are 0 and 1, with some of both."""
    return np.array_equal(np.unique(outcomes), (0.0, 1.0))


def _find_line(rows: Log) -> ControlLine | None:
    """The line that explains outcomes, where it pays."""
    line = ControlLine.of_log(rows) if rows.n_features else None
    return line if line is not None and line.pays else None
