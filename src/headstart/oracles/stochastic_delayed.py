"""Stochastic delayed bandits: a base algorithm fed from queues (Mandel et al. 2015; the paper's baseline 4)."""

from __future__ import annotations

from collections import deque
from copy import deepcopy

import numpy as np

from headstart.arrays import Floats
from headstart.checks import Available, check_action, check_available, check_number, check_outcome_in
from headstart.errors import OptionError
from headstart.oracles.greedy import Greedy
from headstart.parts import ContextLike, Oracle, OracleAbilities, Readings, Saved, Wrapper, load_parts, save_parts
from headstart.randomness import RNG, as_generator


class StochasticDelayedBandit(Wrapper):
    """A base oracle that learns only what it asked for; a heuristic decides while it waits.

    Outcomes wait in one queue per action. The base names the action it wants; while that queue has an
    outcome, the base learns it and names the next one. When the queue is empty, the action is played, unless
    `max_waiting` plays of it are already in flight: then the heuristic, which learns everything at
    once, decides. So the base sees the sequence it would have seen without delay. Rows of a log are
    outcomes that wait: feed them with `update`, or `WarmStart(sdb, HistoricalAverage(log), schedule="batch")`.
    What is in flight is what it was told to `expect` and is not released yet: who tells nothing has no delay.

    The queues and the waiting are those of Mandel et al. for one user at a time; where they mix the two
    algorithms' chances over a batch of users, here a batch is one user, and the mix is one or the other.

    Parameters
    ----------
    base
        The oracle that learns what it asked for.
    heuristic
        What decides while the base waits; None: `Greedy`.
    max_waiting
        Plays of an action that may be in flight before the heuristic decides.

    Raises
    ------
    OptionError
        If base and heuristic have different numbers of actions, or `max_waiting` is below 1.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.StochasticDelayedBandit(hs.UCB(2))
    >>> oracle.play(None)
    0
    >>> oracle.expect(None, 0)  # its outcome is still to come
    >>> oracle.release(None, 0)
    >>> oracle.update(None, action=0, outcome=1.0)
    >>> oracle.play(None)
    1
    """

    def __init__(self, base: Oracle, heuristic: Oracle | None = None, max_waiting: int = 1) -> None:
        self.base = base
        self.heuristic: Oracle = Greedy(base.n_actions) if heuristic is None else heuristic
        if self.heuristic.n_actions != base.n_actions:
            raise OptionError(f"base has {base.n_actions} actions, heuristic {self.heuristic.n_actions}")
        self.max_waiting = int(check_number("max_waiting", max_waiting, low=1))
        self._queues: list[deque[tuple[ContextLike, float]]] = [deque() for _ in range(base.n_actions)]
        self._in_flight = np.zeros(base.n_actions, dtype=np.int64)
        self._wanted: int | None = None

    @property
    def inner(self) -> Oracle:
        """The base."""
        return self.base

    def play(self, context: ContextLike = None, available: Available = None) -> int:
        """The action that the base waits for, or the heuristic's choice while enough of it are in flight."""
        wanted = self._settle(context)
        return wanted if self._is_playable(wanted, available) else self.heuristic.play(context, available)

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """Queue an outcome for the base; the heuristic learns it now."""
        index = check_action(action, self.n_actions)
        number = check_outcome_in(outcome, *self.outcome_range, "the base")
        self.heuristic.update(context, index, number)
        self._queues[index].append((context, number))

    @property
    def waits(self) -> bool:
        """Yes: that is its subject."""
        return True

    def expect(self, context: ContextLike, action: int) -> None:
        """A decision was made whose outcome is still to come."""
        self._in_flight[check_action(action, self.n_actions)] += 1
        OracleAbilities(self.heuristic).expect(context, action)

    def release(self, context: ContextLike, action: int) -> None:
        """An expected decision is in flight no more: its outcome has come (`update` is next) or never will."""
        index = check_action(action, self.n_actions)
        self._in_flight[index] = max(0, self._in_flight[index] - 1)
        OracleAbilities(self.heuristic).release(context, action)

    def probabilities(self, context: ContextLike = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""
        wanted = self._settle(context)
        if not self._is_playable(wanted, available):
            return self.heuristic.probabilities(context, available)
        return np.eye(self.n_actions)[wanted]

    def readings(self) -> Readings:
        """The heuristic's readings: it has learnt everything there is."""
        return OracleAbilities(self.heuristic).readings()

    def reseed(self, rng: RNG) -> None:
        """New randomness for base and heuristic; what was learnt stays."""
        generator = as_generator(rng)
        for part in (self.base, self.heuristic):
            OracleAbilities(part).reseed(generator)

    def get_state(self) -> Saved:
        """Everything learnt, queued and in flight."""
        return {
            **save_parts(self._parts),
            "queues": [[[deepcopy(context), outcome] for context, outcome in queue] for queue in self._queues],
            "in_flight": self._in_flight.copy(),
            "wanted": self._wanted,
        }

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state`: the same future."""
        load_parts(self._parts, saved)
        self._queues = [
            deque((deepcopy(context), outcome) for context, outcome in queue) for queue in saved["queues"]
        ]
        self._in_flight, self._wanted = np.array(saved["in_flight"], dtype=np.int64), saved["wanted"]

    @property
    def _parts(self) -> dict[str, object]:
        return {"base": self.base, "heuristic": self.heuristic}

    def _settle(self, context: ContextLike) -> int:
        """Let the base learn from the queues until it wants an action whose queue is empty."""
        if self._wanted is None:
            self._wanted = self.base.play(context)
        while self._queues[self._wanted]:
            then, outcome = self._queues[self._wanted].popleft()
            self.base.update(then, self._wanted, outcome)
            self._wanted = self.base.play(context)
        return self._wanted

    def _is_playable(self, wanted: int, available: Available) -> bool:
        if available is not None and not check_available(available, self.n_actions)[wanted]:
            return False
        return bool(self._in_flight[wanted] < self.max_waiting)

    def __repr__(self) -> str:
        return f"StochasticDelayedBandit({self.base!r}, {self.heuristic!r})"
