"""Replay: what a policy would have earned, from events whose actions were chosen by lot (Li et al. 2011)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from headstart import kernels
from headstart.arrays import Bools, Floats, Integers
from headstart.errors import LogError, OptionError
from headstart.kernels import play, update
from headstart.kernels.arrays import copy_into
from headstart.logs.log import Log
from headstart.parts.abilities import OracleAbilities
from headstart.parts.contracts import Oracle, State
from headstart.randomness import RNG, as_generator


@dataclass(frozen=True)
class Events:
    """Users that came, the actions they could have been shown, the one they were shown and what came of it."""

    contexts: Floats  # (n, d)
    actions: Integers  # (n,)
    outcomes: Floats  # (n,)
    pools: Bools  # (P, K) the different sets of available actions
    pool_of: Integers  # (n,) which of them an event had
    action_names: tuple[Hashable, ...]  # (K,)
    keep_chances: Floats | None = None  # (n,) of having survived a deletion; None: nothing was deleted

    def __post_init__(self) -> None:
        if len(self) == 0:
            raise LogError("there are no events")
        wrong = ~self.pools[self.pool_of, self.actions]
        if wrong.any():
            row = int(np.argmax(wrong))
            raise LogError(f"event {row} shows action {self.actions[row]}, which is not among its available ones")

    def __len__(self) -> int:
        return self.outcomes.size

    @property
    def n_actions(self) -> int:
        return int(self.pools.shape[1])

    @property
    def n_features(self) -> int:
        return int(self.contexts.shape[1])

    @property
    def propensities(self) -> Floats:
        """The chance of the action shown, (n,): one in as many as were available, times that of being kept."""
        chances = 1.0 / self.pools.sum(axis=1)[self.pool_of]
        return np.asarray(chances if self.keep_chances is None else chances * self.keep_chances)

    def take(self, rows: ArrayLike) -> Events:
        """These events (indices, a mask or a slice's indices), in this order."""
        chosen = np.asarray(rows)
        kept = None if self.keep_chances is None else self.keep_chances[chosen]
        return replace(
            self,
            contexts=self.contexts[chosen],
            actions=self.actions[chosen],
            outcomes=self.outcomes[chosen],
            pool_of=self.pool_of[chosen],
            keep_chances=kept,
        )

    def as_log(self) -> Log:
        """The events as a log with their propensities. Logs know no availability: it stays behind."""
        return Log(self.actions, self.outcomes, self.contexts, self.propensities, n_actions=self.n_actions)


def split_events(events: Events, share: float = 0.2, rng: RNG = None) -> tuple[Events, Events]:
    """The events dealt by lot: this share of them for the log, the rest for the stream."""
    n_log = round(share * len(events))
    if not 0 < n_log < len(events):
        raise OptionError(f"share must leave events on both sides, got {share} of {len(events)}")
    order = as_generator(rng).permutation(len(events))
    return events.take(order[:n_log]), events.take(order[n_log:])


def delete_biased(events: Events, n_top: int = 3, chance: float = 0.9, rng: RNG = None) -> Events:
    """The paper's Exp6: delete what speaks for the best actions and against the others.

    An event is deleted with this chance if its action is among the `n_top` with the largest average outcome and
    the outcome is 1, or if it is not among them and the outcome is 0. The chance depends on the outcome itself, so
    no adjustment by contexts can mend it, only the known chances (`keep_chances`).
    """
    if not 0.0 <= chance < 1.0:
        raise OptionError(f"chance must be in [0, 1), got {chance}")
    counts = np.bincount(events.actions, minlength=events.n_actions)
    sums = np.bincount(events.actions, events.outcomes, events.n_actions)
    averages = np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
    is_top = np.zeros(events.n_actions, dtype=np.bool_)
    is_top[np.argsort(-averages, kind="stable")[:n_top]] = True
    is_against = np.where(is_top[events.actions], events.outcomes == 1.0, events.outcomes == 0.0)
    kept = np.where(is_against, 1.0 - chance, 1.0)
    survivors = as_generator(rng).random(len(events)) < kept
    if not survivors.any():
        raise LogError("no event survived the deletion")
    return replace(events.take(survivors), keep_chances=kept[survivors])


@dataclass(frozen=True)
class Replay:
    """What a policy earned in the events that counted."""

    outcomes: Floats  # (c,) of the events that counted, in their order
    n_events: int  # gone through, those that did not count included

    @property
    def mean(self) -> float:
        """Reward per counted event."""
        return float(self.outcomes.mean())


def replay_events(policy: Oracle, events: Events, rounds: int | None = None, rng: RNG = None) -> Replay:
    """Show the events to a policy; those count, and are learnt from, whose action is the policy's own choice.

    The outcomes of the counted events are distributed as if the policy had met its users (Li et al. 2011,
    Theorem 1), provided that the events' actions were chosen uniformly among the available ones and that events
    do not depend on each other.

    Parameters
    ----------
    policy
        An oracle or a warm start; it is changed.
    events
        The stream.
    rounds
        Stop when this many events counted; if the stream ends before, it is gone through again in a new order (the
        authors' way: the same users then come again, so a longer replay is not worth as many users). By default
        the stream is gone through once.
    rng
        Puts the stream in a random order; None for the first pass as it is.
    """
    if rounds is not None and rounds < 1:
        raise OptionError(f"rounds must be at least 1, got {rounds}")
    outcomes = np.empty(len(events) if rounds is None else rounds)
    done = np.zeros(2, dtype=np.int64)  # counted, seen
    order = np.arange(len(events)) if rng is None else as_generator(rng).permutation(len(events))
    abilities = OracleAbilities(policy)
    abilities.reserve(outcomes.size)
    state = abilities.kernel_state
    while True:
        before = done[0]
        if state is None:
            _replay_plain(policy, events, order, outcomes, done)
        else:
            _replay_compiled(state, events, order, outcomes, done)
        if rounds is None or done[0] == rounds:
            return Replay(outcomes[: done[0]].copy(), int(done[1]))
        if done[0] == before:
            raise LogError(f"the policy agreed with none of {len(events)} events: {rounds} rounds cannot be counted")
        order = as_generator(rng).permutation(len(events))


def _run(
    policy: State,
    contexts: Floats,
    actions: Integers,
    logged: Floats,
    pools: Bools,
    pool_of: Integers,
    order: Integers,
    context: Floats,
    available: Bools,
    outcomes: Floats,
    done: Integers,
) -> None:
    for i in range(order.size):
        if done[0] == outcomes.size:
            return
        event = order[i]
        copy_into(context, contexts[event])
        copy_into(available, pools[pool_of[event]])
        done[1] += 1
        if play(policy, context, available) == actions[event]:
            update(policy, context, actions[event], logged[event])
            outcomes[done[0]] = logged[event]
            done[0] += 1


def _replay_compiled(state: State, events: Events, order: Integers, outcomes: Floats, done: Integers) -> None:
    arguments = (
        state,
        *(events.contexts, events.actions, events.outcomes, events.pools, events.pool_of, order),
        *(np.empty(events.n_features), np.empty(events.n_actions, dtype=np.bool_), outcomes, done),
    )
    kernels.call(_run, *arguments)


def _replay_plain(policy: Oracle, events: Events, order: Integers, outcomes: Floats, done: Integers) -> None:
    """The same, one Python call at a time, for parts without kernels."""
    for event in order:
        if done[0] == outcomes.size:
            return
        context, action, outcome = events.contexts[event], int(events.actions[event]), float(events.outcomes[event])
        done[1] += 1
        if policy.play(context, events.pools[events.pool_of[event]]) == action:
            policy.update(context, action, outcome)
            outcomes[done[0]] = outcome
            done[0] += 1
