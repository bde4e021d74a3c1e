"""Audit: every finding on one log, and the function that makes it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headstart.checks import check_number, check_whole
from headstart.estimates.propensity import estimate_propensities
from headstart.judgement.audit.checks.actions import ActionsFinding, describe_actions
from headstart.judgement.audit.checks.balance import BalanceFinding, describe_balance
from headstart.judgement.audit.checks.calibration import CalibrationFinding, describe_calibration
from headstart.judgement.audit.checks.groups import grow_groups, split_halves
from headstart.judgement.audit.checks.leakage import LeakageFinding, find_leaks
from headstart.judgement.audit.checks.overlap import EDGES, OverlapFinding, describe_overlap
from headstart.judgement.audit.checks.population import PopulationFinding, compare_population
from headstart.judgement.audit.checks.propensities import PropensityFinding, check_weights
from headstart.judgement.audit.checks.refutations import RefutationFinding, refute
from headstart.judgement.audit.checks.sensitivity import SensitivityFinding, find_tipping_point
from headstart.judgement.audit.checks.value import ValueFinding, find_value
from headstart.judgement.audit.estimating import with_estimates
from headstart.judgement.audit.plain import as_plain
from headstart.judgement.audit.rows import sample_rows
from headstart.judgement.audit.verdict import Verdict, judge

STEPS = 9  # calls of `progress`


@dataclass(frozen=True)
class Facts:
    """What was audited, and how."""

    n_rows: int
    n_sampled: int  # rows that were looked at one by one; everything else is of all rows
    action_names: tuple[Hashable, ...]
    context_names: tuple[str, ...]
    propensities: str  # "logged" or "estimated"
    horizon: int
    level: float
    seed: int


@dataclass(frozen=True)
class Audit:
    """Every finding on one log; `verdict` is the last word and `as_dict()` all of it for a program."""

    facts: Facts
    actions: ActionsFinding
    overlap: OverlapFinding
    propensities: PropensityFinding
    calibration: CalibrationFinding
    balance: BalanceFinding
    refutations: RefutationFinding
    leakage: LeakageFinding
    sensitivity: SensitivityFinding | None  # None when fewer than two actions have rows
    value: ValueFinding | None
    population: PopulationFinding | None  # None when none was given

    @cached_property
    def verdict(self) -> Verdict:
        """Use it, use it with a cap, or do not use it; with the reasons."""
        return judge(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, verdict first; what is not a number is None."""
        return {"verdict": as_plain(self.verdict), **as_plain(self)}


def audit(
    log: Any,
    *,
    horizon: int = 10_000,
    population: Any = None,
    level: float = 0.95,
    n_sample: int = 50_000,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Audit:
    """Is this log worth anything, and can it be trusted?

    Parameters
    ----------
    log
        A `Log`, or a `LogTable` of any size: sums over all rows are computed where the rows are. Without propensities
        they are estimated, and the audit says so.
    horizon
        Online users to come, for the value of the log.
    population
        Contexts of the users to come, to compare with the log's: a matrix, a data frame, a mapping of columns, a Log,
        or the path of a file with the log's context columns.
    level
        Of the confidence intervals.
    n_sample
        Rows for what needs rows: groups of users, refutations, leaks, benchmarks. All rows if there are no more.
    seed
        Of the sample and of its halves. The same rows in another order give the same audit.
    progress
        Called with 1 after each of `STEPS` steps.
    """
    check_number("level", level, 0.5, 0.9999)
    check_whole("n_sample", n_sample)
    check_whole("horizon", horizon)
    done = progress or (lambda n: None)
    with warnings.catch_warnings():  # poor overlap is what the audit is about: it says so itself
        warnings.filterwarnings("ignore", category=UserWarning, module="headstart")
        is_logged = log.has_propensities
        sample = sample_rows(log, n_sample, seed)
        done(1)
        if not is_logged:
            log, sample = with_estimates(log, sample, seed)
        done(1)
        sums = log.action_sums()
        done(1)
        context_sums = log.context_sums()
        done(1)
        counts = log.propensity_counts(EDGES)
        done(1)
        names = tuple(log.action_names)
        leakage = find_leaks(sample)
        leaked = [column.name for column in leakage.of_kind("leak")]
        whole, sample = sample, sample.without(leaked)  # what is judged after the fact judges nothing
        grown, looked = split_halves(sample, seed)
        groups = grow_groups(grown, looked)
        actions = describe_actions(sums, names, level)
        overlap = describe_overlap(counts, sums, grown, looked, level)
        done(1)
        propensities = check_weights(sums, names, overlap, groups, sample, is_logged=is_logged)
        calibration = describe_calibration(groups)
        balance = describe_balance(sums, context_sums, log.context_names, names, leaked)
        done(1)

        def reestimate(contexts: np.ndarray) -> Any:
            other = type(sample)(sample.actions, sample.outcomes, contexts, n_actions=sample.n_actions)
            return estimate_propensities(other, rng=seed)

        refutations = refute(sample, actions.best, actions.second, None if is_logged else reestimate, seed)
        done(1)
        others = None
        if population is not None:
            others = compare_population(whole, population, actions.best, n_sample, seed)
        done(1)
        return Audit(
            facts=Facts(
                n_rows=int(sums.n.sum()),
                n_sampled=len(sample),
                action_names=names,
                context_names=tuple(log.context_names),
                propensities="logged" if is_logged else "estimated",
                horizon=horizon,
                level=level,
                seed=seed,
            ),
            actions=actions,
            overlap=overlap,
            propensities=propensities,
            calibration=calibration,
            balance=balance,
            refutations=refutations,
            leakage=leakage,
            sensitivity=find_tipping_point(actions, sample),
            value=find_value(log, actions, horizon),
            population=others,
        )
