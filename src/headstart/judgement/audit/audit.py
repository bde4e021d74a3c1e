"""Audit: every finding on one log, and the function that makes it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from headstart.checks import check_number, check_whole
from headstart.displayed import Display, Displayed, draw_intervals
from headstart.estimates.periods import PERIOD
from headstart.estimates.summary import Summary
from headstart.judgement.audit.checks.actions import ActionsFinding
from headstart.judgement.audit.checks.balance import BalanceFinding, TotalsFinding
from headstart.judgement.audit.checks.calibration import CalibrationFinding
from headstart.judgement.audit.checks.completeness import CompletenessFinding
from headstart.judgement.audit.checks.copies import CopiesFinding
from headstart.judgement.audit.checks.drift import DriftFinding
from headstart.judgement.audit.checks.leakage import LeakageFinding
from headstart.judgement.audit.checks.overlap import OverlapFinding
from headstart.judgement.audit.checks.population import PopulationFinding
from headstart.judgement.audit.checks.propensities import PropensityFinding
from headstart.judgement.audit.checks.refutations import RefutationFinding
from headstart.judgement.audit.checks.sensitivity import SensitivityFinding
from headstart.judgement.audit.checks.telling import TellingFinding
from headstart.judgement.audit.checks.value import ValueFinding
from headstart.judgement.audit.findings import CHECKS, Material, Settings
from headstart.judgement.audit.intake import Intake, take_in
from headstart.judgement.audit.plain import as_plain
from headstart.judgement.audit.verdict import Verdict, judge
from headstart.logs.any_log import OUTCOME, AnyLog, outcome_name

STEPS = 1 + len(CHECKS)  # calls of `progress`: the way in, the checks


@dataclass(frozen=True)
class Facts:
    """What was audited, and how."""

    n_rows: int
    n_sampled: int  # rows that were looked at one by one; everything else is of all rows
    action_names: tuple[Hashable, ...]
    context_names: tuple[str, ...]
    columns: tuple[str, ...]  # the raw columns that they were made of
    propensities: str  # "logged" or "estimated"
    filling: str  # how they were estimated, in words; "" if they are logged
    horizon: int
    level: float
    seed: int
    outcome: str = OUTCOME  # what it is called

    @property
    def basis(self) -> str:
        """What the means are adjusted by: "logged" propensities, "estimated" ones, or "nothing"."""
        return "nothing" if self.propensities == "estimated" and not self.context_names else self.propensities


@dataclass(frozen=True, repr=False)
class Audit(Displayed):
    """Every finding on one log; `verdict` is the last word and `as_dict()` all of it for a program.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> found = hs.audit(log)
    >>> found.verdict.decision
    'use it'
    >>> found.to_frame().columns.tolist()[:3]
    ['action', 'rows', 'raw mean']
    """

    facts: Facts
    summary: Summary  # what a start begins from, before any cap
    totals: TotalsFinding | None  # None when the propensities are estimated
    balance: BalanceFinding
    actions: ActionsFinding
    overlap: OverlapFinding
    propensities: PropensityFinding
    calibration: CalibrationFinding
    refutations: RefutationFinding
    leakage: LeakageFinding
    telling: TellingFinding
    copies: CopiesFinding
    completeness: CompletenessFinding | None  # None for a log that was not read from a source
    sensitivity: SensitivityFinding | None  # None when fewer than two actions have rows
    value: ValueFinding | None
    population: PopulationFinding | None  # None when none was given
    drift: DriftFinding | None  # None when nobody knows when, and the order of the rows shows no change

    @cached_property
    def verdict(self) -> Verdict:
        """Use it, use it with a cap, or do not use it; with the reasons."""
        return judge(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, verdict first; what is not a number is None."""
        return {"verdict": as_plain(self.verdict), **as_plain(self)}

    def _tell(self) -> Display:
        verdict, actions = self.verdict, self.actions.actions
        return Display(
            f"Audit of {self.facts.n_rows:,} rows: {verdict.decision}",
            (
                verdict.summary,
                *(f"{_sentence(each.text)}: {each.advice}." for each in verdict.reasons),
            ),
            {
                "action": [str(each.name) for each in actions],
                "rows": [each.rows for each in actions],
                "raw mean": [each.raw_mean for each in actions],
                "adjusted mean": [each.mean for each in actions],
                "low": [each.low for each in actions],
                "high": [each.high for each in actions],
                "virtual plays": list(verdict.caps),
            },
        )

    def _draw(self, axes: Any) -> None:
        shown = [each for each in self.actions.actions if each.rows]
        means, lows, highs = ([getattr(each, name) for each in shown] for name in ("mean", "low", "high"))
        draw_intervals(axes, [each.name for each in shown], means, lows, highs)
        axes.plot([each.raw_mean for each in shown], range(len(shown))[::-1], "x", color="#D55E00", label="raw mean")
        axes.set_xlabel(f"mean {self.facts.outcome}: adjusted, {self.facts.level:.0%} interval")
        axes.legend(frameon=False, loc="best")


def audit(
    log: AnyLog,
    *,
    horizon: int = 10_000,
    population: object = None,
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

    Returns
    -------
    Audit
        Every finding, and `verdict`: use it, use it with a cap, or do not use it, with the reasons.

    Raises
    ------
    OptionError
        If the log is no log, or a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> found = hs.audit(log)
    >>> found.verdict.decision
    'use it'
    >>> found.actions.actions[found.actions.best].name
    1
    """
    settings = Settings(level, horizon, n_sample, seed)
    return examine(log, settings, population, progress).audit


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


class Examined(NamedTuple):
    """An audit, and the log as it was judged: whoever goes on with it takes this."""

    audit: Audit
    verdict: Verdict
    intake: Intake


def examine(
    log: AnyLog,
    settings: Settings,
    population: object = None,
    progress: Callable[[int], object] | None = None,
) -> Examined:
    """The audit, and what it was made of."""
    check_number("level", settings.level, 0.5, 0.9999)
    check_whole("n_sample", settings.n_sample)
    check_whole("horizon", settings.horizon)
    done = progress or (lambda n: None)
    with warnings.catch_warnings():  # poor overlap is what the audit is about: it says so itself
        warnings.filterwarnings("ignore", category=UserWarning, module="headstart")
        intake = take_in(log, settings.n_sample, settings.seed)
        done(1)
        material = Material(intake, settings, population)
        found: dict[str, Any] = {}  # the fields of Audit, each by the check of its name
        for check in CHECKS:
            found[check.name] = check.find(material)
            done(1)
        judged = Audit(facts=_state_facts(material), **found)
    return Examined(judged, judged.verdict, intake)


def _state_facts(material: Material) -> Facts:
    known = material.log.encoding.without((PERIOD,))
    return Facts(
        n_rows=int(material.sums.n.sum()),
        n_sampled=len(material.sample),
        action_names=tuple(material.log.action_names),
        context_names=known.names,
        columns=known.columns,
        propensities="logged" if material.is_logged else "estimated",
        filling=material.intake.filling,
        horizon=material.settings.horizon,
        level=material.settings.level,
        seed=material.settings.seed,
        outcome=outcome_name(material.log),
    )
