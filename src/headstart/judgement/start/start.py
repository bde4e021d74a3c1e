"""The one call: a log becomes a policy, by stated rules, with its reasons in words.

- The log is audited first, and the verdict binds (`audit.trust`).
- Means and errors are doubly robust, for the population if one is given. Without contexts that is inverse propensity
  weighting with large weights cut, without propensities too the plain average.
- Trust is what the audit's reasons leave of it (`audit.trust`).
- One action for all: `start.for_all`. By context: `start.by_context`. Several logs: `start.several`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from headstart.errors import OptionError
from headstart.judgement.audit.audit import examine
from headstart.judgement.audit.findings import Settings
from headstart.judgement.audit.trust import BelievedLog, Trust, believe, name_unknown
from headstart.judgement.start.by_context import NOTHING_VARIES, choose_by_context
from headstart.judgement.start.for_all import choose_for_all
from headstart.judgement.start.options import StartOptions
from headstart.judgement.start.several import start_several
from headstart.judgement.start.started import Origin, Started
from headstart.judgement.start.together import read_sources
from headstart.logs.any_log import AnyLog
from headstart.randomness import RNG, as_generator


def start(
    log: AnyLog | Sequence[AnyLog],
    *,
    decide_on: Sequence[str | int] | None = None,
    population: object = None,
    horizon: int | None = None,
    trust: ArrayLike | Trust | None = None,
    cap: ArrayLike | None = None,
    options: StartOptions = StartOptions(),
    rng: RNG = None,
) -> Started:
    """A policy that starts from this log, ready to `play` and `update`; its `explanation` says what was done and why.

    Parameters
    ----------
    log
        A `Log`, or a `LogTable` of any size: means are of all rows; what needs rows looks at `options.most_rows`
        (50,000) of them. Or a list of logs, `start([log_2024, log_2025, ab_test])`: each is audited and believed by
        itself, as far as it and its neighbours agree and users bear it out; actions and columns are matched by name,
        and may be missing in some.
    decide_on
        The context columns, by name or index, that decisions may look at. None: one best action for all users
        (context-free); the contexts then serve to undo how the log chose its actions.
    population
        Contexts of the users to come (a matrix, a data frame or a Log), if they may differ from the log's.
    horizon
        Users to come, as far as is known: it bears on what is worth exploring, and a factor of ten either way costs
        little. None: as many as have come, and at least 300.
    trust
        How far to believe the log: a chance in [0, 1], one per action, or a `Trust`. None: what the audit leaves of
        it, which is nothing if it says "do not use it". With several logs: one for all of them, or a list of one for
        each.
    cap
        The most virtual plays of an action: a number, or one per action; `math.inf`: as many as the log is worth.
        None: what the audit allows. With several logs: as `trust`.
    options
        Every chosen number; docs/reference.md says what each does.
    rng
        A numpy Generator or a seed, for the policy's draws; None draws a new one.

    Returns
    -------
    Started
        A policy: `play`, `update`, `probabilities`, `decide`, `save`; `explanation` says what was done and why.

    Raises
    ------
    OptionError
        If the log is no log, a setting is outside its range, or `decide_on` names a column that is not there.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> ads = rng.choice(["text", "video"], 400)
    >>> clicks = (rng.random(400) < np.where(ads == "video", 0.3, 0.1)).astype(float)
    >>> log = hs.Log(ads, clicks, {"age": rng.uniform(20, 60, 400)}, np.full(400, 0.5))
    >>> policy = hs.start(log, horizon=10_000, rng=1)
    >>> policy.audit.verdict.decision
    'use it'
    >>> policy.summary.means.round(2)
    array([0.1 , 0.32])
    >>> policy.probabilities({"age": 34.0})
    {'text': 0.5, 'video': 0.5}
    >>> ad = policy.play({"age": 34.0})
    >>> policy.update({"age": 34.0}, ad, outcome=1.0)
    """
    users = _check_users(horizon, options)
    generator, settings = as_generator(rng), _settings_of(users, options)
    if isinstance(log, list | tuple):
        if len(log) != 1:
            sources = read_sources(log, settings, population, trust, cap, options)
            return start_several(sources, decide_on, population, users, options, generator)
        log = log[0]
    alone = cast("AnyLog", log)  # what is no log, the audit says
    source = believe(
        examine(alone, settings, population), trust, cap, options.prior, has_population=population is not None
    )
    return _start_from(source, Origin(alone, population, users), decide_on, options, generator)


def _start_from(
    source: BelievedLog,
    origin: Origin,
    decide_on: Sequence[str | int] | None,
    options: StartOptions,
    rng: np.random.Generator,
) -> Started:
    """The policy of one log."""
    rows, believed, reasons = source.intake.whole, source.trust.weights, list(source.reasons)
    choice, users = None, origin.horizon
    if decide_on is not None:
        levels = source.audit.summary if origin.population is None else None  # of users such as the log's
        choice = choose_by_context(rows, decide_on, believed, source.kept, users, options, rng, levels)
        if choice is None:
            reasons.append(NOTHING_VARIES)
    if choice is None:
        is_early = not source.intake.left_out  # every column was there before the action
        choice = choose_for_all(rows, source.scaled, believed, users, options, rng, is_early=is_early)
    reasons += [choice.reason, *name_unknown(source.audit.facts.action_names, source.audit.summary)]
    return Started(choice, origin, source.audit, source.summary, source.trust, tuple(reasons))


def _check_users(horizon: object, options: object) -> int | None:
    """The number of users to come, if it is known, at the door of `start`."""
    if not isinstance(options, StartOptions):
        raise OptionError(f"options must be StartOptions(...), got {options!r}")
    if horizon is None:
        return None
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        raise OptionError(f"horizon must be a whole number of at least 1, or None, got {horizon!r}")
    return int(horizon)


def _settings_of(users: int | None, options: StartOptions) -> Settings:
    """How the log is audited: the value of it is to these users, where they are known."""
    settings = Settings(n_sample=options.most_rows)
    return settings if users is None else replace(settings, horizon=users)
