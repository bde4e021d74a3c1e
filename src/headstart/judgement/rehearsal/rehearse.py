"""rehearse: what will happen if I switch this on?

Worlds are drawn from the log itself (`rehearsal.worlds`), the policies that one could pick live through them
(`rehearsal.policies`, compiled), and what comes out is in days and in the outcome's own units. All policies of a run
meet the same world and the same users, so that gains are paired. What needs no luck is computed: today's policy and
the log's winner do not learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from headstart.arrays import Integers
from headstart.checks import check_number, check_whole
from headstart.errors import LogError
from headstart.judgement.audit.intake import take_in
from headstart.judgement.rehearsal.advice import advise
from headstart.judgement.rehearsal.policies import (
    AB_TEST,
    COLD,
    SETTINGS,
    TODAY,
    WINNER,
    find_test_users,
    make_policies,
)
from headstart.judgement.rehearsal.rehearsal import Outlook, Rehearsal
from headstart.judgement.rehearsal.stage import LEVEL, Stage
from headstart.judgement.rehearsal.worlds import SCENARIOS, Evidence, gather_evidence
from headstart.judgement.start.options import StartOptions
from headstart.judgement.start.start import start
from headstart.judgement.start.started import Started
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.parts.identity import identity_of

POLICIES = (AB_TEST, COLD, *(each.name for each in SETTINGS), WINNER, TODAY)
RUNS = 100
FEWEST_RUNS = 10
_FEWEST_ROWS = 10  # of a log that says anything of itself
_MOST_ROUNDS = 10**9  # that are simulated, unless the fewest worlds take more: a quarter of an hour on one core
_N_SIMULATED = len(SCENARIOS) * (len(POLICIES) - 2)  # each world is met so many times


def count_worlds(n_users: int) -> int:
    """Worlds of a scenario, if nobody says how many: 100, and fewer of them if very many users are to come."""
    return min(max(_MOST_ROUNDS // (_N_SIMULATED * n_users), FEWEST_RUNS), RUNS)


def count_rehearsal_steps(runs: int) -> int:
    """Calls of `progress`."""
    return _N_SIMULATED * runs


def rehearse(
    log: AnyLog,
    *,
    users_per_day: int,
    days: int = 28,
    decide_on: Sequence[str | int] | None = None,
    runs: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Rehearsal:
    """What will happen if a policy from this log is switched on: expected gains, days until the best action is known,
    the worst case and its price, and how to switch it on.

    Parameters
    ----------
    log
        A `Log`, or a `LogTable` of any size: means are of all rows, of which 50,000 stand for users.
    users_per_day, days
        How many users are to come.
    decide_on
        The columns that decisions may look at; None: one best action for all. As in `start`.
    runs
        Worlds that are drawn for each scenario. None: 100, and down to 10 of them for more than 250,000 users in all,
        so that a billion rounds are simulated.
    seed, n_jobs
        Every world has its own streams: the result depends neither on the number of threads (one by default) nor on
        the workers of another backend of joblib's, e.g. within `with joblib.parallel_config("dask")`.
    progress
        Called with 1 after each run of each policy that learns: `count_rehearsal_steps(runs)` times.

    Notes
    -----
    Cost: about a microsecond per user, policy, run and scenario without contexts, some 40 of them per user and run.

    Returns
    -------
    Rehearsal
        Forecasts for each policy and scenario, advice with its reasons, and what cannot be known.

    Raises
    ------
    LogError
        If fewer than two actions were shown.
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> found = hs.rehearse(log, users_per_day=20, days=2, runs=3)
    >>> found.n_users
    40
    """
    per_day, n_days = check_whole("users_per_day", users_per_day), check_whole("days", days)
    n_users = per_day * n_days
    n_runs = count_worlds(n_users) if runs is None else check_whole("runs", runs)
    check_number("runs", n_runs, low=2)
    first = start(log, decide_on=decide_on, horizon=n_users, rng=seed)
    rows = take_in(log, StartOptions.most_rows, 0).whole
    if len(rows) < _FEWEST_ROWS:
        raise LogError(f"a log of {len(rows)} rows is too small to draw worlds from: {_FEWEST_ROWS} are the fewest")
    if np.isfinite(first.audit.summary.means).sum() < 2:
        raise LogError("a rehearsal needs a log of at least two actions that were shown")
    decided = None if decide_on is None else log.encoding.columns_of(decide_on)
    evidence = gather_evidence(rows, first.audit.summary, _that_vary(rows, decided))
    made = make_policies(log, evidence, decide_on, n_users, first, seed)
    stage = Stage(evidence, made, per_day, n_days, n_runs, seed, n_jobs, progress)
    forecasts = tuple(each for scenario in SCENARIOS for each in stage.play(scenario))
    played = _Played(per_day, n_days, n_runs, seed, forecasts)
    return _report(played, first, rows, evidence)


class _Played(NamedTuple):
    """What was played, and what came of it."""

    users_per_day: int
    days: int
    runs: int
    seed: int
    forecasts: tuple[Outlook, ...]


def _report(played: _Played, first: Started, rows: Log, evidence: Evidence) -> Rehearsal:
    """The rehearsal with its advice; `first` is the start with the audit's trust."""
    n_users = played.users_per_day * played.days
    columns = np.empty(0, dtype=np.int64) if evidence.decided is None else evidence.decided
    trust, variance = float(first.trust.weights.mean()), float(evidence.variances.mean())
    return Rehearsal(
        **played._asdict(),
        n_rows=first.audit.facts.n_rows,
        action_names=tuple(rows.action_names),
        decide_on=tuple(dict.fromkeys(rows.encoding.owners[j] for j in columns.tolist())),
        verdict=first.audit.verdict.decision,
        trust=first.trust.weights,
        means=evidence.means,
        errors=evidence.errors,
        test_users=find_test_users(evidence, n_users),
        scenarios={each.name: each.words for each in SCENARIOS},
        advice=advise(played.forecasts, SCENARIOS, trust, variance, n_users),
        limits=_name_limits(first, rows, played.runs),
        outcome=_outcome_of(first),
    )


def _outcome_of(first: Started) -> str | None:
    identity = identity_of(first)
    return None if identity is None else identity.outcome


def _that_vary(rows: Log, decided: Integers | None) -> Integers | None:
    """The columns to decide on, if any of them varies: otherwise one action is best for all."""
    if decided is None or not np.ptp(rows.contexts[:, decided], axis=0).any():
        return None
    return decided


def _name_limits(first: Started, rows: Log, runs: int) -> tuple[str, ...]:
    """What no rehearsal from a log can know."""
    limits = [
        "The worlds come from the log. What it never saw (a new kind of user, a new season, a rival's price) is in "
        "none of them but as the shifts and mistakes that are named.",
        "How likely each way of being wrong is cannot be read off a log: the advice takes the audit's trust for it.",
        "Users do not change while the policy runs, and one user's outcome does not depend on another's action.",
        f"The best action is known when users' own means say so with {LEVEL:.0%} at the end of a day; looking every "
        "day makes that a little too easy.",
    ]
    if runs < RUNS:
        limits.append(
            f"There are {runs} worlds in a scenario, not {RUNS}: means are less sure, and so are the ends of what "
            "nine worlds of ten lie between."
        )
    if first.audit.verdict.severity != "fine":
        limits.insert(0, f"The audit says of this log: {first.audit.verdict.decision}. {first.audit.verdict.summary}")
    if rows.units is not None:
        limits.append("Rows of one unit go together in the log's errors; users of the rehearsal come one by one.")
    return tuple(limits)
