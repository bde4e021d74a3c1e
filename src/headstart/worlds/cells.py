"""A world of a few kinds of users with a success rate per kind and action, and a log of a stated design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers, Words
from headstart.errors import OptionError
from headstart.kernels import (
    draw_context,
    draw_outcome,
    draw_user,
    expected_outcomes,
    implements,
    kernel,
)
from headstart.kernels.arrays import copy_into
from headstart.kernels.random import draw_category, draw_uniform
from headstart.logs.log import Log
from headstart.randomness import as_words
from headstart.worlds.drawn import DrawnWorld, TruePopulation


class CellsState(NamedTuple):
    rates: Floats  # (C, K)
    shares: Floats  # (C,)
    means: Floats  # (K,)
    is_contextual: bool
    present: Integers  # (1,) the present user's kind
    rng: Words  # (4,)


@kernel
def _draw_kind(state: CellsState, out: Floats) -> int:
    kind = draw_category(state.rng, state.shares)
    out[0] = kind
    return kind


@implements(draw_user, CellsState)
def _draw_user(state: CellsState, out: Floats) -> None:
    state.present[0] = _draw_kind(state, out)


@implements(draw_context, CellsState)
def _draw_context(state: CellsState, out: Floats) -> None:
    _draw_kind(state, out)


@implements(draw_outcome, CellsState)
def _draw_outcome(state: CellsState, action: int) -> float:
    return 1.0 if draw_uniform(state.rng) < state.rates[state.present[0], action] else 0.0


@implements(expected_outcomes, CellsState)
def _expected(state: CellsState, out: Floats) -> None:
    if state.is_contextual:
        copy_into(out, state.rates[state.present[0]])
    else:
        copy_into(out, state.means)


@dataclass(frozen=True)
class Cells:
    """Users of C kinds; the context is the kind, 0..C-1; outcomes are clicks (0 or 1).

    Parameters
    ----------
    rates
        Success rate per kind (row) and action (column).
    shares
        How common each kind is among users.
    log_counts
        How many users of each kind (row) were shown each action (column) in the log. The design is fixed;
        only their clicks are random. Propensities are the design's: count / total of the kind.
    """

    rates: Sequence[Sequence[float]]
    shares: Sequence[float]
    log_counts: Sequence[Sequence[int]]
    is_contextual: bool = False

    def __post_init__(self) -> None:
        rates, counts = np.asarray(self.rates, dtype=float), np.asarray(self.log_counts)
        if rates.ndim != 2 or counts.shape != rates.shape or len(self.shares) != rates.shape[0]:
            raise OptionError("rates and log_counts must be kinds x actions, shares one per kind")
        if not ((rates >= 0) & (rates <= 1)).all():
            raise OptionError("rates must be in [0, 1]")
        if abs(sum(self.shares) - 1.0) > 1e-9 or min(self.shares) < 0:
            raise OptionError(f"shares must sum to 1, got {list(self.shares)}")
        if (counts < 0).any() or counts.sum() == 0:
            raise OptionError("log_counts must be counts, at least one of them above 0")

    @property
    def n_actions(self) -> int:
        return len(self.rates[0])

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """One log of this design and a stream of users."""
        rates, shares = np.asarray(self.rates, dtype=float), np.asarray(self.shares, dtype=float)
        counts = np.asarray(self.log_counts, dtype=np.int64)
        n_actions = counts.shape[1]
        cells = np.repeat(np.arange(counts.size), counts.reshape(-1))
        kinds, actions = cells // n_actions, cells % n_actions
        outcomes = (rng.random(cells.size) < rates.reshape(-1)[cells]).astype(float)
        shown = counts.sum(axis=1, keepdims=True)
        policy = np.where(shown > 0, counts / np.maximum(shown, 1), 1.0 / n_actions)
        log = Log(
            actions,
            outcomes,
            kinds.reshape(-1, 1).astype(float),
            policy[kinds],
            n_actions=n_actions,
            context_names=["kind"],
        )
        state = CellsState(
            rates, shares, shares @ rates, self.is_contextual, np.zeros(1, dtype=np.int64), as_words(rng)
        )
        elsewhere = state._replace(present=np.zeros(1, dtype=np.int64), rng=as_words(rng))
        population = TruePopulation(elsewhere, 1)
        return DrawnWorld(log, 1, state, population)
