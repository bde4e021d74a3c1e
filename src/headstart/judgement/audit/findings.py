"""Findings: the audit's checks in one table, the material they look at, and the reasons that rules find in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.doubly_robust import robust_means
from headstart.estimates.periods import PERIOD
from headstart.estimates.population import find_shift
from headstart.estimates.summary import Summary
from headstart.estimates.table_means import robust_table_means
from headstart.judgement.audit.checks.actions import ActionsFinding, describe_actions
from headstart.judgement.audit.checks.balance import BalanceFinding, TotalsFinding, check_totals, describe_balance
from headstart.judgement.audit.checks.calibration import describe_calibration
from headstart.judgement.audit.checks.completeness import describe_completeness
from headstart.judgement.audit.checks.drift import DriftFinding, describe_drift
from headstart.judgement.audit.checks.groups import Groups, grow_groups, split_halves
from headstart.judgement.audit.checks.overlap import EDGES, OverlapFinding, describe_overlap
from headstart.judgement.audit.checks.population import PopulationFinding, compare_population, users_of
from headstart.judgement.audit.checks.propensities import PropensityFinding, check_weights
from headstart.judgement.audit.checks.refutations import RefutationFinding, refute
from headstart.judgement.audit.checks.sensitivity import find_tipping_point
from headstart.judgement.audit.checks.value import find_value
from headstart.judgement.audit.intake import Intake
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

    intake: Intake
    settings: Settings = Settings()
    population: object = None  # contexts of the users to come

    @cached_property
    def log(self) -> AnyLog:
        """With propensities, and without the columns that are left out."""
        return self.intake.log

    @cached_property
    def sample(self) -> Log:
        """Rows of it."""
        return self.intake.sample

    @cached_property
    def is_logged(self) -> bool:
        """Whether the propensities are the log's own."""
        return self.intake.is_logged

    @cached_property
    def names(self) -> tuple[object, ...]:
        """The actions'."""
        return tuple(self.log.action_names)

    @cached_property
    def sums(self) -> ActionSums:
        return self.log.action_sums()

    @cached_property
    def halves(self) -> tuple[Log, Log]:
        """Of the users as they are: groups of them are not parted by time, which has a check of its own."""
        return split_halves(self.sample.without((PERIOD,)), self.settings.seed)

    @cached_property
    def groups(self) -> Groups:
        return grow_groups(*self.halves)

    @cached_property
    def actions(self) -> ActionsFinding:
        # Copies are found in a sample of rows, and units come whole.
        seen = len(self.sample) / len(self.log) if self.intake.copies.is_material else 1.0
        return describe_actions(self.sums, self.names, self.settings.level, self.sample, seen)

    @cached_property
    def overlap(self) -> OverlapFinding:
        counts, level = self.log.propensity_counts(EDGES), self.settings.level
        return describe_overlap(
            counts, self.sums, *self.halves, level, self.sample.propensity_matrix, is_logged=self.is_logged
        )

    @cached_property
    def drift(self) -> DriftFinding | None:
        intake = self.intake
        return describe_drift(intake.whole, self.actions.best, intake.clock, is_logged=self.is_logged)

    @cached_property
    def never(self) -> Floats:
        """The share of users who as good as never saw each action, for who they are or when they came, (K,)."""
        never = np.array([action.never_share for action in self.overlap.actions])
        if self.drift is not None:
            never = np.maximum(never, [action.missing_share for action in self.drift.actions])
        return never

    @cached_property
    def reached(self) -> Floats:
        """Users who had a chance of each action, by the whole vectors of chances where they were logged, (K,)."""
        n, matrix = float(self.sums.n.sum()), self.sample.propensity_matrix
        if matrix is None or not self.is_logged:
            return np.full(len(self.names), n)
        return np.asarray((matrix > 0.0).sum(axis=0) * (n / len(matrix)))


def _totals(material: Material) -> TotalsFinding | None:
    """None for estimated propensities, whose totals are true by fitting."""
    if not material.is_logged:
        return None
    return check_totals(material.sums, material.names, material.reached, material.never, material.sample)


def _balance(material: Material) -> BalanceFinding:
    return describe_balance(
        material.sums,
        material.log.context_sums(),
        tuple(material.log.context_names),
        material.names,
        material.sample,
        is_logged=material.is_logged,
        barred={name for name, share in zip(material.names, material.never, strict=True) if share >= _BARRED},
    )


def _propensities(material: Material) -> PropensityFinding:
    return check_weights(
        material.sums,
        material.names,
        material.never,
        material.groups,
        material.sample,
        is_logged=material.is_logged,
    )


def _refutations(material: Material) -> RefutationFinding:
    return refute(material.sample, material.actions.best, material.actions.second)


def _population(material: Material) -> PopulationFinding | None:
    if material.population is None:
        return None
    best, settings = material.actions.best, material.settings
    return compare_population(material.intake.whole, material.population, best, settings.n_sample, settings.seed)


def _summary(material: Material) -> Summary:
    """Doubly robust means with honest errors: for the users to come if they are given, else for such as the log's."""
    log, whole = material.log, material.intake.whole
    users = None
    if material.population is not None:
        users = users_of(material.population, whole, material.settings.n_sample, material.settings.seed).contexts
    if users is not None and find_shift(whole.contexts, users, whole.units) > 0.0:
        if not material.is_logged:  # rows are balanced towards the users directly, which undoes the log's choices too
            shares = np.bincount(whole.actions, minlength=whole.n_actions) / len(whole)
            whole = whole.with_propensities(shares[whole.actions])
        return robust_means(whole, users=users).summary
    if len(material.sample) == len(log):
        return robust_means(material.sample).summary
    return robust_table_means(log, material.sample).summary


class Check(NamedTuple):
    """One question to a log. The name is the field of the audit that holds the finding."""

    name: str
    find: Callable[[Material], object]


CHECKS: tuple[Check, ...] = (
    Check("summary", _summary),
    Check("totals", _totals),
    Check("balance", _balance),
    Check("actions", lambda material: material.actions),
    Check("overlap", lambda material: material.overlap),
    Check("propensities", _propensities),
    Check("calibration", lambda material: describe_calibration(material.groups)),
    Check("refutations", _refutations),
    Check("leakage", lambda material: material.intake.leakage),
    Check("telling", lambda material: material.intake.telling),
    Check("completeness", lambda material: describe_completeness(material.log.reading)),
    Check("copies", lambda material: material.intake.copies),
    Check("sensitivity", lambda material: find_tipping_point(material.actions, material.sample)),
    Check("value", lambda material: find_value(material.log, material.actions, material.settings.horizon)),
    Check("population", _population),
    Check("drift", lambda material: material.drift),
)


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
