"""Explanation: why a user gets an action, in words and numbers.

What the log says, what users said since, what follows for this user, and what is still worth finding out. A part of
this that a policy has no notion of is left out, never made up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from headstart.displayed import Display, Displayed, draw_intervals
from headstart.numerals import number, tell_share

_NAMED = 3  # actions that a sentence names, those with the largest chances first
_LITTLE = 1e-3  # of the largest expected outcome: a trial that is worth less teaches next to nothing
_NORMAL = 1.959963984540054


class ActionCase(NamedTuple):
    """What speaks for one action. NaN: not known, or the policy has no such notion."""

    name: str
    chance: float  # that this user gets it
    log_mean: float  # by the log alone
    log_error: float
    trust: float  # the chance, by now, that the log is right about it
    n_users: float  # outcomes of users that were learnt
    users_mean: float
    expected: float  # of this user, by both
    error: float
    worth: float  # of one more play to the users after this one, by what it teaches


@dataclass(frozen=True, repr=False)
class Explanation(Displayed):
    """Why a user gets an action: `policy.explain(user)` gives one.

    In a terminal and in a notebook it says in whole sentences what the log says, what users said since, what is
    expected by both, and what is still worth finding out; `to_frame()` has the numbers, an action a row, and `plot()`
    shows what is expected of each.

    Attributes
    ----------
    action
        The action that is explained: the one that was asked about, or the likeliest.
    cases
        What speaks for each action, in the policy's order.
    user
        What the policy looks at in this user, by name.
    outcome
        What an outcome is called: the log's column, where it has one.
    decides
        The class that decides.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video"] * 50, [0.0, 1.0, 0.0, 0.0] * 25, propensities=[0.5] * 100)
    >>> told = hs.start(log, rng=1).explain()
    >>> told.best.name
    'video'
    >>> [case.name for case in told.cases]
    ['text', 'video']
    """

    action: str
    cases: tuple[ActionCase, ...]
    user: Mapping[str, object]
    outcome: str
    decides: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """The whole of it, a sentence for each part."""
        told = [self._tell_log(), self._tell_users(), self._tell_expected(), self._tell_worth()]
        return tuple(each for each in told if each)

    @property
    def headline(self) -> str:
        """Which action, with what chance."""
        known = ", ".join(f"{name} {_tell_value(value)}" for name, value in self.user.items())
        whom = f" for a user with {known}" if known else ", as for every user"
        return f"{self.action} has a chance of {tell_share(self._of(self.action).chance)}{whom}"

    def _of(self, name: str) -> ActionCase:
        return next(case for case in self.cases if case.name == name)

    def _named(self, is_told: Callable[[ActionCase], bool]) -> list[ActionCase]:
        """The likeliest actions, or those that look best, of which this can be told."""
        told = [case for case in self.cases if is_told(case)]
        return sorted(told, key=lambda case: (-case.chance, -_or_least(case.expected)))[:_NAMED]

    def _tell_log(self) -> str:
        named = self._named(lambda case: math.isfinite(case.log_mean))
        if not named:
            return ""
        means = [f"{number(case.log_mean)} for {case.name} {_give_or_take(case.log_error)}" for case in named]
        text = f"The log says: a mean {self.outcome} of {_list(means)}."
        trusted = [case for case in named if math.isfinite(case.trust)]
        if trusted:
            chances = _list([f"{tell_share(case.trust)} for {case.name}" for case in trusted])
            text += f" The chance that it is right is by now {chances}."
        return text

    def _tell_users(self) -> str:
        named = self._named(lambda case: case.n_users >= 0.5)
        if not named:
            return "No outcome of a user has come yet." if any(case.n_users == 0.0 for case in self.cases) else ""
        parts = [
            f"{case.n_users:,.0f} of {case.name}"
            + (f" with a mean of {number(case.users_mean)}" if math.isfinite(case.users_mean) else "")
            for case in named
        ]
        since = "since" if any(math.isfinite(case.log_mean) for case in self.cases) else "so far"
        return f"Outcomes of users {since}: {_list(parts)}."

    def _tell_expected(self) -> str:
        named = self._named(lambda case: math.isfinite(case.expected))
        if not named:
            return ""
        parts = [f"{number(case.expected)} for {case.name} {_give_or_take(case.error)}" for case in named]
        whose = "of this user" if self.user else "of a user"
        text = f"By all that is known, the {self.outcome} {whose} is expected to be {_list(parts)}"
        best = self.best
        if best is None or len(named) < 2:
            return f"{text}."
        is_alone = all(case.expected < best.expected for case in named if case is not best)
        return f"{text}: {best.name} is the best so far." if is_alone else f"{text}: nothing tells them apart."

    @property
    def best(self) -> ActionCase | None:
        """The case of the action that is expected to bring most; None: nothing is expected of any."""
        known = [case for case in self.cases if math.isfinite(case.expected) and math.isfinite(case.worth)]
        known = known or [case for case in self.cases if math.isfinite(case.expected)]
        return max(known, key=lambda case: case.expected, default=None)

    @property
    def challenger(self) -> ActionCase | None:
        """The case of the other action that has most to offer, its trial's worth included; None: none is weighed."""
        rivals = [case for case in self.cases if math.isfinite(case.worth) and case is not self.best]
        return max(rivals, key=lambda case: case.expected + case.worth, default=None)

    def _tell_worth(self) -> str:
        best, rival = self.best, self.challenger
        if best is None or rival is None:
            return self._tell_open()
        price = best.expected - rival.expected
        offer = (
            f"one more try of {rival.name} costs {number(price)} in expected {self.outcome}, and what it teaches is "
            f"worth {self._tell_small(rival.worth)} to the users to come"
        )
        if rival.chance > 0.0:
            return f"Still worth finding out: {offer}. That is why {rival.name} is tried."
        if rival.worth > price:
            return f"Trying is not worth it now: {offer}, but to know {best.name} better is worth as much."
        return f"Nothing is worth finding out on this user: {offer}."

    def _tell_small(self, worth: float) -> str:
        """The worth of a trial; where it is next to nothing on the outcome's scale, what it is below."""
        least = _LITTLE * max(abs(case.expected) for case in self.cases if math.isfinite(case.expected))
        return (
            f"next to nothing (less than a thousandth of that {self.outcome})"
            if 0.0 < worth < least
            else number(worth)
        )

    def _tell_open(self) -> str:
        """Of a policy that explores without weighing what a trial is worth."""
        likeliest = max(self.cases, key=lambda case: case.chance)
        if likeliest.chance >= 1.0:
            return f"{self.decides} plays {likeliest.name} at this moment; it does not say what another try is worth."
        others = tell_share(1.0 - likeliest.chance)
        return f"{self.decides} explores by lot: {others} of such users get another action than {likeliest.name}."

    def _tell(self) -> Display:
        cases, best = self.cases, self.best
        columns: dict[str, Sequence[object]] = {
            "action": [case.name for case in cases],
            "chance": [case.chance for case in cases],
            "by the log": [case.log_mean for case in cases],
            "users since": [case.n_users for case in cases],
            "by them": [case.users_mean for case in cases],
            f"{self.outcome} expected": [case.expected for case in cases],
            "standard error": [case.error for case in cases],
            "a try costs": [
                math.nan if best is None or math.isnan(case.worth) else best.expected - case.expected
                for case in cases
            ],
            "and is worth": [case.worth for case in cases],
        }
        kept = {name: values for name, values in columns.items() if not _is_empty(values)}
        return Display(self.headline, self.sentences, kept)

    def _draw(self, axes: Any) -> None:
        shown = [case for case in self.cases if math.isfinite(case.expected)]
        half = [_NORMAL * case.error if math.isfinite(case.error) else 0.0 for case in shown]
        draw_intervals(
            axes,
            [f"{case.name} ({tell_share(case.chance)})" for case in shown],
            [case.expected for case in shown],
            [case.expected - each for case, each in zip(shown, half, strict=True)],
            [case.expected + each for case, each in zip(shown, half, strict=True)],
        )
        places = range(len(shown))[::-1]
        axes.plot([case.log_mean for case in shown], places, "x", color="#D55E00", label="by the log alone")
        axes.set_xlabel(f"{self.outcome} expected, 95 % interval; in brackets the chance of each action")
        axes.legend(frameon=False, loc="best")


def _or_least(value: float) -> float:
    return value if math.isfinite(value) else -math.inf


def _give_or_take(error: float) -> str:
    return f"(give or take {number(error)})" if math.isfinite(error) else ""


def _tell_value(value: object) -> str:
    if value is None:
        return "missing"
    return number(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _list(parts: Sequence[str]) -> str:
    told = [part.strip() for part in parts]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def _is_empty(values: Sequence[object]) -> bool:
    return all(isinstance(value, float) and math.isnan(value) for value in values)
