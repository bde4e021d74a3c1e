"""Historical average: outcomes of the same action, whatever the context (HUCB; Shivaswamy and Joachims 2012)."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from headstart.arrays import Floats
from headstart.estimates.summary import Summary
from headstart.estimates.weighted import unweighted, weigh_sums
from headstart.evaluators.compiled import CompiledEvaluator
from headstart.kernels import get_outcome, implements, is_exhausted
from headstart.kernels.strata import CountedStrata, Strata, are_stopped, draw_row, make_counted_strata, make_strata
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.randomness import RNG, as_generator, as_words


class HistoricalAverageState(NamedTuple):
    strata: Strata | CountedStrata  # one per action


@implements(get_outcome, HistoricalAverageState)
def _get_outcome(state: HistoricalAverageState, context: Floats, action: int) -> float:
    return draw_row(state.strata, action, action)


@implements(is_exhausted, HistoricalAverageState)
def _is_exhausted(state: HistoricalAverageState) -> bool:
    return are_stopped(state.strata)


class HistoricalAverage(CompiledEvaluator[HistoricalAverageState]):
    """A random unused row of the same action. Equal to exact matching when all rows share one context.

    It ignores what the logging policy looked at: with a confounded log it is biased, which is what it is
    here to show. Of a table it keeps how often each outcome occurred, not the rows.

    Parameters
    ----------
    log
        A `Log`, or a `LogTable` of any size.
    rng
        A numpy Generator or a seed; None draws a new one.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["a", "b"], [1, 0])
    >>> evaluator = hs.HistoricalAverage(log, rng=1)
    >>> evaluator.get_outcome(None, 0), evaluator.get_outcome(None, 0)
    (1.0, None)
    """

    answers_with_rows = True

    def __init__(self, log: AnyLog, rng: RNG = None) -> None:
        strata: Strata | CountedStrata
        k = log.n_actions
        if isinstance(log, Log):
            strata = make_strata(log.actions, log.actions, log.outcomes, k, k, as_generator(rng))
        else:
            found = log.outcome_counts()
            strata = make_counted_strata(
                found.actions, found.actions, found.outcomes, found.counts, k, k, as_words(rng)
            )
        super().__init__(log, HistoricalAverageState(strata))

    @cached_property
    def _summary(self) -> Summary:
        sums = self._asked.action_sums()
        return weigh_sums(unweighted(sums.n, sums.y, sums.yy)).summary

    def _ask_everything(self) -> tuple[object, ...]:
        return *super()._ask_everything(), self._summary

    def summary(self) -> Summary:
        """The mean of each action's rows, s / sqrt(n) and s^2 (n - 1 in its denominator).

        The errors are those of the *rows'* mean; what confounding does to it they do not know. One row says nothing
        of its own error: infinite.
        """
        return self._summary
