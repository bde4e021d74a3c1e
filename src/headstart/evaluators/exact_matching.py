"""Exact matching (OfflineEvaluator 1; Stuart 2010): a logged row with the same context and the same action."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headstart.evaluators.compiled import CompiledEvaluator
from headstart.evaluators.lookup import make_lookup
from headstart.kernels import get_outcome, implements, is_exhausted
from headstart.kernels.strata import (
    CountedStrata,
    Lookup,
    Strata,
    are_stopped,
    draw_row,
    find_key,
    make_counted_strata,
    make_strata,
)
from headstart.logs.log import Log
from headstart.randomness import RNG, as_generator, as_words


class ExactMatchingState(NamedTuple):
    lookup: Lookup
    strata: Strata | CountedStrata  # one per (context, action) that the log shows


@implements(get_outcome, ExactMatchingState)
def _get_outcome(state: Any, context: Any, action: Any) -> Any:
    if state.strata.is_stopped[action]:
        return np.nan
    return draw_row(state.strata, find_key(state.lookup, context, action), action)


@implements(is_exhausted, ExactMatchingState)
def _is_exhausted(state: Any) -> Any:
    return are_stopped(state.strata)


class ExactMatching(CompiledEvaluator):
    """A random unused row with exactly this context and action.

    An action is stopped for good the first time that no row matches (the paper's S_a): going on would
    over-sample the contexts that still have rows. Unbiased when contexts are drawn from the population that
    decides and the context holds all confounders. Contexts are compared number by number; -0.0 is 0.0. Of a table it
    keeps how often each outcome occurred in each category (context and action), not the rows.
    """

    needs_context = True

    def __init__(self, log: Any, rng: RNG = None) -> None:
        strata: Strata | CountedStrata
        if isinstance(log, Log):
            lookup, keys = make_lookup(log.contexts, log.actions)
            strata = make_strata(keys, log.actions, log.outcomes, lookup.tags.size, log.n_actions, as_generator(rng))
        else:
            found = log.category_counts()
            lookup, keys = make_lookup(found.strata, found.actions)
            strata = make_counted_strata(
                keys, found.actions, found.outcomes, found.counts, lookup.tags.size, log.n_actions, as_words(rng)
            )
        super().__init__(log, ExactMatchingState(lookup, strata))
