"""The life of an experiment: when it starts, how its share of the users grows, when it ends.

    [experiments.ads.life]
    start = 2026-12-01T00:00:00Z
    ramp_up = { from = 0.01, to = 1.0, days = 7 }      # or ramp = [[2026-12-01T00:00:00Z, 0.01], ...]
    end = 2027-03-01T00:00:00Z

Outside its life everybody is shown the safe action. Within it an action is drawn from share * p + (1 - share) * safe,
with p what is drawn from otherwise: one vector, which is logged. The time is the decision's own, so a fold gives the
same again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, TypedDict

from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.serve.tables import Table, check_keys, check_table, is_list

_MICRO = 1_000_000
_DAY = 86_400 * _MICRO
_KNOWN = ("start", "end", "ramp", "ramp_up")


class RampStep(NamedTuple):
    """From this time on, this share of the users."""

    time: int  # microseconds since 1970
    share: float


class LifeState(TypedDict):
    """Where in its life an experiment is."""

    stage: str  # "before", "ramping", "running" or "over"
    share: float  # of the users whom the experiment decides for
    until: float | None  # seconds since 1970: when that changes; None: it does not
    text: str


@dataclass(frozen=True)
class ExperimentLife:
    """Steps in the order of time, the first one the start; from `end` on there is nothing."""

    steps: tuple[RampStep, ...]  # empty: it has started, whenever that was
    end: int | None = None

    def share_at(self, time: int) -> float:
        """The share of the users whom the experiment decides for."""
        if self.end is not None and time >= self.end:
            return 0.0
        at = bisect_right(self.steps, time, key=lambda step: step.time)
        if at == 0:
            return 0.0 if self.steps else 1.0
        return self.steps[at - 1].share

    def keeps(self, drawn: int, now: int, *, is_safe: bool) -> bool:
        """Whether a unit keeps what was drawn for it then: not from outside its life, nor outside it; and who was
        shown the safe action gets another chance when the share has grown.
        """
        before, present = self.share_at(drawn), self.share_at(now)
        return before > 0.0 and present > 0.0 and not (is_safe and before < present)

    def share_for(self, drawn: int | None, now: int, *, is_safe: bool) -> float:
        """The share by which a unit is drawn for that was drawn for then (None: never), with the safe action or not.

        Of the units that the share left out, as many are taken in as make it whole: (present - before) / (1 -
        before).
        """
        present = self.share_at(now)
        before = 0.0 if drawn is None or not is_safe else self.share_at(drawn)
        return (present - before) / (1.0 - before) if before < present else present

    def as_dict(self) -> dict[str, object]:
        """As it is recorded."""
        told: dict[str, object] = {}
        if self.steps:
            told["ramp"] = [[_say(step.time), step.share] for step in self.steps]
        if self.end is not None:
            told["end"] = _say(self.end)
        return told

    def describe(self, now: int, safe: object) -> LifeState:
        """Where it is now, for people."""
        share, stage, until = self.share_at(now), "running", self.end
        coming = next((step for step in self.steps if step.time > now), None)
        if self.end is not None and now >= self.end:
            stage, until, text = "over", None, f"over since {_tell(self.end)}: {safe} for all users"
        elif coming is not None and share == 0.0:
            stage, until = "before", coming.time
            text = f"not started: {safe} for all users until {_tell(until)}, then {_percent(coming.share)} of them"
        elif coming is not None:
            stage, until = "ramping", coming.time
            text = f"ramping up: {_percent(share)} of the users until {_tell(until)}, then {_percent(coming.share)}"
        else:
            ends = "" if self.end is None else f" until {_tell(self.end)}"
            text = f"running for {_percent(share)} of the users{ends}"
        return {"stage": stage, "share": share, "until": None if until is None else until / _MICRO, "text": text}


def read_life(at: str, value: object, safe: object) -> ExperimentLife | None:
    """A life as it is declared, or as it was recorded."""
    if value is None:
        return None
    table = check_table(at, value)
    check_keys(at, table, _KNOWN)
    if safe is None:
        raise OptionError(f"{at} needs safe_action: what is shown to whom the experiment does not decide for?")
    steps = _read_steps(at, table)
    end = None if table.get("end") is None else _read_time(f"{at}.end", table["end"])
    if end is not None and steps and end <= steps[-1].time:
        raise OptionError(f"{at}.end must come after the start and every step, got {_say(end)}")
    if end is None and not steps:
        raise OptionError(f"{at} says nothing: give it a start, a ramp or an end")
    return ExperimentLife(steps, end)


def _read_steps(at: str, table: Table) -> tuple[RampStep, ...]:
    start, ramp, ramp_up = (table.get(name) for name in ("start", "ramp", "ramp_up"))
    if ramp is not None:
        if start is not None or ramp_up is not None:
            raise OptionError(f"{at}.ramp says when it starts and how it grows: leave start and ramp_up out")
        return _read_ramp(f"{at}.ramp", ramp)
    if start is None:
        if ramp_up is not None:
            raise OptionError(f"{at}.ramp_up needs {at}.start: from when on?")
        return ()
    begins = _read_time(f"{at}.start", start)
    return (RampStep(begins, 1.0),) if ramp_up is None else _read_ramp_up(f"{at}.ramp_up", ramp_up, begins)


def _read_ramp(at: str, value: object) -> tuple[RampStep, ...]:
    if not is_list(value) or not value:
        raise OptionError(f"{at} must be a list of [time, share], got {value!r:.80}")
    steps: list[RampStep] = []
    for i, each in enumerate(value):
        if not is_list(each) or len(each) != 2:
            raise OptionError(f"{at}[{i}] must be [time, share], got {each!r:.80}")
        step = RampStep(_read_time(f"{at}[{i}]", each[0]), _read_share(f"{at}[{i}]", each[1]))
        if steps and (step.time <= steps[-1].time or step.share <= steps[-1].share):
            raise OptionError(f"{at}[{i}] must be later than the step before it, and for more users")
        steps.append(step)
    return tuple(steps)


def _read_ramp_up(at: str, value: object, begins: int) -> tuple[RampStep, ...]:
    """A step a day, each as many times the one before it."""
    table: Mapping[str, object] = check_table(at, value)
    check_keys(at, table, ("from", "to", "days"))
    low, high = _read_share(f"{at}.from", table.get("from")), _read_share(f"{at}.to", table.get("to", 1.0))
    days = table.get("days")
    if not isinstance(days, int) or isinstance(days, bool) or not 1 <= days <= 1000:
        raise OptionError(f"{at}.days must be a whole number of 1 to 1000, got {days!r}")
    if high <= low:
        raise OptionError(f"{at}.to must be more than {at}.from, got {high:g} and {low:g}")
    shares = [float(f"{low * (high / low) ** (day / days):.6g}") for day in range(days)]
    return tuple(RampStep(begins + day * _DAY, share) for day, share in enumerate([*shares, high]))


def _read_share(at: str, value: object) -> float:
    share = check_number(at, value, 0.0, 1.0)
    if share == 0.0:
        raise OptionError(f"{at} must be a share above 0, got 0")
    return share


def _read_time(at: str, value: object) -> int:
    """A moment, with its time zone: TOML's own, or text."""
    moment = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise OptionError(f"{at} must be a time with its zone, such as 2026-12-01T00:00:00Z, got {value!r:.80}")
    return round(moment.timestamp()) * _MICRO


def _say(time: int) -> str:
    return datetime.fromtimestamp(time // _MICRO, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _tell(time: int) -> str:
    moment = datetime.fromtimestamp(time // _MICRO, UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
