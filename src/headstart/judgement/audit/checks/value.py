"""The value of the log: what it saves over the next users by the paper's bounds, and which rows would save more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.bounds import value_of_log
from headstart.judgement.audit.checks.actions import ActionsFinding
from headstart.logs.any_log import AnyLog


@dataclass(frozen=True)
class ActionValue:
    name: object
    gap: float  # to the best action
    enough: float  # virtual plays beyond which more rows of it save nothing
    missing_rows: float  # rows that would still help; 0: it has enough


@dataclass(frozen=True)
class ValueFinding:
    """Theorem 4's bound against that of UCB alone, in units of the outcome, for the estimated gaps."""

    horizon: int
    without_log: float
    with_log: float
    saves: float
    limit: float  # what it saves in the end, as the horizon grows
    is_vacuous: bool  # the bound with the log says no more than horizon times the gap
    is_range_observed: bool
    actions: tuple[ActionValue, ...]


def find_value(log: AnyLog, actions: ActionsFinding, horizon: int) -> ValueFinding | None:
    """None when nothing is known to compare: no two actions with rows, or one outcome throughout."""
    means = np.array([action.mean for action in actions.actions])
    sums = log.action_sums()
    is_constant = np.nanmin(sums.lowest) == np.nanmax(sums.highest)
    if actions.second is None or (is_constant and not 0.0 <= np.nanmin(sums.lowest) <= 1.0):
        return None
    gaps = np.nanmax(means) - means
    sizes = np.array([action.effective_size for action in actions.actions])
    value = value_of_log(log, horizon, gaps=np.where(np.isnan(gaps), 0.0, gaps), effective_sizes=sizes)
    is_known = ~np.isnan(gaps)
    return ValueFinding(
        horizon=value.horizon,
        without_log=value.without_log,
        with_log=value.with_log,
        saves=value.saves,
        limit=value.limit,
        is_vacuous=value.is_vacuous,
        is_range_observed=value.is_range_observed,
        actions=tuple(
            ActionValue(
                action.name,
                float(value.gaps[a]) if is_known[a] else float("nan"),
                float(value.thresholds[a]) if is_known[a] else float("nan"),
                float(value.missing_rows[a]) if is_known[a] else float("nan"),
            )
            for a, action in enumerate(actions.actions)
        ),
    )
