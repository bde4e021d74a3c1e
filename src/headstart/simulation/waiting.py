"""Waiting: a policy whose users' outcomes come late, or a batch at a time."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels import expect, implements, play, probabilities, release, update
from headstart.kernels.arrays import copy_into
from headstart.parts import ContextLike, Oracle, OracleAbilities, State, Wrapper
from headstart.warmstart.forwarding import fill_inner, play_inner


class WaitingState(NamedTuple):
    policy: State
    contexts: Floats  # (delay + batch, d) of the users in flight: user i is in row i mod delay + batch
    actions: Integers  # (delay + batch,)
    outcomes: Floats  # (delay + batch,)
    n_users: Integers  # (2,) users so far, and those whose outcomes were learnt
    delay: int
    batch: int


implements(play, WaitingState)(play_inner)
implements(probabilities, WaitingState)(fill_inner)


@implements(update, WaitingState)
def _update(state: WaitingState, context: Floats, action: int, outcome: float) -> None:
    expect(state.policy, context, action)
    n_rows = state.actions.size
    row = state.n_users[0] % n_rows
    copy_into(state.contexts[row], context)
    state.actions[row], state.outcomes[row] = action, outcome
    state.n_users[0] += 1
    if state.n_users[0] % state.batch == 0:
        while state.n_users[1] < state.n_users[0] - state.delay:
            row = state.n_users[1] % n_rows
            release(state.policy, state.contexts[row], state.actions[row])
            update(state.policy, state.contexts[row], state.actions[row], state.outcomes[row])
            state.n_users[1] += 1


class Waiting(Wrapper):
    """The policy learns an outcome when `delay` more users have been decided for, at the end of a `batch` of users.

    After user n's decision it is told to `expect` an outcome. If n is a multiple of `batch`, the outcomes of users up
    to n - delay come then, the oldest first: `release`, then `update`. With a delay alone so many users are in flight
    at each decision; with a batch alone nobody at its first, and all but one at its last.

    Parameters
    ----------
    policy
        Who decides and learns.
    n_features
        The length of a context.
    """

    def __init__(self, policy: Oracle, delay: int, batch: int, n_features: int) -> None:
        self._policy, self._delay, self._batch = policy, delay, batch
        self._waiting: deque[tuple[ContextLike, int, float]] = deque()
        self._n_decided = 0
        rows = delay + batch
        self._arrays = (
            np.empty((rows, n_features)),
            np.empty(rows, dtype=np.int64),
            np.empty(rows),
            np.zeros(2, dtype=np.int64),
        )

    @property
    def inner(self) -> Oracle:
        """The policy that waits."""
        return self._policy

    def around(self, inner: State) -> WaitingState:
        """The state of the whole around the policy's."""
        return WaitingState(inner, *self._arrays, self._delay, self._batch)

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """A user's outcome, which the policy expects from now on and learns when it is due."""
        abilities = OracleAbilities(self._policy)
        abilities.expect(context, action)
        self._waiting.append((np.array(context), action, outcome))  # a world may use one array for all its users
        self._n_decided += 1
        if self._n_decided % self._batch == 0:
            while len(self._waiting) > self._delay:
                then, due, came = self._waiting.popleft()
                abilities.release(then, due)
                self._policy.update(then, due, came)

    def __repr__(self) -> str:
        return repr(self._policy)
