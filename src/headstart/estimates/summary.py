"""Summary: what a log knows of each action, in four numbers that need no rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats


@dataclass(frozen=True)
class Summary:
    """Per action, each (K,). NaN mean and infinite standard error for an action that the log never shows.

    Evaluators that can give one (`evaluator.summary()`); oracles that start from one take it. Neither knows the
    other.
    """

    means: Floats
    standard_errors: Floats  # honest: what the mean would vary by over logs of this kind
    variances: Floats  # of one outcome of the action, over the population

    @property
    def n_actions(self) -> int:
        return self.means.size

    @property
    def effective_sizes(self) -> Floats:
        """Online plays that would know the mean as well: variance / standard error squared; 0 without rows."""
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = self.variances / self.standard_errors**2
        return np.where(np.isfinite(sizes), sizes, 0.0)
