"""A world of stated means whose outcomes scatter as a log's did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers, Words
from headstart.errors import OptionError
from headstart.kernels import draw_outcome, draw_user, expected_outcomes, implements
from headstart.kernels.arrays import copy_into
from headstart.kernels.random import draw_below, draw_uniform
from headstart.logs.log import Log
from headstart.randomness import as_words
from headstart.worlds.drawn import DrawnWorld, freeze


class ResampledState(NamedTuple):
    contexts: Floats  # (n, d) read-only
    expected: Floats  # (n, K) read-only: of every user under every action
    means: Floats  # (K,)
    residuals: Floats  # (r,) read-only: those of action 0, then of action 1, ...; empty for 0/1 outcomes
    ends: Integers  # (K + 1,) where an action's residuals begin, and where the last ones end
    is_binary: bool
    is_contextual: bool
    present: Integers  # (1,) the present user's row
    rng: Words  # (4,)


@implements(draw_user, ResampledState)
def _draw_user(state: ResampledState, out: Floats) -> None:
    state.present[0] = draw_below(state.rng, state.expected.shape[0])
    copy_into(out, state.contexts[state.present[0]])


@implements(draw_outcome, ResampledState)
def _draw_outcome(state: ResampledState, action: int) -> float:
    mean, first = state.expected[state.present[0], action], state.ends[action]
    if state.is_binary:
        return 1.0 if draw_uniform(state.rng) < mean else 0.0
    return mean + state.residuals[first + draw_below(state.rng, state.ends[action + 1] - first)]


@implements(expected_outcomes, ResampledState)
def _expected(state: ResampledState, out: Floats) -> None:
    if state.is_contextual:
        copy_into(out, state.expected[state.present[0]])
    else:
        copy_into(out, state.means)


class Resampled:
    """Users are rows, drawn with replacement; an outcome is the row's mean under the action plus a residual drawn
    from the action's own; or 0/1, with the mean as its chance.

    Parameters
    ----------
    log
        The past of this world, as it is.
    expected
        (n, K): the mean outcome of every user under every action; one row if users do not differ.
    contexts
        (n, d): what is seen of them; None: nothing.
    residuals
        Per action what its outcomes differ from their mean by; None: outcomes are 0 or 1.
    is_contextual
        Regret against each user's own best action instead of the best action for all.
    """

    def __init__(
        self,
        log: Log,
        expected: Floats,
        contexts: Floats | None = None,
        residuals: Sequence[Floats] | None = None,
        *,
        is_contextual: bool = False,
    ) -> None:
        n, k = expected.shape
        if k != log.n_actions or not n or not np.isfinite(expected).all():
            raise OptionError(f"expected must be finite, users x {log.n_actions} actions, got {expected.shape}")
        if residuals is None and not ((expected >= 0.0) & (expected <= 1.0)).all():
            raise OptionError("expected must be in [0, 1] for outcomes that are 0 or 1")
        if residuals is not None and (len(residuals) != k or not all(each.size for each in residuals)):
            raise OptionError(f"residuals must be of {k} actions, at least one of each")
        if contexts is not None and len(contexts) != n:
            raise OptionError(f"contexts must have one row per row of expected ({n}), got {len(contexts)}")
        self.log, self.is_contextual, self.is_binary = log, is_contextual, residuals is None
        self._expected = freeze(np.array(expected, dtype=np.float64))
        self._contexts = freeze(np.empty((n, 0)) if contexts is None else np.array(contexts, dtype=np.float64))
        parts = [np.empty(0)] * k if residuals is None else list(residuals)
        self._residuals = freeze(np.concatenate(parts))
        self._ends = freeze(np.cumsum([0, *(each.size for each in parts)]).astype(np.int64))

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """The world as it is stated, and a stream of users."""
        state = ResampledState(
            self._contexts,
            self._expected,
            freeze(self._expected.mean(axis=0)),
            self._residuals,
            self._ends,
            self.is_binary,
            self.is_contextual,
            np.zeros(1, dtype=np.int64),
            as_words(rng),
        )
        return DrawnWorld(self.log, self._contexts.shape[1], state)
