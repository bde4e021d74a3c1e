"""The value of a log: what it saves UCB, by the paper's bounds, and how many more rows would save more."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.bounds.conditions import RARE_PLAYS, check_rounds, check_sizes
from headstart.bounds.ucb import enough_plays, weighting_plays
from headstart.errors import LogError, OptionError
from headstart.evaluators import IPSWeighting
from headstart.logs.any_log import AnyLog
from headstart.logs.sums import ActionSums

_MOST_STEPS = 1000


@runtime_checkable
class HasMeans(Protocol):
    """What an evaluator must say of each action: its mean outcome and what the log is worth in plays, (K,) each."""

    @property
    def means(self) -> Floats: ...

    @property
    def effective_sizes(self) -> Floats: ...


@dataclass(frozen=True, eq=False)
class ValueOfLog:
    """What a log saves, per action (K,) where not a number. Regret and gaps are in the outcome's own unit.

    An action that the log never shows and no gap was given for has the gap NaN and is left out of both bounds.
    """

    horizon: int
    outcome_range: tuple[float, float]  # what 0 and 1 stand for in the theorems
    is_range_observed: bool  # nobody stated the range: it is the smallest and largest outcome in the log
    action_names: tuple[Hashable, ...]
    rows: Integers
    effective_sizes: Floats  # N_a: virtual plays
    gaps: Floats  # Delta_a, 0 for the best action
    thresholds: Floats  # virtual plays from which on the log saves nothing more; 0 for the best action
    missing_plays: Floats  # virtual plays that would still help, when every action gets its own
    missing_rows: Floats  # the same in rows, at the worth that the action's rows have had so far
    without_log: float  # the regret bound of UCB alone
    with_log: float  # that of UCB with the log
    limit: float  # what the log saves in the end, as the horizon grows: sum of N_a Delta_a

    @property
    def saves(self) -> float:
        """The paper's value of logged data: the bound without the log minus the bound with it."""
        return self.without_log - self.with_log

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound with the log is no better than always playing what costs most."""
        known = self.gaps[np.isfinite(self.gaps)]
        return bool(known.max() > 0.0 and self.with_log >= (1.0 - 1e-9) * self.horizon * known.sum())


def value_of_log(
    log: AnyLog,
    horizon: int,
    evaluator: HasMeans | None = None,
    *,
    gaps: ArrayLike | None = None,
    effective_sizes: ArrayLike | None = None,
    outcome_range: tuple[float, float] | None = None,
) -> ValueOfLog:
    """What this log saves over the next `horizon` users: Theorem 4's bound against that of UCB without a log.

    Parameters
    ----------
    log
        With propensities, unless `evaluator`, or `gaps` and `effective_sizes`, say what they are for.
    horizon
        T, the online rounds.
    evaluator
        Anything with `means` and `effective_sizes`; by default `IPSWeighting(log)`.
    gaps, effective_sizes
        Instead of the evaluator's: max(means) - means in the outcome's unit, and N_a.
    outcome_range
        (low, high) of the outcomes, mapped to [0, 1]. By default (0, 1) if all outcomes are in it, else the log's
        smallest and largest, which later outcomes may leave.

    Notes
    -----
    Each action's part of either bound is at most horizon * gap, which no regret exceeds: with gaps too small for
    the horizon a log saves nothing that the theorems can see (`is_vacuous`). The value can be negative by
    little: rows of the best action raise ln(T + sum of N_a) and spare nothing. Estimated gaps are taken as true,
    so a log too small to tell the actions apart is not to be judged by this. The bounds are for `UCB` with beta = 1
    on outcomes mapped to [0, 1], i.e. with beta = high - low on them as they are.
    """
    rounds, sums = check_rounds(horizon), log.action_sums()
    low, high, is_observed = _check_range(outcome_range, sums)
    sizes, missed = _estimates(log, evaluator, gaps, effective_sizes)
    missed = np.minimum(missed, high - low)  # an unbiased estimate may lie outside the range
    scaled = missed / (high - low)
    is_known = np.isfinite(scaled)
    known = np.where(is_known, scaled, 0.0)
    alone = np.minimum(rounds, enough_plays(known, rounds) + RARE_PLAYS)
    joined = np.minimum(rounds, weighting_plays(known, rounds, sizes))
    rows = sums.n.astype(np.int64)
    missing = _missing_plays(known, rounds, sizes)
    worth = np.divide(rows, sizes, out=np.ones(log.n_actions), where=sizes > 0.0)
    return ValueOfLog(
        horizon=rounds,
        outcome_range=(low, high),
        is_range_observed=is_observed,
        action_names=log.action_names,
        rows=rows,
        effective_sizes=sizes,
        gaps=missed,
        thresholds=np.where(is_known, enough_plays(known, rounds + np.ceil(sizes).sum()), np.nan),
        missing_plays=np.where(is_known, missing, np.nan),
        missing_rows=np.where(is_known, np.ceil(missing * np.maximum(worth, 1.0)), np.nan),
        without_log=float((high - low) * (known @ alone)),
        with_log=float((high - low) * (known @ joined)),
        limit=float((high - low) * (known @ np.floor(sizes))),
    )


def _missing_plays(gaps: Floats, horizon: int, sizes: Floats) -> Floats:
    """The smallest whole numbers m_a with floor N_a + m_a >= 8 ln(T + sum of (ceil N_a + m_a)) / Delta_a^2."""
    missing = np.zeros_like(sizes)
    for _ in range(_MOST_STEPS):  # the thresholds grow with what is added, ever more slowly
        wanted = enough_plays(gaps, horizon + np.ceil(sizes).sum() + missing.sum())
        more = np.where(gaps > 0.0, np.maximum(0.0, np.ceil(wanted) - np.floor(sizes)), 0.0)
        if (more == missing).all():
            break
        missing = more
    return missing


def _estimates(
    log: AnyLog, evaluator: HasMeans | None, gaps: ArrayLike | None, effective_sizes: ArrayLike | None
) -> tuple[Floats, Floats]:
    if evaluator is None and (gaps is None or effective_sizes is None):
        if not log.has_propensities:
            raise LogError(
                "value_of_log needs propensities and the log has none: estimate them with "
                "hs.estimate_propensities(log), or give an evaluator with means and effective_sizes "
                "(hs.BalancedWeighting(log)), or gaps= and effective_sizes="
            )
        evaluator = IPSWeighting(log)
    if evaluator is not None and not isinstance(evaluator, HasMeans):
        raise OptionError(
            f"{type(evaluator).__name__} has no means and effective_sizes: give an evaluator that has them "
            "(IPSWeighting, BalancedWeighting, DoublyRobust), or gaps= and effective_sizes="
        )
    sizes = effective_sizes
    if sizes is None:
        assert evaluator is not None
        sizes = evaluator.effective_sizes
    if gaps is not None:
        missed = check_sizes("gaps", gaps, log.n_actions)
        if missed.min() > 0.0:
            raise OptionError(f"gaps must hold a 0, the best action's, got {missed.tolist()}")
    else:
        assert evaluator is not None
        means = np.asarray(evaluator.means, dtype=np.float64)
        missed = np.nanmax(means) - means
    return check_sizes("effective_sizes", sizes, log.n_actions), missed


def _check_range(given: tuple[float, float] | None, sums: ActionSums) -> tuple[float, float, bool]:
    smallest, largest = float(np.nanmin(sums.lowest)), float(np.nanmax(sums.highest))
    if given is None:
        if smallest >= 0.0 and largest <= 1.0:
            return 0.0, 1.0, False
        if smallest == largest:
            raise OptionError(f"every outcome is {smallest:g}: give outcome_range=(low, high)")
        return smallest, largest, True
    low, high = (float(end) for end in given)
    if not (np.isfinite([low, high]).all() and low < high):
        raise OptionError(f"outcome_range must be (low, high) with low < high, got {given!r}")
    if smallest < low or largest > high:
        raise OptionError(
            f"outcome_range must hold every outcome, {smallest:g} to {largest:g}, got ({low:g}, {high:g})"
        )
    return low, high, False
