"""Balanced weighting: weights that make each action's rows look like the whole log (entropy balancing).

Hainmueller (2012). The paper names Kallus (2018) for the idea of balancing instead of inverting
propensities; entropy balancing is the convex member of that family whose weights are positive and which
has no kernel to choose.
"""

from __future__ import annotations

import numpy as np

from headstart.checks import check_number
from headstart.estimates.population import RIDGE, as_population, balancing_weights
from headstart.estimates.ridge import predict_for, standardise
from headstart.estimates.summary import Summary, correct_means
from headstart.estimates.weighted import weigh_rows
from headstart.evaluators.compiled import BudgetEvaluator
from headstart.logs.log import Log

__all__ = ["BalancedWeighting", "balancing_weights"]


class BalancedWeighting(BudgetEvaluator):
    """The weighted mean per action with weights that balance the contexts' means, floor(N_a) times.

    Needs no propensities. Unbiased when the outcome is linear in the contexts or the log-odds of the action
    are; N_a is Kish's effective sample size of the weights.

    Parameters
    ----------
    log
        A `Log`.
    ridge
        Of standardised columns: the balance that is given up when no weights can reach it.
    population
        Contexts of the users to come (a matrix, a data frame or a Log), if they are not such as the log's: the
        weights balance towards their means.

    Raises
    ------
    OptionError
        If `ridge` is not positive.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> evaluator = hs.BalancedWeighting(log)
    >>> bool((evaluator.effective_sizes > 50).all())
    True
    """

    def __init__(self, log: Log, ridge: float = RIDGE, *, population: object = None) -> None:
        penalty = check_number("ridge", ridge, low=1e-12)
        users = None if population is None else as_population(population, log)
        self._standard = standardise(log.contexts, *([] if users is None else [users]))
        d = self._standard[0].shape[1]
        target = np.zeros(d) if users is None else self._standard[1].mean(axis=0)
        weights = np.ones(len(log))
        for a in range(log.n_actions):
            rows = log.actions == a
            if rows.any() and d:
                weights[rows] = balancing_weights(self._standard[0][rows], target, penalty)
        self._rows = log.actions, log.outcomes, weights
        found = weigh_rows(log.actions, log.outcomes, weights, log.n_actions)
        super().__init__(log, found.means, found.sizes, found.scatters)

    def summary(self) -> Summary:
        """What the log knows per action; the errors are those of the part that the contexts do not explain linearly.

        Balanced weights leave no error of what is linear in the contexts but how the population's own mean varies;
        the rest is the weighted residuals', from a cross-fitted ridge regression (`predict_for`). Where the balance
        could not be reached, the means are corrected by that regression.
        """
        actions, outcomes, weights = self._rows
        shares = weights / np.bincount(actions, weights, self.n_actions)[actions]
        inside, outside = predict_for(actions, outcomes, self.n_actions, *self._standard)
        return correct_means(actions, outcomes, shares, inside, outside).summary
