"""Rehearsal: what was found, in days and in the outcome's own units."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.arrays import Floats
from headstart.displayed import Display, Displayed
from headstart.errors import OptionError
from headstart.judgement.audit.plain import as_plain
from headstart.judgement.rehearsal.policies import AB_TEST, TODAY
from headstart.judgement.rehearsal.worlds import RIGHT
from headstart.numerals import more

_LINES = ("-", "--", "-.", ":")  # of a figure's scenarios, beside their colours


@dataclass(frozen=True)
class OverWorlds:
    """A number over a scenario's worlds: its mean, and what nine worlds of ten lie between."""

    mean: float
    low: float  # the 5 % point
    high: float  # the 95 % point

    @classmethod
    def of(cls, values: Floats) -> OverWorlds:
        """Of one value a world; infinite ones may be among them."""
        low, high = np.quantile(values, [0.05, 0.95], method="inverted_cdf")
        return cls(float(values.mean()), float(low), float(high))


@dataclass(frozen=True)
class DayKnown:
    """When the users' own outcomes tell the best action with 95 % (`rehearsal.witness`), in days."""

    low: float  # the 5 % point over worlds; infinite: not in this time
    median: float
    high: float  # the 95 % point
    share: float  # of worlds in which it is known at all
    right: float  # of those, in which it is the best action; NaN if there are none

    @classmethod
    def of(cls, days: Floats, is_right: Floats) -> DayKnown:
        """Of each world's first day, infinite where there is none, and whether the action then known is the best."""
        low, median, high = np.quantile(days, [0.05, 0.5, 0.95], method="inverted_cdf")
        known = np.isfinite(days)
        right = float(is_right[known].mean()) if known.any() else math.nan
        return cls(float(low), float(median), float(high), float(known.mean()), right)


@dataclass(frozen=True, eq=False)
class Outlook:
    """One policy in one scenario. Sums of the outcome are over all users of the rehearsal."""

    policy: str
    scenario: str
    regret: OverWorlds  # what is lost against the best action from the first user on
    over_ab: OverWorlds  # what is earned more than by the A/B test
    over_today: OverWorlds  # ... and than by today's policy
    known: DayKnown | None  # None: a policy that learns nothing
    regret_by_day: Floats  # (days,) the mean so far


@dataclass(frozen=True)
class Advice:
    """How to switch it on, and why."""

    trust: float | None  # None: what the audit leaves of it
    floor: float
    hold_out: float  # the share of users who stay with today's policy
    policy: str  # its name among the forecasts
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Rehearsal(Displayed):
    """What would happen if a log's policy were switched on, as far as the log itself can tell.

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
    >>> found.advice.policy in found.policies
    True
    """

    n_rows: int
    action_names: tuple[Hashable, ...]
    users_per_day: int
    days: int
    runs: int
    seed: int
    decide_on: tuple[str, ...]  # columns; empty: one action for all
    verdict: str  # the audit's
    trust: Floats  # (K,) what the audit leaves of it
    means: Floats  # (K,) what the log says of the actions
    errors: Floats  # (K,)
    test_users: int  # of the A/B test
    scenarios: dict[str, str]  # name -> words
    forecasts: tuple[Outlook, ...]
    advice: Advice
    limits: tuple[str, ...]  # what it cannot know
    outcome: str | None = None  # the log's column of outcomes; None: nobody said what it is called

    @property
    def unit(self) -> str:
        """What is earned, in words."""
        return "the outcome" if self.outcome is None else self.outcome

    @property
    def n_users(self) -> int:
        """Users of the whole rehearsal."""
        return self.users_per_day * self.days

    @property
    def policies(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(dict.fromkeys(each.policy for each in self.forecasts))

    def forecast(self, policy: str, scenario: str = RIGHT) -> Outlook:
        """One policy in one scenario."""
        for each in self.forecasts:
            if (each.policy, each.scenario) == (policy, scenario):
                return each
        raise OptionError(
            f"there is no {policy!r} in {scenario!r}; policies: {', '.join(self.policies)}; scenarios: "
            f"{', '.join(self.scenarios)}"
        )

    def worst(self, policy: str) -> Outlook:
        """The scenario in which this policy earns least beside the A/B test."""
        return min((each for each in self.forecasts if each.policy == policy), key=lambda each: each.over_ab.mean)

    def gains_by_day(self, policy: str, scenario: str, other: str = AB_TEST) -> Floats:
        """What a policy has earned more than another by the end of each day, on average, (days,)."""
        mine, theirs = self.forecast(policy, scenario), self.forecast(other, scenario)
        return np.asarray(theirs.regret_by_day - mine.regret_by_day)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, the advice first; what is not a number is None."""
        plain: dict[str, Any] = as_plain(self)
        return {"advice": plain.pop("advice"), **plain}

    def _tell(self) -> Display:
        shown = self.forecasts
        return Display(
            f"Rehearsal of {self.days} days of {self.users_per_day:,} users, {self.runs} worlds in each scenario",
            (self._expectation(), *(f"{reason[:1].upper()}{reason[1:]}." for reason in self.advice.reasons)),
            {
                "scenario": [each.scenario for each in shown],
                "policy": [each.policy for each in shown],
                f"more than the {AB_TEST}": [each.over_ab.mean for each in shown],
                f"more than {TODAY}": [each.over_today.mean for each in shown],
                "lost against the best": [each.regret.mean for each in shown],
            },
        )

    def _draw(self, axes: Any) -> None:
        days = np.arange(1, self.days + 1)
        for scenario, line in zip(self.scenarios, itertools.cycle(_LINES), strict=False):
            axes.plot(days, self.gains_by_day(self.advice.policy, scenario), line, label=scenario)
        axes.axhline(0.0, color="#8a8f98", lw=0.8)
        axes.set_xlabel("day")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_ylabel(f"{self.unit} more than by the {AB_TEST}")
        axes.legend(frameon=False, title="if", fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))

    def _expectation(self) -> str:
        ours, worst = self.forecast(self.advice.policy), self.worst(self.advice.policy)
        return (
            f"Where the log is right, {self.advice.policy!r} earns {more(ours.over_ab.mean)} than the {AB_TEST} and "
            f"{more(ours.over_today.mean)} than {TODAY}; at worst ({worst.scenario}) it earns "
            f"{more(worst.over_ab.mean)} than the {AB_TEST}."
        )
