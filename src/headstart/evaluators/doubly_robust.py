"""Doubly robust means: a regression corrected by weighted residuals (Robins et al. 1994), with errors that cover."""

from __future__ import annotations

import warnings

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.estimates.doubly_robust import robust_means
from headstart.estimates.population import as_population
from headstart.estimates.regression import Regressor
from headstart.estimates.summary import ShortIntervalWarning, Summary, word_doubts
from headstart.estimates.table_means import robust_table_means
from headstart.evaluators.compiled import BudgetEvaluator, check_has_propensities
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.randomness import RNG

SAMPLE_ROWS = 100_000  # of a table


class DoublyRobust(BudgetEvaluator):
    """mean_a = average of m_a(x) over the population + weighted mean of y_i - m_a(x_i) over the rows of a.

    The weights are 1/p_i, normalised, cut so that none of n_a rows has more than 1 / sqrt(n_a) of them (after
    Ionides 2008), and calibrated: moved a little so that the contexts' weighted means come near the population's.
    m_a is fitted to other rows (cross-fitting), so its error does not leak into the correction. Right if the
    propensities or the regression are right; answered floor(N_a) times, N_a = variance of the outcome / s.e.^2, at
    most n.

    Parameters
    ----------
    log
        A Log, or a LogTable: then regression and errors are those of 100,000 rows drawn by lot, and the means are
        corrected over all rows (`robust_table_means`): by sums where the regression is lines, else batch by batch.
    estimator
        Any scikit-learn regressor. By default ridge regressions per action that lean on slopes common to all
        (`estimates/ridge.py`), each row predicted by all others; with curves of the columns, or boosted trees on top,
        where rows left out are predicted better by more than a standard error (`estimates/bending.py`).
    population
        Contexts of the users to come (a matrix, a data frame or a Log), if they are not such as the log's. The
        regression is averaged over them and the weights are tilted to their column means.
    n_folds, rng
        For an `estimator`: the number of folds, and who deals the rows into them.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> evaluator = hs.DoublyRobust(log)
    >>> evaluator.summary().n_actions
    2
    """

    def __init__(
        self,
        log: AnyLog,
        estimator: Regressor | None = None,
        *,
        population: object = None,
        n_folds: int = 5,
        rng: RNG = 0,
    ) -> None:
        if n_folds < 2:
            raise OptionError(f"n_folds must be at least 2, got {n_folds}")
        check_has_propensities(log, "DoublyRobust")
        if isinstance(log, Log):
            users = None if population is None else as_population(population, log)
            self._estimate = robust_means(log, estimator, users, n_folds, rng)
        elif estimator is not None or population is not None:
            raise OptionError("estimator= and population= need rows one by one: take rows first, log.sample(100_000)")
        else:
            sample = log.sample(SAMPLE_ROWS, rng=0)
            is_whole = len(sample) == len(log)
            self._estimate = robust_means(sample) if is_whole else robust_table_means(log, sample)
        self._names = tuple(log.action_names)
        super().__init__(log, self._estimate.summary.means, self._worth(log), self._estimate.corrected.scatters)

    def _worth(self, log: AnyLog) -> Floats:
        counts = log.action_sums().n
        found = self._estimate.corrected
        scatters, errors = found.scatters, np.nan_to_num(found.errors, nan=np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = np.minimum(scatters / errors**2, len(log))
        # Every outcome the same: the error is unknown, the rows are what there is.
        return np.where(scatters > 0.0, sizes, counts)

    @property
    def standard_errors(self) -> Floats:
        """The influence function's standard error of each mean, (K,); NaN for an action never shown."""
        return self._estimate.corrected.errors.copy()

    @property
    def regression(self) -> str:
        """What m_a is: "lines", "curves", "boosted trees", or the name of the estimator that was given."""
        return self._estimate.how

    @property
    def note(self) -> str:
        """What must be said of the intervals, in words; "" if nothing."""
        return word_doubts([self._names[a] for a in self._estimate.doubtful]) if self._estimate.doubtful else ""

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of an interval for each mean, (K,) each; infinite for an action never shown.

        Wilson's for outcomes that are 0 or 1, Student's with the skewness undone for others (`estimates.intervals`):
        where outcomes are rare or skewed they hold the truth more often than mean ± 1.96 standard errors. Where
        propensities were estimated and an action has too few rows for curves to be followed, a ShortIntervalWarning
        says that its interval may be too short.
        """
        if self.note:
            warnings.warn(self.note, ShortIntervalWarning, stacklevel=2)
        return self._estimate.intervals(check_number("level", level, 0.0, 1.0))

    def summary(self) -> Summary:
        """What the log knows per action. mean ± 1.96 standard errors holds the truth about 95 % of the time.

        The standard errors are the influence function's, widened from the normal's to Student's quantile for the
        effective number of rows behind them: a user of the normal distribution is not too sure of few rows.
        """
        return self._estimate.summary
