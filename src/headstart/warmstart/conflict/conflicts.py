"""Conflicts between a log and its users: what both watches are asked, how an alarm is kept, and how it is told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.checks import check_action, check_outcome
from headstart.kernels import Entry, kernel
from headstart.kernels.dispatch import verb
from headstart.kernels.tally import Averages


class Watching(Protocol):
    """The state of either watch."""

    @property
    def tally(self) -> Averages: ...
    @property
    def log_means(self) -> Floats: ...
    @property
    def log_sizes(self) -> Floats: ...
    @property
    def rounds(self) -> Integers: ...
    @property
    def conflicts(self) -> Floats: ...
    @property
    def limit(self) -> float: ...
    @property
    def is_predicted(self) -> bool: ...


W = TypeVar("W", bound=Watching)


@verb()
def see(state: Watching, context: Floats, action: int, outcome: float) -> bool:
    """One more outcome of a user; True if just now the action's log is in conflict with its users."""
    raise NotImplementedError


@verb()
def log_evidence(state: Watching, action: int) -> float:
    """The logarithm of the evidence for a conflict; 0 without users or without a test."""
    raise NotImplementedError


@kernel
def judge_evidence(state: Watching, action: int) -> bool:
    """Whether the evidence is a conflict by now; if so, it is kept."""
    evidence = log_evidence(state, action)
    if evidence < state.limit:
        return False
    state.conflicts[action, 0] = state.rounds[0]
    state.conflicts[action, 1] = state.tally.counts[action]
    state.conflicts[action, 2] = state.tally.means[action]
    state.conflicts[action, 3] = evidence
    state.conflicts[action, 4] = state.log_means[action]
    return True


@dataclass(frozen=True)
class Conflict:
    """A log that users have contradicted, with the numbers it was judged by."""

    round: int  # users' outcomes seen, of all actions, when it was found
    action: int
    plays: int  # users' outcomes of this action
    mean: float  # theirs
    log_mean: float  # the log's, or what it predicted for these users on average
    log_size: float  # plays that the log was worth, or rows that it predicted from
    evidence: float  # the Bayes factor for a conflict
    limit: float  # what it had to reach
    is_predicted: bool = False  # whether the log was asked for these users' contexts (LinConflictWatch)

    @property
    def reason(self) -> str:
        """One sentence with the numbers."""
        if self.is_predicted:
            told = f"the log's {self.log_size:.0f} rows predict {self.log_mean:.4g} for their contexts"
        else:
            told = f"the log says {self.log_mean:.4g} with the weight of {self.log_size:.4g} plays"
        return (
            f"{self.plays} users of action {self.action} had {self.mean:.4g} on average, {told}: "
            f"evidence for a conflict {self.evidence:.3g} to 1, the limit is {self.limit:.3g}"
        )


def read_conflict(state: Watching, action: int) -> Conflict:
    """The conflict found for an action, from the state of either watch."""
    number, plays, mean, evidence, log_mean = state.conflicts[action].tolist()
    return Conflict(
        int(number),
        action,
        int(plays),
        mean,
        log_mean,
        float(state.log_sizes[action]),
        math.exp(min(evidence, 700.0)),
        math.exp(state.limit),
        state.is_predicted,
    )


def read_conflicts(state: Watching) -> list[Conflict]:
    """All conflicts found, the oldest first."""
    found = [read_conflict(state, int(a)) for a in np.flatnonzero(state.conflicts[:, 0])]
    return sorted(found, key=lambda conflict: conflict.round)


def see_user(state: Watching, context: Floats, action: int, outcome: float) -> bool:
    """`see` as an entry point: one for each class of watch."""
    return see(state, context, action, outcome)


class Watch(Generic[W]):
    """What both watches are told and answer."""

    def __init__(self, state: W) -> None:
        self._state = state
        self.n_actions = state.log_sizes.size
        self._see = Entry(see_user, allocates=False)

    @property
    def kernel_state(self) -> W:
        """The NamedTuple of arrays that the compiled loops work on."""
        return self._state

    def _tell(self, context: Floats, action: int, outcome: float) -> Conflict | None:
        """One more user's outcome; the conflict, if it is found just now."""
        index, number = check_action(action, self.n_actions), check_outcome(outcome)
        return read_conflict(self._state, index) if self._see(self._state, context, index, number) else None

    @property
    def conflicts(self) -> list[Conflict]:
        """What was found so far, the oldest first."""
        return read_conflicts(self._state)

    @property
    def limit(self) -> float:
        """The evidence that is a conflict: twice the number of tested actions over the level."""
        return math.exp(self._state.limit)

    @property
    def evidence(self) -> Floats:
        """The evidence for a conflict now, or at its alarm, (K,); `limit` is what it must reach."""
        return np.exp([min(log_evidence(self._state, a), 700.0) for a in range(self.n_actions)])
