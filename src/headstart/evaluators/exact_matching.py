"""Exact matching (OfflineEvaluator 1; Stuart 2010): a logged row with the same context and the same action."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.evaluators.compiled import CompiledEvaluator
from headstart.evaluators.lookup import look_up_counts, look_up_rows
from headstart.kernels import get_outcome, implements, is_exhausted
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
from headstart.randomness import RNG


class ExactMatchingState(NamedTuple):
    lookup: Lookup
    strata: Strata | CountedStrata  # one per (context, action) that the log shows


@implements(get_outcome, ExactMatchingState)
def _get_outcome(state: ExactMatchingState, context: Floats, action: int) -> float:
    if state.strata.is_stopped[action]:
        return np.nan
    return draw_row(state.strata, find_key(state.lookup, context, action), action)


@implements(is_exhausted, ExactMatchingState)
def _is_exhausted(state: ExactMatchingState) -> bool:
    return are_stopped(state.strata)


class ExactMatching(CompiledEvaluator[ExactMatchingState]):
    """A random unused row with exactly this context and action.

    An action is stopped for good the first time that no row matches (the paper's S_a): going on would
    over-sample the contexts that still have rows. Unbiased when contexts are drawn from the population that
    decides and the context holds all confounders. Contexts are compared number by number; -0.0 is 0.0. Of a table it
    keeps how often each outcome occurred in each category (context and action), not the rows.

    Parameters
    ----------
    log
        A `Log`, or a `LogTable` of any size.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    LogError
        If a table has too many different contexts to count.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["a", "b"], [1, 0], {"kind": ["x", "y"]})
    >>> evaluator = hs.ExactMatching(log, rng=1)
    >>> evaluator.get_outcome(log.context({"kind": "x"}), 0)
    1.0
    >>> print(evaluator.get_outcome(log.context({"kind": "x"}), 0))  # the only such row is used up
    None
    """

    needs_context = True
    answers_with_rows = True

    def __init__(self, log: AnyLog, rng: RNG = None) -> None:
        lookup: Lookup
        strata: Strata | CountedStrata
        if isinstance(log, Log):
            lookup, strata = look_up_rows(log.contexts, log, rng)
        else:
            lookup, strata = look_up_counts(log.category_counts(), log.n_actions, rng)
        super().__init__(log, ExactMatchingState(lookup, strata))
