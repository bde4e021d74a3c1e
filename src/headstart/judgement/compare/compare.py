"""Compare: which way of using this log would have earned most, and is the difference more than noise?

For each shuffle the log is cut in two; policies start from the first part and live through the second (`shuffles`).
All policies of a shuffle meet the same parts, the same order and the same draws, so that differences are paired.
How sure the means are is the subject of `noise`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_number, check_whole
from headstart.errors import OptionError
from headstart.estimates.propensity.missing import fill_missing
from headstart.judgement.compare.comparison import Comparison
from headstart.judgement.compare.conclusion import conclude
from headstart.judgement.compare.noise import REPEATS
from headstart.judgement.compare.policies import StartPolicy, choose_policies
from headstart.judgement.compare.shuffles import Shuffles
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.simulation.acceptance import choose_acceptance
from headstart.simulation.spreading import check_jobs

MOST_ROWS = 200_000  # of a table
FEWEST_UNITS = 5  # on either side
_MOST_CHECKPOINTS = 100
Split = Literal["random", "time"]


def compare(
    log: AnyLog,
    policies: Mapping[str, StartPolicy] | Sequence[str] | None = None,
    *,
    shuffles: int = 20,
    rounds: int | None = None,
    split: Split = "random",
    share: float = 0.2,
    decide_on: Sequence[str | int] | None = None,
    level: float = 0.95,
    seed: int = 0,
    n_jobs: int | None = None,
    notes: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Each policy's mean outcome per round, had it started from a part of this log and met the users of the rest.

    Beside them stands "today's policy", the one that made the log: its value is the mean outcome of the same users.

    Parameters
    ----------
    log
        A Log, or a table, of which at most 200,000 rows are drawn. Without propensities they are estimated from its
        contexts, and `notes` say so. Rows of one unit (`log.units`) are dealt and drawn together.
    policies
        By name: a function (log, rng) -> policy, called for each run with the part to start from; or names of
        `default_policies`, which are all taken by default. "cold" and "naive" are added if they are not among them.
    shuffles
        Ways of cutting and ordering the rows; three times as many bootstrap runs are made for the intervals.
    rounds
        Accepted events to compare over; by default as many as the log allows.
    split
        "random": the parts are dealt by lot. "time": the first rows are the log, the others come in their order.
    share
        Of the rows, for the part that policies start from.
    decide_on
        The columns that the default policies with contexts decide on; the others are only adjusted for.
    level
        Of the intervals. Those of `to_best`, `to_cold` and `to_today` hold together (Bonferroni).
    seed, n_jobs
        The result depends neither on the workers (threads, or joblib's, as in `simulate`) nor on the other policies.
    notes
        What else is known of the log (an audit's verdict, say), told with the result.
    progress
        Called with 1 after each run of each policy, `count_comparison_steps` times.

    Returns
    -------
    Comparison
        Each policy's earnings, the best first, their differences, and what is noise.

    Raises
    ------
    OptionError
        If a policy's name is unknown, a setting is outside its range, the log is too small to be cut in two, or it
        shows only one action.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> found = hs.compare(log, ["start"], shuffles=2)
    >>> sorted(each.name for each in found.earnings)
    ['cold', 'naive', 'start', "today's policy"]
    """
    shuffles, n_jobs = check_whole("shuffles", shuffles, low=2), check_jobs(n_jobs)
    level = check_number("level", level, 0.0, 1.0)
    rows, told = _as_rows(log, as_split(split), seed)
    n_log = round(check_number("share", share, 0.0, 1.0) * len(rows))
    if not 2 <= n_log <= len(rows) - 2:
        raise OptionError(f"share must leave at least two rows on both sides, got {share} of {len(rows)}")
    if rows.n_actions < 2:
        raise OptionError(f"the log shows only one action, {rows.action_names[0]}: there is nothing to compare")
    chosen = choose_policies(policies, rows, decide_on)
    most_rounds = None if rounds is None else max(2, check_whole("rounds", rounds))
    acceptance = choose_acceptance(rows, len(rows) - n_log, most_rounds)
    checkpoints = np.unique(np.linspace(0, acceptance.n_rounds, _MOST_CHECKPOINTS + 1).astype(np.int64)[1:])
    chances = _all_chances(rows, seed) if acceptance.is_lending else None
    runs = Shuffles(rows, chosen, acceptance, chances, n_log, shuffles, split == "time", seed)
    tallies = runs.tally(checkpoints, n_jobs, progress)
    return conclude(tallies, runs, checkpoints, level, [*notes, *told])


def as_split(split: str) -> Split:
    """One of the two ways of cutting a log."""
    if split == "random":
        return "random"
    if split == "time":
        return "time"
    raise OptionError(f"split must be 'random' or 'time', got {split!r}")


def count_comparison_steps(n_policies: int, shuffles: int) -> int:
    """How often `progress` will be called."""
    return (1 + REPEATS) * shuffles * n_policies


def _as_rows(log: AnyLog, split: Split, seed: int) -> tuple[Log, list[str]]:
    notes = []
    if isinstance(log, Log):
        rows = log
    else:
        if split == "time":
            raise OptionError("split='time' needs rows in their order, which a table has not: use read_log")
        rows = log.sample(MOST_ROWS, rng=seed)
        # A database hands over the same rows in any order; sorted, the same set of rows gives the same shuffles.
        rows = rows.take(np.lexsort((*rows.contexts.T[::-1], rows.outcomes, rows.actions)))
        if len(rows) < len(log):
            notes.append(f"{len(rows):,} of {len(log):,} rows were drawn by lot")
    if rows.units is not None:
        numbers = np.unique(rows.units, return_inverse=True)[1]  # from 0: some may have gone with their rows
        rows, n_units = rows.with_units(numbers), int(numbers.max()) + 1
        if n_units < 2 * FEWEST_UNITS:
            raise OptionError(f"the rows are of {n_units} units: too few to deal into a log and its users")
        notes.append(
            f"the {len(rows):,} rows are of {n_units:,} units: a unit's rows are dealt, drawn and counted together, "
            "and intervals are as wide as units differ"
        )
    if not rows.has_propensities:
        if len(rows) < 10:
            raise OptionError(f"the log has no propensities and {len(rows)} rows are too few to estimate them")
        rows = fill_missing(rows, seed).log
        notes.append(
            "the log has no propensities: they were estimated from its contexts by logistic regression, so the "
            "comparison is right as far as the contexts hold what the actions were chosen by"
        )
    return rows, notes


def _all_chances(rows: Log, seed: int) -> Floats:
    """The chance of every action for every row; estimated where the log tells only that of the action taken."""
    if rows.propensity_matrix is not None:
        return rows.propensity_matrix
    estimated = fill_missing(rows, seed).log.propensity_matrix
    assert estimated is not None
    return estimated
