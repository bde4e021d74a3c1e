"""The one call: a log becomes a policy, by stated rules, with its reasons in words.

- The log is audited first (`audit.examine`), and the verdict binds. "Do not use it": users start without it, but for
  the scale of its outcomes. "Use it with a cap": no action has more virtual plays than the audit allows. `trust=` and
  `cap=` overrule either.
- Means and errors are doubly robust, for the population if one is given. Without contexts that is inverse propensity
  weighting with large weights cut, without propensities too the plain average.
- Trust is what the audit's reasons leave of it (`audit.trust`).
- One action for all: `start.for_all`. By context: `start.by_context`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.errors import OptionError
from headstart.judgement.audit.audit import Audit, examine
from headstart.judgement.audit.findings import Settings
from headstart.judgement.audit.trust import Trust, suggest_trust
from headstart.judgement.audit.verdict import CAP, STOP, find_caps
from headstart.judgement.start.by_context import choose_by_context
from headstart.judgement.start.for_all import choose_for_all
from headstart.judgement.start.options import StartOptions
from headstart.judgement.start.started import Origin, Started
from headstart.logs.any_log import AnyLog
from headstart.priors.logged import check_trust
from headstart.randomness import RNG, as_generator

_UNUSED = "THE LOG IS NOT USED: the audit says so, and why stands below; trust= would overrule it"
_DESPITE = "the audit says: do not use it. It is used all the same"


def start(
    log: AnyLog,
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
        (50,000) of them.
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
        it, which is nothing if it says "do not use it".
    cap
        The most virtual plays of an action: a number, or one per action; `math.inf`: as many as the log is worth.
        None: what the audit allows.
    options
        Every chosen number; docs/reference.md says what each does.
    rng
        Of the policy's draws.

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
    generator = as_generator(rng)
    found, _, intake = examine(log, _settings_of(users, options), population)
    rows = intake.whole
    believed = suggest_trust(found, options.prior) if trust is None else _as_trust(trust, rows.n_actions)
    caps, told = _settle_caps(cap, found, is_trusted=bool(believed.weights.any()))
    summary = found.summary.capped(caps)
    reasons = [*intake.notes, *_name_estimate(found, population), *told, *believed.reasons]
    choice = None
    if decide_on is not None:
        kept = _share_kept(summary.effective_sizes, found.summary.effective_sizes)
        levels = found.summary if population is None else None  # of users such as the log's, as its rows are
        choice = choose_by_context(rows, decide_on, believed.weights, kept, users, options, generator, levels)
        if choice is None:
            reasons.append("none of the columns to decide on varies")
    if choice is None:
        scaled = summary if believed.weights.any() else found.summary  # what is not believed still has a scale
        is_early = not intake.left_out  # every column was there before the action
        choice = choose_for_all(rows, scaled, believed.weights, users, options, generator, is_early=is_early)
    reasons += [choice.reason, *_name_unknown(found)]
    return Started(choice, Origin(log, population, users), found, summary, believed, tuple(reasons))


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


def _settle_caps(cap: ArrayLike | None, found: Audit, *, is_trusted: bool) -> tuple[Floats, list[str]]:
    """The most virtual plays of each action, (K,), and a word on them."""
    verdict, n = found.verdict, len(found.facts.action_names)
    if cap is not None:
        try:
            caps = np.broadcast_to(np.asarray(cap, dtype=np.float64), (n,)).copy()
        except (TypeError, ValueError):
            caps = np.full(n, np.nan)
        if not (caps >= 0.0).all():
            raise OptionError(f"cap must be a number of plays, at least 0, or {n} of them, got {cap!r}")
        said = [
            f"no action has more virtual plays than was said: {', '.join(f'{each:g}' for each in np.unique(caps))}"
        ]
        if verdict.decision != STOP:
            return caps, said
        return (caps, [*said, _DESPITE]) if is_trusted else (np.zeros(n), [_UNUSED])
    if verdict.decision == STOP and is_trusted:  # somebody knows better
        return np.array(find_caps(found), dtype=np.float64), [_DESPITE]
    caps = np.array(verdict.caps, dtype=np.float64)
    if verdict.decision == STOP:
        return caps, [_UNUSED]
    if verdict.decision == CAP:
        why = next(reason.text for reason in verdict.reasons if reason.severity == "cap")
        return caps, [f"the log has {int(caps.sum()):,} virtual plays at most: {why}"]
    return caps, []


def _share_kept(capped: Floats, sizes: Floats) -> Floats:
    """What the caps leave of each action's worth, (K,), in (0, 1]."""
    return np.maximum(np.divide(capped, sizes, out=np.ones_like(sizes), where=sizes > 0.0), 1e-9)


def _name_estimate(found: Audit, population: object) -> list[str]:
    basis = found.facts.basis
    if found.facts.context_names:
        users = "the users to come" if population is not None else "users such as the log's"
        return [f"means are doubly robust (regression corrected by weighted residuals), for {users}"]
    if basis == "logged":
        return ["means are weighted by 1 / propensity, large weights cut: there are no contexts to do better with"]
    return ["means are plain averages: there is nothing to adjust by"]


def _as_trust(trust: ArrayLike | Trust, n_actions: int) -> Trust:
    """The trust that was given, as one for each action."""
    if isinstance(trust, Trust):
        if trust.weights.shape != (n_actions,):
            raise OptionError(f"trust must be for {n_actions} actions, got {trust.weights.size}")
        return trust
    weights = check_trust(trust, n_actions)
    return Trust(weights, (f"trust was given: {np.unique(weights).tolist()}",))


def _name_unknown(found: Audit) -> list[str]:
    """A word on the actions that the log never shows, if there are any."""
    unknown = [str(found.facts.action_names[a]) for a in np.flatnonzero(np.isnan(found.summary.means))]
    more = " and others" if len(unknown) > 5 else ""
    return [f"the log never shows {', '.join(unknown[:5])}{more}: users will tell"] if unknown else []
