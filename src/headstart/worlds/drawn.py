"""What every drawn world shares: users, outcomes and truth, one at a time, from the compiled state."""

from __future__ import annotations

from functools import cached_property
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from headstart import kernels
from headstart.arrays import Floats
from headstart.checks import check_action
from headstart.kernels import Entry
from headstart.kernels.states import copy_state
from headstart.logs.log import Log


def _draw_user(state: kernels.State, out: Floats) -> None:
    kernels.draw_user(state, out)


def _draw_outcome(state: kernels.State, action: int) -> float:
    return kernels.draw_outcome(state, action)


def _expected_outcomes(state: kernels.State, out: Floats) -> None:
    kernels.expected_outcomes(state, out)


A = TypeVar("A", bound=NDArray[np.generic])


class TruePopulation:
    """The true distribution of contexts, as WarmStart's `contexts`: a state that draws them."""

    def __init__(self, state: kernels.State, n_features: int) -> None:
        self.kernel_state = state
        self.n_features = n_features

    def again(self) -> Self:
        """The same distribution from its first draw on."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, kernel_state=copy_state(self.kernel_state))
        return twin


class DrawnWorld:
    """One world, all its unknowns drawn: a log of its past and a stream of its users.

    `simulate` runs the compiled loop on `kernel_state`; the methods here are the same thing by hand.
    """

    def __init__(
        self, log: Log, n_features: int, state: kernels.State, population: TruePopulation | None = None
    ) -> None:
        self.log = log
        self.n_actions = log.n_actions
        self.n_features = n_features
        self.kernel_state = state
        self._population = population

    @cached_property
    def population(self) -> TruePopulation | None:
        """The true distribution of contexts, as WarmStart's `contexts`, from its first draw on."""
        return None if self._population is None else self._population.again()

    def again(self) -> DrawnWorld:
        """The same world from the same first user on, and the same population from its first draw on."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, kernel_state=copy_state(self.kernel_state))
        twin.__dict__.pop("population", None)
        return twin

    # Bound when first asked for: a simulator's loop takes kernel_state and never asks.
    @cached_property
    def _draw_user(self) -> Entry[None]:
        return Entry(_draw_user, allocates=False)

    @cached_property
    def _draw_outcome(self) -> Entry[float]:
        return Entry(_draw_outcome, allocates=False)

    @cached_property
    def _expected_outcomes(self) -> Entry[None]:
        return Entry(_expected_outcomes, allocates=False)

    def draw_user(self) -> Floats:
        """The next user's context."""
        out = np.empty(self.n_features)
        self._draw_user(self.kernel_state, out)
        return out

    def draw_outcome(self, action: int) -> float:
        """What the present user does when shown `action`."""
        return float(self._draw_outcome(self.kernel_state, check_action(action, self.n_actions)))

    def expected_outcomes(self) -> Floats:
        """The mean outcome of each action that regret is measured against, (K,)."""
        out = np.empty(self.n_actions)
        self._expected_outcomes(self.kernel_state, out)
        return out


def freeze(values: A) -> A:
    """The same array, read-only: shared by every copy of the state it is in."""
    values.setflags(write=False)
    return values
