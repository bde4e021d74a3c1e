"""A line through the log that tells outcomes apart whatever the action: a control variate for users to come.

y = level_a + x'slopes, slopes common to all actions: the average over rows of the ridge regressions that doubly
robust means use. What it is worth is cross-fitted: by how much the squared error of the action's plain mean falls
when the line is added, rows predicted by the other folds alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.checks import check_number
from headstart.estimates.cross_fit import cross_fit, deal_folds
from headstart.estimates.ridge import fit, moving_columns, sum_rows
from headstart.estimates.summary import Summary
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log

_MOST_ROWS = 20_000  # that are looked at: more tell nothing more of whether a line pays
_N_FOLDS = 5
_FEWEST_ROWS = 20
SURE = 2.0  # standard errors above 0 of the gain of a line that pays


@dataclass(frozen=True, eq=False)
class ControlLine:
    """Slopes of the outcome that all actions share, of columns in standard units, and what they are worth.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> hs.ControlLine.of_log(log).n_rows
    200
    """

    slopes: Floats  # (d,) 0 for a column of one value
    centres: Floats  # (d,) the log's means
    scales: Floats  # (d,) its standard deviations; 1 for a column of one value
    spread: Floats  # (d, d) covariances of the columns within actions, in standard units; 0 for a column of one value
    n_rows: int
    variance: float  # of outcomes around their action's mean, as predicted by other rows
    gain: float  # how much less of it the line leaves
    gain_error: float  # the standard error of that

    @classmethod
    def of_log(cls, log: AnyLog, seed: int = 0) -> Self:
        """The line of a log, from 20,000 of its rows at most; `seed` deals them into folds."""
        n = len(log)
        rows = log.sample(_MOST_ROWS, rng=seed) if n > _MOST_ROWS or not isinstance(log, Log) else log
        moving = np.flatnonzero(moving_columns(rows.contexts))
        centres, scales = np.zeros(rows.n_features), np.ones(rows.n_features)
        slopes, spread = np.zeros(rows.n_features), np.zeros((rows.n_features, rows.n_features))
        if not moving.size or len(rows) < _FEWEST_ROWS:
            return cls(slopes, centres, scales, spread, n, float(rows.outcomes.var()), 0.0, 0.0)
        varied = rows.contexts[:, moving]
        centres[moving], scales[moving] = varied.mean(axis=0), varied.std(axis=0)
        standard = (varied - centres[moving]) / scales[moving]
        slopes[moving], spread[np.ix_(moving, moving)] = _fit(rows, standard, np.ones(len(rows), dtype=np.bool_))
        errors = _predict_left_out(rows, standard, seed)
        gains = errors[:, 0] - errors[:, 1]
        error = float(gains.std(ddof=1) / math.sqrt(gains.size))
        return cls(slopes, centres, scales, spread, n, float(errors[:, 0].mean()), float(gains.mean()), error)

    @property
    def n_features(self) -> int:
        """The columns of a context."""
        return self.slopes.size

    @property
    def explained(self) -> float:
        """The share of an outcome's variance within actions that the line takes away, in [0, 1)."""
        return min(max(self.gain / self.variance, 0.0), 1.0 - 1e-6) if self.variance > 0.0 else 0.0

    @property
    def pays(self) -> bool:
        """Whether what it gains on rows it has not seen is above 0 by two standard errors."""
        return self.gain > SURE * self.gain_error and self.explained > 0.0

    def adjust(self, summary: Summary) -> Summary:
        """The same means and errors beside outcomes from which the line was taken: these vary by less.

        An action's mean is then worth fewer plays, for each tells more.
        """
        left = 1.0 - self.explained
        return replace(summary, variances=summary.variances * left)

    def weakened(self, share: float) -> ControlLine:
        """The same line, its slopes `share` times as steep."""
        steep = self.slopes * check_number("share", share, -1e6, 1e6)
        return ControlLine(
            steep, self.centres, self.scales, self.spread, self.n_rows, self.variance, self.gain, self.gain_error
        )


def _fit(rows: Log, standard: Floats, used: Bools) -> tuple[Floats, Floats]:
    """The slopes that actions share, and the columns' covariances within actions, from these rows."""
    sums = sum_rows(standard[used], rows.outcomes[used], rows.actions[used], rows.n_actions)
    fitted = fit(sums)
    n = max(float(fitted.counts.sum()), 1.0)
    around = np.einsum("a,ai,aj->ij", fitted.counts, fitted.centres, fitted.centres)
    return fitted.counts @ fitted.slopes / n, (sums[:, 1:-1, 1:-1].sum(axis=0) - around) / n


def _predict_left_out(rows: Log, standard: Floats, seed: int) -> Floats:
    """Squared errors of each row, (n, 2): of its action's mean in the other folds, and of their line through it."""

    def predict(inside: Bools, outside: Bools) -> Floats:
        slopes, _ = _fit(rows, standard, outside)
        counts = np.bincount(rows.actions[outside], minlength=rows.n_actions)
        safe = np.maximum(counts, 1)
        levels = np.bincount(rows.actions[outside], rows.outcomes[outside], rows.n_actions) / safe
        lines = np.bincount(rows.actions[outside], standard[outside] @ slopes, rows.n_actions) / safe
        is_shown = counts > 0
        levels = np.where(is_shown, levels, rows.outcomes[outside].mean())
        lines = np.where(is_shown, lines, (standard[outside] @ slopes).mean())
        plain = levels[rows.actions[inside]]
        return np.column_stack([plain, plain + standard[inside] @ slopes - lines[rows.actions[inside]]])

    predicted = cross_fit(deal_folds(len(rows), _N_FOLDS, seed), 2, predict)
    squares: Floats = (rows.outcomes[:, None] - predicted) ** 2
    return squares
