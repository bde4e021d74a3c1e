"""An experiment in the words and numbers that a person wants: what the page and `GET /report` show."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from headstart.estimates.outliers import Range
from headstart.numerals import tell_chance
from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.engine import Engine
from headstart.serve.engine.starting import StartState, headline_of, is_loud, tell_start
from headstart.serve.engine.state import NamedSum, Sight, State
from headstart.serve.errors import StillOpening, StoreUnavailable
from headstart.serve.outcomes import NamedOutcome, NamedOutcomes
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body
from headstart.serve.telling.alarms import find_alarms, find_failures
from headstart.serve.telling.audits import Audited, Audits
from headstart.serve.telling.callers import Callers, tell_refused
from headstart.serve.telling.follower import Follower, Told
from headstart.serve.telling.gain import find_gain
from headstart.serve.telling.guardrail_report import find_tripped, tell_guardrails
from headstart.serve.telling.missing import tell_missing
from headstart.serve.telling.next_log import judge_next_log
from headstart.serve.telling.outcomes import Wording, name_outcome, tell_share
from headstart.serve.telling.report import FREE, NamedMean, Report, Shown
from headstart.serve.telling.stopping import judge_stopping
from headstart.serve.telling.story import tell_policy, tell_showing

_PATIENCE = 0.2  # seconds that a page waits for the newest events
_BY_CONTEXT = "by context"
_AUDIT_PATIENCE = 2.0  # seconds that it waits for the first audit of a log


class Checks(TypedDict):
    """The numbers that a monitor wants: chi-square of the draws, effective sample sizes."""

    position: int  # the last event that they are of
    chi_square: float
    degrees_of_freedom: int
    p: float
    mismatch_p: float  # the same question, by a p-value that holds at every look
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

    def __init__(self, engine: Engine, experiment: str, follower: Follower, callers: Callers | None = None) -> None:
        self._engine, self._experiment, self._follower = engine, experiment, follower
        self._callers = callers or Callers()
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
            "mismatch_p": report.mismatch(),
            "effective_sizes": report.weighed().sizes.tolist(),
        }

    def _tell(self, sight: Sight, told: Told, *, with_audit: bool) -> dict[str, object]:
        state, config = sight
        report, log = (
            Report(told.sums, _range_of(state), name_outcome(config)),
            self._log(state, config, with_audit=with_audit),
        )
        actions, names = (
            _tell_actions(report, state, log, config.outcomes),
            [str(label) for label in config.actions],
        )
        policy, holdout = (report.value(is_holdout=which) for which in (False, True))
        if not config.holdout and not holdout["n"]:
            holdout["text"] = "none configured"
        by_user = any(action["chance"] is None for action in actions)
        chances = report.chances() if by_user else np.array([action["chance"] for action in actions])
        guardrails = tell_guardrails(told.watched, config, _range_of(state))
        refused, health = self._callers.of_late(self._experiment), self._engine.healths()[self._experiment]
        alarms = [
            *find_tripped(guardrails),
            *([log["headline"]] if log and log["is_loud"] else []),
            *tell_refused(refused),
            *find_alarms(state, report.mismatch(), told.last_deeds),
            *tell_missing(told.sums.timeline, names, *told.silence),
            *told.drifted,
        ]
        return {
            "experiment": self._experiment,
            "is_open": True,
            "outcome": report.words.name,
            "is_rate": report.words.is_rate,
            "version": state["version"],
            "as_of": _as_of(told.position, state["position"]),
            "is_frozen": state["is_frozen"],
            "life": state["life"],
            "decisions": state["decisions"],
            "outcomes": state["outcomes"],
            "counted": report.n_outcomes,
            "waiting": max(0, state["waiting"]),
            "sentence": tell_showing(actions, state, config, report),
            "guardrails": guardrails,
            "policy": {**state["policy"], "text": tell_policy(state["policy"], actions)},
            "stopping": judge_stopping(report, names, chances),
            "gain": find_gain(report, has_holdout=config.holdout > 0.0),
            "next_log": judge_next_log(report, names, config),
            "actions": actions,
            "value": policy,
            "holdout": holdout,
            "history": report.history(),
            "checks": _tell_checks(report, state),
            "callers": refused,
            "conflicts": _conflicts(state, told),
            "deeds": [deed.as_dict() for deed in reversed(told.deeds)],
            "failures": find_failures(health, state["behind"]),
            "alarms": [{"message": text} for text in alarms],
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


def _tell_actions(report: Report, state: State, log: LogTold | None, outcomes: NamedOutcomes) -> list[Shown]:
    actions, words = report.actions(), report.words
    for a, (told, known) in enumerate(zip(actions, state["actions"], strict=True)):
        chance, believed, trust = known["chance"], known["policy"]["means"], known["policy"]["trust"]
        told["is_retired"], told["virtual_plays"] = known["is_retired"], known["virtual_plays"]
        told["outcomes"] = [
            _tell_named(name, outcome, known["outcomes"].get(name)) for name, outcome in outcomes.named.items()
        ]
        told["chance"] = chance
        told["chance_text"] = _BY_CONTEXT if chance is None else tell_share(chance, 1)
        if known["is_retired"]:
            told["chance_text"] = "retired"
        told["believed"] = None if state["policy"]["has_context"] else believed  # else it depends on the user
        told["believed_text"] = _BY_CONTEXT if state["policy"]["has_context"] else words.tell(believed)
        told["trust"], told["trust_text"] = trust, tell_share(trust)
        told["log_mean"] = None if log is None else log["means"][a]
        told["log_text"] = words.tell(told["log_mean"])
    return actions


def _tell_checks(report: Report, state: State) -> dict[str, object]:
    statistic, freedom, p = report.chi_square()
    return {
        "chi_square": statistic,
        "degrees_of_freedom": freedom,
        "p": p,
        "mismatch_p": report.mismatch(),
        "chi_square_text": f"p = {tell_chance(p, 3)}" if freedom else "nothing to test",
        "effective_sizes": report.weighed().sizes.tolist(),
        "dangling": state["dangling"],
        "late": state["late"],
        "duplicates": state["duplicates"],
        "conflicting": state["conflicting"],
    }


def _tell_named(name: str, outcome: NamedOutcome, known: NamedSum | None) -> NamedMean:
    mean, n = (None, 0) if known is None else (known["sum"] / known["n"], known["n"])
    return {"name": name, "n": n, "mean": mean, "text": Wording(name, outcome.range == (0.0, 1.0)).tell(mean)}


def _range_of(state: State) -> Range:
    """The outcomes' range in force."""
    bound = state["bounds"]["outcome"]
    return FREE if bound is None else (bound["low"], bound["high"])


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
