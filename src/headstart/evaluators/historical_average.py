"""Historical average: outcomes of the same action, whatever the context (HUCB; Shivaswamy and Joachims 2012)."""

from __future__ import annotations

from typing import Any, NamedTuple

from headstart.evaluators.compiled import CompiledEvaluator
from headstart.kernels import get_outcome, implements, is_exhausted
from headstart.kernels.strata import Strata, are_stopped, draw_row, make_strata
from headstart.log import Log
from headstart.randomness import RNG, as_generator


class HistoricalAverageState(NamedTuple):
    strata: Strata  # one per action


@implements(get_outcome, HistoricalAverageState)
def _get_outcome(state: Any, context: Any, action: Any) -> Any:
    return draw_row(state.strata, action, action)


@implements(is_exhausted, HistoricalAverageState)
def _is_exhausted(state: Any) -> Any:
    return are_stopped(state.strata)


class HistoricalAverage(CompiledEvaluator):
    """A random unused row of the same action. Equal to exact matching when all rows share one context.

    It ignores what the logging policy looked at: with a confounded log it is biased, which is what it is
    here to show.
    """

    def __init__(self, log: Log, rng: RNG = None) -> None:
        strata = make_strata(
            log.actions, log.actions, log.outcomes, log.n_actions, log.n_actions, as_generator(rng)
        )
        super().__init__(log, HistoricalAverageState(strata))
