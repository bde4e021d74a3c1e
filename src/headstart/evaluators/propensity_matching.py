"""Propensity score matching (OfflineEvaluator 2): a logged row of a similar propensity vector and the same action."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart import kernels
from headstart.arrays import Floats, Scratch
from headstart.checks import check_action, check_context
from headstart.errors import OptionError
from headstart.estimates.propensity import LogisticPropensity, check_vector
from headstart.evaluators.compiled import CompiledEvaluator
from headstart.evaluators.lookup import look_up_counts, look_up_rows, make_lookup
from headstart.kernels import Entry, State, fill_propensities, get_outcome, implements, is_exhausted, kernel
from headstart.kernels.arrays import copy_into
from headstart.kernels.strata import (
    CountedStrata,
    Lookup,
    Strata,
    are_stopped,
    draw_row,
    find_key,
)
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.parts import Abilities
from headstart.randomness import RNG

_MODEL_ROWS = 100_000  # of a table: what its default model is fitted to


class KnownPropensityState(NamedTuple):
    """The logged vector, rounded to pivots, where the log shows the context; a model elsewhere.

    Nothing but the pivots is asked for. Rounded, the rows of a log are the same numbers wherever they were estimated,
    but for a tie.
    """

    lookup: Lookup  # contexts, all with tag 0
    vectors: Floats  # (m, K) the last column is 0: its pivot is not asked for
    model: State  # one that implements fill_propensities


@implements(fill_propensities, KnownPropensityState)
def _fill_known(state: KnownPropensityState, context: Floats, out: Floats) -> None:
    key = find_key(state.lookup, context, 0)
    if key >= 0:
        copy_into(out, state.vectors[key])
    else:
        fill_propensities(state.model, context, out)


class PropensityMatchingState(NamedTuple):
    propensity: State  # one that implements fill_propensities; empty: a plain function is asked instead
    pivots: Floats  # (q,) sorted
    lookup: Lookup  # lattice points, with the action as tag
    strata: Strata | CountedStrata  # one per (lattice point, action) that the log shows
    vector: Scratch  # (K,)
    point: Scratch  # (K - 1,)


@kernel
def _stratify(pivots: Floats, vector: Floats, point: Floats) -> None:
    """The nearest lattice point: the index of the nearest pivot in each of K - 1 dimensions, ties to the lower."""
    for a in range(point.size):
        nearest = 0
        for k in range(1, pivots.size):
            if abs(vector[a] - pivots[k]) < abs(vector[a] - pivots[nearest]):
                nearest = k
        point[a] = nearest


@kernel
def _draw(state: PropensityMatchingState, action: int) -> float:
    if state.strata.is_stopped[action]:
        return math.nan
    _stratify(state.pivots, state.vector, state.point)
    return draw_row(state.strata, find_key(state.lookup, state.point, action), action)


@implements(get_outcome, PropensityMatchingState)
def _get_outcome(state: PropensityMatchingState, context: Floats, action: int) -> float:
    if state.strata.is_stopped[action]:
        return math.nan
    fill_propensities(state.propensity, context, state.vector)
    return _draw(state, action)


@implements(is_exhausted, PropensityMatchingState)
def _is_exhausted(state: PropensityMatchingState) -> bool:
    return are_stopped(state.strata)


def _stratify_rows(pivots: Floats, vectors: Floats, points: Floats) -> None:
    for i in range(points.shape[0]):
        _stratify(pivots, vectors[i], points[i])


class PropensityMatching(CompiledEvaluator[PropensityMatchingState]):
    """A random unused row of the same action whose propensity vector rounds to the same pivots.

    The vectors' first K - 1 entries are rounded to the nearest of `pivots` each (the full lattice, so K > 2
    works). An action is stopped for good the first time that no row matches.

    Parameters
    ----------
    log
        With whole propensity vectors, rows are stratified by them; otherwise by `propensity`.
    pivots
        Numbers in [0, 1]. More pivots: less bias within a stratum, fewer matches.
    propensity
        The logging policy for any context: a function of a context that returns K chances; it may carry a
        `kernel_state`. By default the logged vector where the log shows the context and a LogisticPropensity
        fitted to the log elsewhere; for a table, a LogisticPropensity fitted to a sample of 100,000 rows.
    rng
        A numpy Generator or a seed; None draws a new one.

    Notes
    -----
    Of a table it keeps how often each outcome occurred in each stratum, not the rows. Rows are stratified by the
    table's own propensity vectors if it has them, otherwise by `propensity`, which must then be logistic.

    Raises
    ------
    LogError
        If the log has no propensities.
    OptionError
        If a pivot is not in [0, 1].

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> evaluator = hs.PropensityMatching(log, rng=1)
    >>> evaluator
    PropensityMatching(n_actions=2)
    """

    needs_context = True
    answers_with_rows = True

    def __init__(
        self,
        log: AnyLog,
        *,
        pivots: Sequence[float] = (0.0, 0.5, 1.0),
        propensity: Callable[[Floats], ArrayLike] | None = None,
        rng: RNG = None,
    ) -> None:
        levels = np.unique(np.asarray(pivots, dtype=np.float64))
        if levels.size == 0 or not ((levels >= 0.0) & (levels <= 1.0)).all():
            raise OptionError(f"pivots must be numbers in [0, 1], got {pivots!r}")
        rows = log if isinstance(log, Log) or propensity is not None else log.sample(_MODEL_ROWS, rng=0)
        model = LogisticPropensity(rows) if propensity is None else propensity
        known = Abilities(model).kernel_state
        self._propensity: Callable[[Floats], ArrayLike] | None = model if known is None else None
        lookup: Lookup
        strata: Strata | CountedStrata
        if isinstance(log, Log):
            points = _points_of_rows(log, levels, model)
            lookup, strata = look_up_rows(points, log, rng)
            if propensity is None and known is not None:
                known = _known_where_shown(log, levels[points.astype(np.int64)], known)
        else:
            # A model that is not logistic is refused there, in words.
            weighed = log if log.has_propensity_vectors else log.with_propensities_from(model)  # type: ignore[arg-type]
            lookup, strata = look_up_counts(weighed.point_counts(levels), log.n_actions, rng)
        state = PropensityMatchingState(
            known or (), levels, lookup, strata, np.empty(log.n_actions), np.empty(log.n_actions - 1)
        )
        self._draw = Entry(_draw, allocates=False)
        super().__init__(log, state)

    @property
    def kernel_state(self) -> PropensityMatchingState | None:
        """None when the propensity is a plain function: then the plain loop is the way."""
        return self._state if self._propensity is None else None

    def get_outcome(self, context: ArrayLike | None, action: int) -> float | None:
        """What would have happened, from the log, or None if it has no (more) answer."""
        if self._propensity is None:
            return super().get_outcome(context, action)
        seen = check_context(context, self.n_features)
        index = check_action(action, self.n_actions)
        self._state.vector[:] = check_vector(self._propensity(seen), self.n_actions)
        outcome: float = self._draw(self._state, index)
        return None if math.isnan(outcome) else outcome


def _points_of_rows(log: Log, levels: Floats, model: Callable[..., ArrayLike]) -> Floats:
    """The lattice point of each row, (n, K - 1)."""
    vectors = log.propensity_matrix
    check_vector(model(log.contexts[0]), log.n_actions)
    if vectors is None:
        vectors = np.array([check_vector(model(row), log.n_actions) for row in log.contexts])
    points = np.empty((len(log), log.n_actions - 1))
    kernels.compiled(_stratify_rows)(levels, vectors, points)
    return points


def _known_where_shown(log: Log, rounded: Floats, model: State) -> KnownPropensityState:
    rows, row_keys = make_lookup(log.contexts, np.zeros(len(log), dtype=np.int64))
    kept = np.zeros((rows.tags.size, log.n_actions))
    kept[row_keys, :-1] = rounded
    return KnownPropensityState(rows, kept, model)
