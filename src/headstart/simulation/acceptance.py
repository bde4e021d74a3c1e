"""Acceptance: how often an event of a log is let into a policy's life, and over how many rounds policies live.

`rejection` has what c, the chance, means; `lending` what becomes of actions that are rarer than it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.errors import LogError
from headstart.logs.log import Log

_EVEN = 1e-6  # how far from 1/K a propensity of a log by lot may be
_ENOUGH, _ENOUGH_EACH = 500, 50  # rounds to learn in, in all and for each action
_MOST_TIMES = 10  # as often as the rarest action is shown: with more, too few of its rows have gone by to lend
_FEWEST_ROUNDS = 200  # however rare an action is
_FEW_USERS = 0.01  # whose chances may be smaller than the rest's
_MANY_USERS = 0.05  # with smaller chances: an action is rare
_FEWEST = 20  # rows that a user's action must be expected to have for its weight to count in full

REPLAY, ROBUST = "replay", "doubly robust replay"


def is_even(log: Log) -> bool:
    """Whether every action was chosen by lot, all with the same chance."""
    return log.propensities is not None and bool(np.abs(log.propensities - 1.0 / log.n_actions).max() <= _EVEN)


@dataclass(frozen=True)
class Acceptance:
    """How events are accepted, and what that costs."""

    method: str
    chance: float  # c
    clipped_share: float  # of users whose chance of some action (the worst) is below c
    n_rounds: int  # accepted events that all policies are compared over
    floor: float = 0.0  # propensities below count as this much in the terms

    @property
    def is_lending(self) -> bool:
        """Whether choices of rare actions are partly answered by earlier rows."""
        return self.clipped_share > 0.0

    @property
    def rests_on_loans(self) -> bool:
        """Whether what policies learn of some action comes from few rows, for more than a few users."""
        return self.clipped_share > _MANY_USERS


def choose_acceptance(log: Log, n_stream: int, rounds: int | None) -> Acceptance:
    """The largest chance that needs no loans but for one user in a hundred, if it leaves enough rounds; else one that
    does.

    Enough without loans are 500, or 50 for each action if that is more, or a third of what a log by lot would have;
    with loans it is twice as many (a life that is partly borrowed should at least be long enough to learn in), but at
    most ten times as many as without, or 200. Rounds are those that all but one run in 30,000 reach (4 standard
    deviations of the binomial).
    """
    even, is_by_lot = 1.0 / log.n_actions, is_even(log)
    chance = even if is_by_lot else min(_common_chance(log), even)
    many = max(_ENOUGH, _ENOUGH_EACH * log.n_actions)
    enough = min(many, n_stream * even / 3.0)
    if not is_by_lot and chance * n_stream < min(enough, rounds or n_stream):
        wanted = 2.0 * enough if rounds is None else min(2.0 * enough, rounds + 5.0 * np.sqrt(rounds))
        at_most = max(_MOST_TIMES * chance, _FEWEST_ROUNDS / n_stream)
        chance = max(chance, min(even, float(wanted) / n_stream, at_most))
    expected = chance * n_stream
    reached = int(expected - 4.0 * np.sqrt(expected * (1.0 - chance)))
    if expected < 2.0:
        raise LogError(
            f"of {n_stream} users of the log only about {expected:.1f} were shown what another policy would show "
            "them: too few to compare anything"
        )
    n_rounds = max(2, reached)
    return Acceptance(
        REPLAY if is_by_lot else ROBUST,
        chance,
        _share_below(log, chance),
        min(rounds or n_rounds, n_rounds),
        0.0 if is_by_lot else min(even, _FEWEST / n_stream),
    )


def _common_chance(log: Log) -> float:
    """The chance of every action that all but one user in a hundred have, whichever the action."""
    if log.propensity_matrix is not None:
        return float(np.quantile(log.propensity_matrix, _FEW_USERS, axis=0, method="lower").min())
    assert log.propensities is not None
    found = []
    for action in np.unique(log.actions):
        chances = np.sort(log.propensities[log.actions == action])
        stands_for = np.cumsum(1.0 / chances) / len(log)  # a row stands for 1/p users
        found.append(chances[min(int(np.searchsorted(stands_for, _FEW_USERS)), chances.size - 1)])
    return float(min(found))


def _share_below(log: Log, chance: float) -> float:
    """The share of users whose chance of some action is below this; of the action where it is largest."""
    if is_even(log):
        return 0.0
    if log.propensity_matrix is not None:
        return float((log.propensity_matrix < chance).mean(axis=0).max())
    assert log.propensities is not None
    rare = np.where(log.propensities < chance, 1.0 / log.propensities, 0.0)  # a row stands for 1/p users
    return float(min(1.0, np.bincount(log.actions, rare, log.n_actions).max() / len(log)))
