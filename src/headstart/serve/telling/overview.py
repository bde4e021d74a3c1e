"""An experiment in the words and numbers that a person wants: what the page and `GET /report` show."""

from __future__ import annotations

import math
from typing import TypedDict

from headstart.numerals import tell_chance, tell_number
from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.engine import Engine
from headstart.serve.engine.starting import StartState, headline_of, is_loud, tell_start
from headstart.serve.engine.state import Sight, State
from headstart.serve.errors import StillOpening, StoreUnavailable
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body
from headstart.serve.telling.alarms import find_alarms, find_failures
from headstart.serve.telling.audits import Audited, Audits
from headstart.serve.telling.follower import Follower, Told
from headstart.serve.telling.report import NOTHING, Report, Shown, Worth, as_text

_FEW = 30  # outcomes before anything is said of an action
_PATIENCE = 0.2  # seconds that a page waits for the newest events
_AUDIT_PATIENCE = 2.0  # seconds that it waits for the first audit of a log


class Checks(TypedDict):
    """The numbers that a monitor wants: chi-square of the draws, effective sample sizes."""

    position: int  # the last event that they are of
    chi_square: float
    degrees_of_freedom: int
    p: float
    effective_sizes: list[float]


class LogTold(TypedDict):
    """The log that the experiment began with, and what is to be said of it."""

    rows: int
    source: object
    decision: str | None  # the audit's, as the command tells it
    verdict: str
    reasons: list[str]
    means: list[float | None]
    audit: Body | None  # on record: the verdict and the figures of each action, as `headstart audit --json` has them
    start: StartState | None
    lines: list[str]  # how it starts, as the console tells it
    headline: str  # the verdict and how far the log is used
    is_loud: bool  # whether somebody must look at it


class Overview:
    """Tells one experiment, by the configuration that its fold has at that moment."""

    def __init__(self, engine: Engine, experiment: str, follower: Follower) -> None:
        self._engine, self._experiment, self._follower = engine, experiment, follower
        self._audits = Audits()

    def as_page(self, *, with_audit: bool = True) -> dict[str, object]:
        """The report for a page; of an experiment that was never opened, why."""
        try:
            return self.as_dict(with_audit=with_audit)
        except (StoreUnavailable, StillOpening):
            failures = find_failures(self._engine.healths()[self._experiment], None)
            return {"experiment": self._experiment, "is_open": False, "failures": failures, "alarms": []}

    def as_dict(self, *, with_audit: bool = True) -> dict[str, object]:
        """The report, as far as it is folded."""
        sight = self._engine.look(self._experiment)
        following = self._follower.follow(self._experiment)
        told = following.tell(list(sight.config.actions), sight.state["position"], _PATIENCE)
        return self._tell(sight, told, with_audit=with_audit)

    def checks(self, actions: list[Label]) -> Checks:
        """The numbers that a monitor wants, of what is folded now."""
        told = self._follower.follow(self._experiment).tell(actions, 0, 0.0)
        report = Report(told.sums)
        statistic, freedom, p = report.chi_square()
        return {
            "position": told.position,
            "chi_square": statistic,
            "degrees_of_freedom": freedom,
            "p": p,
            "effective_sizes": report.weighed().sizes.tolist(),
        }

    def _tell(self, sight: Sight, told: Told, *, with_audit: bool) -> dict[str, object]:
        state, config = sight
        report, log = Report(told.sums), self._log(state, config, with_audit=with_audit)
        actions = _tell_actions(report, state, log)
        statistic, freedom, p = report.chi_square()
        policy, holdout = (report.value(is_holdout=which) for which in (False, True))
        if not config.holdout and not holdout["n"]:
            holdout["text"] = "none configured"
        health = self._engine.healths()[self._experiment]
        return {
            "experiment": self._experiment,
            "is_open": True,
            "version": state["version"],
            "as_of": _as_of(told.position, state["position"]),
            "is_frozen": state["is_frozen"],
            "decisions": state["decisions"],
            "outcomes": state["outcomes"],
            "waiting": max(0, state["waiting"]),
            "sentence": _sentence(actions, policy, holdout),
            "actions": actions,
            "value": policy,
            "holdout": holdout,
            "history": report.history(),
            "checks": {
                "chi_square": statistic,
                "degrees_of_freedom": freedom,
                "p": p,
                "chi_square_text": f"p = {tell_chance(p, 3)}" if freedom else "nothing to test",
                "effective_sizes": report.weighed().sizes.tolist(),
                "dangling": state["dangling"],
                "late": state["late"],
                "duplicates": state["duplicates"],
                "conflicting": state["conflicting"],
            },
            "conflicts": _conflicts(state, told),
            "deeds": [deed.as_dict() for deed in reversed(told.deeds)],
            "failures": find_failures(health, state["behind"]),
            "alarms": [{"message": text} for text in find_alarms(state, p, told.last_deeds)],
            "log": log,
        }

    def _log(self, state: State, config: ExperimentConfig, *, with_audit: bool) -> LogTold | None:
        log = state["log"]
        if log is None:
            return None
        recorded, start = log.get("audit"), state["start"]
        told: LogTold = {
            "rows": log["rows"],
            "source": "in memory" if start is None else start["source"],
            "decision": None,
            "verdict": "",
            "reasons": [],
            "means": log["means"],
            "audit": recorded,
            "start": start,
            "lines": [] if start is None else tell_start(start),
            "headline": "" if start is None else headline_of(start),
            "is_loud": start is not None and is_loud(start),
        }
        if recorded is not None:
            found = Audited.of(recorded)
        elif with_audit:
            key = log["hash"], config.actions, tuple(config.contexts)
            found = self._audits.find(key, self._engine.past(self._experiment).read_log, _AUDIT_PATIENCE)
        else:
            return told
        told["decision"], told["verdict"], told["reasons"] = found.decision, found.verdict, found.reasons
        if found.means:
            told["means"] = [found.means.get(str(label)) for label in config.actions]
        return told


def _tell_actions(report: Report, state: State, log: LogTold | None) -> list[Shown]:
    actions = report.actions()
    for a, (told, known) in enumerate(zip(actions, state["actions"], strict=True)):
        chance, log_mean = known["chance"], None if log is None else log["means"][a]
        told["virtual_plays"] = known["virtual_plays"]
        told["chance"] = chance
        told["chance_text"] = "by context" if chance is None else f"{chance:.1%}"
        told["log_mean"] = log_mean
        told["log_text"] = NOTHING if log_mean is None else as_text(log_mean)
    return actions


def _as_of(position: int, newest: int) -> dict[str, object]:
    """How far the report is behind the events."""
    is_behind = position < newest
    text = f"Means, intervals and charts are as of event {position:,} of {newest:,}." if is_behind else ""
    return {"position": position, "newest": newest, "text": text}


def _conflicts(state: State, told: Told) -> list[str]:
    conflicts = [f"{each['action']}: {each['reason']}" for each in state["conflicts"]]
    withdrawn = told.last_deeds.get(kinds.LOG_WITHDRAWN)
    if withdrawn is not None:
        by, why = withdrawn.who_and_why
        conflicts.append(f"The log was withdrawn{by}: {why}")
    return conflicts


def _sentence(actions: list[Shown], policy: Worth, holdout: Worth) -> str:
    known = sorted((a for a in actions if a["online_plays"] >= _FEW), key=lambda a: -(a["mean"] or 0.0))
    if not known:
        total = sum(a["online_plays"] for a in actions)
        return f"Too early to tell: {total:,} outcome{'' if total == 1 else 's'} so far."
    best = known[0]
    text = f"{best['name']} is ahead with a mean outcome of {best['mean_text']} ({best['interval_text']})"
    if len(known) > 1:
        second = known[1]
        is_clear = best["low"] is not None and second["high"] is not None and best["low"] > second["high"]
        text += f"; {second['name']} has {second['mean_text']}" + ("" if is_clear else ", not yet a clear difference")
    text += "."
    if holdout["mean"] is not None and policy["mean"] is not None and holdout["n"] >= _FEW:
        gain = policy["mean"] - holdout["mean"]
        error = math.hypot(policy["standard_error"] or 0.0, holdout["standard_error"] or 0.0)
        text += f" Against the hold-out, users gain {tell_number(gain)} ± {tell_number(1.96 * error, 2)} each."
    return text
