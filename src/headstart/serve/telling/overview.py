"""An experiment in the words and numbers that a person wants: what the page and `GET /report` show."""

from __future__ import annotations

import math
import threading
from typing import TypedDict

import numpy as np

from headstart.errors import HeadstartError
from headstart.serve.engine.engine import Engine
from headstart.serve.engine.sources import read_source
from headstart.serve.engine.state import State
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Event
from headstart.serve.telling.report import NOTHING, Report, Shown, Worth, as_text, finite_or_none
from headstart.serve.telling.values import tell_values

_ALARM_LEVEL = 1e-4  # chance of a false alarm each time somebody looks
_FEW = 30  # outcomes before anything is said of an action


class Checks(TypedDict):
    """The numbers that a monitor wants: chi-square of the draws, effective sample sizes."""

    chi_square: float
    degrees_of_freedom: int
    p: float
    effective_sizes: list[float]


class LogTold(TypedDict):
    """The log that the experiment began with, and what is to be said of it."""

    rows: int
    source: object
    verdict: str
    reasons: list[str]
    means: list[float | None]


class Overview:
    """Follows one experiment's events; every look brings it up to date."""

    def __init__(self, engine: Engine, experiment: str) -> None:
        self._engine, self._experiment = engine, experiment
        config = engine.config.experiments[experiment]
        self._config = config
        self._index = {label: a for a, label in enumerate(config.actions)}
        self._report = Report(config.actions)
        self._position = self._rewritten = 0
        self._audits: dict[str, LogTold] = {}
        self._lock = threading.Lock()

    def as_dict(self, *, with_audit: bool = True) -> dict[str, object]:
        """The report, up to date."""
        with self._lock:
            self._follow()
            state = self._engine.state(self._experiment)
            return self._tell(state, with_audit=with_audit)

    def checks(self) -> Checks:
        """The numbers that a monitor wants."""
        with self._lock:
            self._follow()
            statistic, freedom, p = self._report.chi_square()
            sizes = self._report.weighed().sizes.tolist()
        return {"chi_square": statistic, "degrees_of_freedom": freedom, "p": p, "effective_sizes": sizes}

    def _follow(self) -> None:
        rewritten = self._engine.rewritten(self._experiment)
        if rewritten != self._rewritten:  # what was added up is worth something else now
            self._report, self._position, self._rewritten = Report(self._config.actions), 0, rewritten
        for seen in self._engine.history(self._experiment, self._position):
            action = self._index.get(seen.action)
            if action is None or len(seen.probabilities) != len(self._index):
                continue  # from before the actions were changed
            if seen.outcome is None:
                self._report.add_decision(seen.time, action, np.asarray(seen.probabilities))
            else:
                self._report.add_outcome(seen.time, action, seen.propensity, seen.outcome, is_holdout=seen.is_holdout)
            self._position = max(self._position, seen.sequence)

    def _tell(self, state: State, *, with_audit: bool) -> dict[str, object]:
        actions = self._report.actions()
        for told, known in zip(actions, state["actions"], strict=True):
            chance = known["chance"]
            told["virtual_plays"] = known["virtual_plays"]
            told["chance"] = chance
            told["chance_text"] = "by context" if chance is None else f"{chance:.1%}"
        log = self._log(state, with_audit=with_audit)
        for a, told in enumerate(actions):
            told["log_mean"] = None if log is None else log["means"][a]
            told["log_text"] = NOTHING if told["log_mean"] is None else as_text(told["log_mean"])
        statistic, freedom, p = self._report.chi_square()
        policy, holdout = (self._report.value(is_holdout=which) for which in (False, True))
        if not self._config.holdout and not holdout["n"]:
            holdout["text"] = "none configured"
        conflicts = self._conflicts()
        return {
            "experiment": self._experiment,
            "version": state["version"],
            "is_frozen": state["is_frozen"],
            "decisions": state["decisions"],
            "outcomes": state["outcomes"],
            "waiting": max(0, state["waiting"]),
            "sentence": _sentence(actions, policy, holdout),
            "actions": actions,
            "value": policy,
            "holdout": holdout,
            "history": self._report.history(),
            "checks": {
                "chi_square": statistic,
                "degrees_of_freedom": freedom,
                "p": p,
                "chi_square_text": f"p = {p:.3g}" if freedom else "nothing to test",
                "effective_sizes": self._report.weighed().sizes.tolist(),
                "dangling": state["dangling"],
                "late": state["late"],
                "duplicates": state["duplicates"],
                "conflicting": state["conflicting"],
            },
            "conflicts": conflicts,
            "alarms": _alarms(state, p) + self._frozen(state),
            "log": log,
        }

    def _conflicts(self) -> list[str]:
        withdrawn = self._engine.last_event(self._experiment, kinds.LOG_WITHDRAWN)
        if withdrawn is None:
            return []
        return [f"The log was withdrawn{_who(withdrawn)}: {withdrawn.body.get('reason') or 'no reason was given'}"]

    def _frozen(self, state: State) -> list[dict[str, str]]:
        frozen = self._engine.last_event(self._experiment, kinds.FROZEN) if state["is_frozen"] else None
        if frozen is None:
            return []
        why = frozen.body.get("reason") or "no reason was given"
        told = f"Learning was frozen{_who(frozen)} ({why}): outcomes are kept and learnt when it is unfrozen."
        return [{"message": told}]

    def _log(self, state: State, *, with_audit: bool) -> LogTold | None:
        log = state["log"]
        if log is None:
            return None
        source = self._config.log.get("path") if isinstance(self._config.log, dict) else "in memory"
        told: LogTold = {"rows": log["rows"], "source": source, "verdict": "", "reasons": [], "means": log["means"]}
        if not with_audit:
            return told
        if log["hash"] not in self._audits:
            self._audits[log["hash"]] = self._audit(told)
        return self._audits[log["hash"]]

    def _audit(self, told: LogTold) -> LogTold:
        """The verdict on the log, and the means that weighting finds in it instead of the raw ones."""
        from headstart.judgement.audit.audit import audit

        try:
            source = read_source(self._config)
            assert source is not None
            found = audit(source.log)
        except HeadstartError as error:
            return {**told, "verdict": "The log could not be audited", "reasons": [str(error)]}
        verdict = found.verdict
        means = [finite_or_none(action.mean) for action in found.actions.actions]
        reasons = [f"{reason.text}: {reason.advice}" for reason in verdict.reasons]
        return {**told, "verdict": verdict.summary, "reasons": reasons, "means": means}


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
        text += f" Against the hold-out, users gain {gain:.3g} ± {1.96 * error:.2g} each."
    return text


def _alarms(state: State, p: float) -> list[dict[str, str]]:
    alarms = []
    if p < _ALARM_LEVEL:
        alarms.append({"message": f"The actions drawn do not fit the logged probabilities (p = {p:.2g})."})
    if state["dangling"] > max(10, 0.01 * state["outcomes"]):
        alarms.append({"message": f"{state['dangling']:,} outcomes came for decisions that nobody made here."})
    if state["late"] > max(10, 0.1 * state["outcomes"]):
        alarms.append({"message": f"{state['late']:,} outcomes came after their window: is it too short?"})
    if state["decisions"] >= 1000 and state["outcomes"] == 0:
        alarms.append({"message": f"{state['decisions']:,} decisions and not one outcome."})
    if state["not_learnable"]:
        alarms.append({"message": f"{state['not_learnable']:,} outcomes could not be learnt by the present policy."})
    alarms += [{"message": text} for text in tell_values(state)]
    return alarms


def _who(event: Event) -> str:
    """Who decided it and from where, if that was recorded."""
    by, address = event.body.get("by"), event.body.get("address")
    return f" by {by}" + (f" ({address})" if address else "") if by else ""
