"""Findings: the audit's checks in one table, the material they look at, and the reasons that rules find in them.

A check is quick if it needs no more than sums over the rows. `glance` runs the quick ones, which is all that a start
has time for; an audit runs all of them, and the quick ones then know more: which columns leak the outcome, and which
actions part of the users never saw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.periods import PERIOD
from headstart.estimates.propensity.missing import fill_missing
from headstart.judgement.audit.checks.actions import ActionsFinding, describe_actions
from headstart.judgement.audit.checks.balance import BalanceFinding, TotalsFinding, check_totals, describe_balance
from headstart.judgement.audit.checks.calibration import describe_calibration
from headstart.judgement.audit.checks.drift import DriftFinding, describe_drift
from headstart.judgement.audit.checks.groups import Groups, grow_groups, split_halves
from headstart.judgement.audit.checks.leakage import LeakageFinding, find_leaks
from headstart.judgement.audit.checks.overlap import EDGES, OverlapFinding, describe_overlap
from headstart.judgement.audit.checks.population import PopulationFinding, compare_population
from headstart.judgement.audit.checks.propensities import PropensityFinding, check_weights
from headstart.judgement.audit.checks.refutations import RefutationFinding, refute
from headstart.judgement.audit.checks.sensitivity import find_tipping_point
from headstart.judgement.audit.checks.value import find_value
from headstart.judgement.audit.reasons import Looked, Reason, Rule
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.logs.sums import ActionSums

_BARRED = 0.01  # of the users never saw the action: it cannot be balanced


@dataclass(frozen=True)
class Settings:
    """How a log is audited."""

    level: float = 0.95
    horizon: int = 10_000
    n_sample: int = 50_000
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Material:
    """A log as the checks look at it; what several of them need is made once, when first asked for."""

    log: AnyLog  # with propensities, logged or estimated
    whole: Log  # a sample of its rows, or all
    is_logged: bool
    settings: Settings = Settings()
    population: object = None  # contexts of the users to come
    is_quick: bool = False  # nothing but the quick checks is run: leaks and overlap are not looked for
    clock: str = "time"  # what the sample's times are: "time", or "row number"

    @cached_property
    def names(self) -> tuple[object, ...]:
        """The actions'."""
        return tuple(self.log.action_names)

    @cached_property
    def sums(self) -> ActionSums:
        return self.log.action_sums()

    @cached_property
    def leakage(self) -> LeakageFinding:
        return find_leaks(self.whole.without((PERIOD,)))

    @cached_property
    def leaked(self) -> tuple[str, ...]:
        """Encoded columns that tell the outcome."""
        return () if self.is_quick else tuple(column.name for column in self.leakage.of_kind("leak"))

    @cached_property
    def sample(self) -> Log:
        """The sample without leaked columns: what was written down after the fact judges nothing."""
        return self.whole.without(self.leaked)

    @cached_property
    def halves(self) -> tuple[Log, Log]:
        """Of the users as they are: groups of them are not parted by time, which has a check of its own."""
        return split_halves(self.sample.without((PERIOD,)), self.settings.seed)

    @cached_property
    def groups(self) -> Groups:
        return grow_groups(*self.halves)

    @cached_property
    def actions(self) -> ActionsFinding:
        return describe_actions(self.sums, self.names, self.settings.level)

    @cached_property
    def overlap(self) -> OverlapFinding:
        counts, level = self.log.propensity_counts(EDGES), self.settings.level
        return describe_overlap(counts, self.sums, *self.halves, level, self.whole.propensity_matrix)

    @cached_property
    def drift(self) -> DriftFinding | None:
        return describe_drift(self.whole, self.actions.best, self.clock, is_logged=self.is_logged)

    @cached_property
    def never(self) -> Floats:
        """The share of users who as good as never saw each action, for who they are or when they came, (K,)."""
        if self.is_quick:
            return np.zeros(len(self.names))
        never = np.array([action.never_share for action in self.overlap.actions])
        if self.drift is not None:
            never = np.maximum(never, [action.missing_share for action in self.drift.actions])
        return never

    @cached_property
    def reached(self) -> Floats:
        """Users who had a chance of each action, by the whole vectors of chances where they were logged, (K,)."""
        n, matrix = float(self.sums.n.sum()), self.whole.propensity_matrix
        if matrix is None or not self.is_logged:
            return np.full(len(self.names), n)
        return np.asarray((matrix > 0.0).sum(axis=0) * (n / len(matrix)))

    def reestimate(self, contexts: Floats) -> Log:
        """The sample with other contexts and the propensities that those suggest."""
        rows = self.sample
        other = Log(rows.actions, rows.outcomes, contexts, n_actions=rows.n_actions)
        return fill_missing(other, self.settings.seed).log


def _totals(material: Material) -> TotalsFinding | None:
    """None for estimated propensities, whose totals are true by fitting."""
    if not material.is_logged:
        return None
    return check_totals(material.sums, material.names, material.reached, material.never)


def _balance(material: Material) -> BalanceFinding:
    return describe_balance(
        material.sums,
        material.log.context_sums(),
        tuple(material.log.context_names),
        material.names,
        is_logged=material.is_logged,
        leaked=material.leaked,
        barred={name for name, share in zip(material.names, material.never, strict=True) if share >= _BARRED},
    )


def _propensities(material: Material) -> PropensityFinding:
    return check_weights(
        material.sums,
        material.names,
        material.overlap,
        material.groups,
        material.sample,
        is_logged=material.is_logged,
    )


def _refutations(material: Material) -> RefutationFinding:
    best, second = material.actions.best, material.actions.second
    reestimate = None if material.is_logged else material.reestimate
    return refute(material.sample, best, second, reestimate, material.settings.seed)


def _population(material: Material) -> PopulationFinding | None:
    if material.population is None:
        return None
    best, settings = material.actions.best, material.settings
    users = material.whole.without((PERIOD,))
    return compare_population(users, material.population, best, settings.n_sample, settings.seed)


class Check(NamedTuple):
    """One question to a log. The name is the field of the audit that holds the finding."""

    name: str
    find: Callable[[Material], object]
    is_quick: bool = False


CHECKS: tuple[Check, ...] = (
    Check("totals", _totals, is_quick=True),
    Check("balance", _balance, is_quick=True),
    Check("actions", lambda material: material.actions),
    Check("overlap", lambda material: material.overlap),
    Check("propensities", _propensities),
    Check("calibration", lambda material: describe_calibration(material.groups)),
    Check("refutations", _refutations),
    Check("leakage", lambda material: material.leakage),
    Check("sensitivity", lambda material: find_tipping_point(material.actions, material.sample)),
    Check("value", lambda material: find_value(material.log, material.actions, material.settings.horizon)),
    Check("population", _population),
    Check("drift", lambda material: material.drift),
)


class Glance(NamedTuple):
    """What the quick checks find."""

    totals: TotalsFinding | None
    balance: BalanceFinding


def glance(log: Log) -> Glance:
    """What the quick checks say of a log with logged propensities, in milliseconds."""
    material = Material(log, log, is_logged=True, is_quick=True)
    return Glance(**{check.name: check.find(material) for check in CHECKS if check.is_quick})  # type: ignore[arg-type]


def find_reasons(rules: Sequence[Rule[Looked]], found: Looked) -> list[Reason]:
    """The reasons in the order of the rules. Rules of one name are forms of one, the gravest first: the first that
    finds anything speaks for all of them."""
    reasons: dict[str, list[Reason]] = {}
    for rule in rules:
        those = reasons.setdefault(rule.name, [])
        if not those:
            for text, advice, action in rule.find(found):
                those.append(Reason(rule.name, rule.subject, rule.severity, text, advice, action, rule.odds))
    return list(chain.from_iterable(reasons.values()))
