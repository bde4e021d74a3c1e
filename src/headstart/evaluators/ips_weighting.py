"""Inverse propensity score weighting (OfflineEvaluator 3): the weighted mean, as often as it is worth plays."""

from __future__ import annotations

from functools import cached_property

from headstart.errors import OptionError
from headstart.estimates.population import population_weights
from headstart.estimates.summary import Summary
from headstart.estimates.weighted import WeightedMeans, weigh_rows, weigh_sums
from headstart.evaluators.compiled import BudgetEvaluator, check_has_propensities
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log


class IPSWeighting(BudgetEvaluator):
    """mean_a = sum(y_i / p_i) / sum(1 / p_i) over the rows of action a, answered floor(N_a) times.

    N_a = (sum 1/p)^2 / sum 1/p^2, the effective sample size; with constant propensities it is the number of
    rows. Assumes that the context holds all confounders and that p is the true chance of the action taken.
    Treating N_a as a number of plays is optimistic (METHODS.md).

    `population` (contexts of the users to come: a matrix, a data frame or a Log) multiplies each row's weight by how
    much more common its like is among them (`population_weights`); the standard errors take these weights as given.

    Parameters
    ----------
    log
        A `Log`, or a `LogTable` of any size.
    population
        Contexts of the users to come, if they differ from the log's: a matrix, a data frame or a Log.

    Raises
    ------
    LogError
        If the log has no propensities.
    OptionError
        If a population is given with a table: take rows first.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> evaluator = hs.IPSWeighting(log)
    >>> evaluator.means.round(3)
    array([0.5  , 0.286])
    >>> evaluator.effective_sizes.round(2)
    array([2.  , 1.69])
    """

    def __init__(self, log: AnyLog, *, population: object = None) -> None:
        check_has_propensities(log, "IPSWeighting")
        if isinstance(log, Log):
            assert log.propensities is not None
            weights = 1.0 / log.propensities
            if population is not None:
                weights *= population_weights(log, population)
            found = self._weighed = weigh_rows(log.actions, log.outcomes, weights, log.n_actions)
        elif population is not None:
            raise OptionError("population= weighs rows one by one: take rows first, log.sample(100_000)")
        else:
            found = weigh_sums(log.action_sums(only=("n", "w", "wy", "wyy", "ww")))
        super().__init__(log, found.means, found.sizes, found.scatters)

    @cached_property
    def _weighed(self) -> WeightedMeans:
        """A table is asked for the rest of its sums when somebody wants an error."""
        return weigh_sums(self._asked.action_sums())

    def _ask_everything(self) -> tuple[object, ...]:
        return *super()._ask_everything(), self._weighed

    def summary(self) -> Summary:
        """Means, honest standard errors and variances; unlike N_a they know that outcomes and weights go together."""
        return self._weighed.summary
