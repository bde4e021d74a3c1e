"""Summary: what a log knows of each action, in numbers that need no rows, with honest standard errors.

The means are a prediction corrected by weighted residuals: mean_a = average of m_a(x) over the population + sum of
v_i (y_i - m_a(x_i)) over the rows of a, the v_i summing to 1. With m = 0 it is a weighted mean. Three things make the
errors cover with few rows: a row's residual is what it would be without its own pull (jackknife), an action's
variance leans on that of all actions, and the error is widened from the normal's quantile to Student's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.displayed import Display, Displayed, draw_intervals

# A variance from n rows is averaged with the pooled one as if that were from this many more: three equal outcomes do
# not make an action noiseless. Where tails are heavy, as many times more (`tails_of`).
PRIOR_ROWS = 2.0
_NORMAL = 1.959963984540054


@dataclass(frozen=True, repr=False)
class Summary(Displayed):
    """Per action, each (K,). NaN mean and infinite standard error for an action that the log never shows.

    Evaluators that can give one (`evaluator.summary()`); oracles that start from one take it. Neither knows the
    other.

    Parameters
    ----------
    means, standard_errors, variances
        (K,) arrays: of each action the mean outcome, its honest standard error, and the variance of one outcome.
    doubtful
        Actions whose standard error may be too small all the same: outcomes and the policy bend together, and the
        action has too few rows to follow it by (`estimates.missed`).
    tails
        How many outcomes tell as much of a variance as one normal outcome does; more than 1 if tails are heavier.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> summary = hs.Summary(np.array([0.1, 0.2]), np.array([0.01, 0.02]), np.array([0.09, 0.16]))
    >>> summary.plays
    array([900, 400])
    """

    means: Floats
    standard_errors: Floats  # honest: what the mean would vary by over logs of this kind
    variances: Floats  # of one outcome of the action, over the population
    doubtful: tuple[int, ...] = ()
    tails: float = 1.0

    @property
    def n_actions(self) -> int:
        return self.means.size

    @property
    def effective_sizes(self) -> Floats:
        """Online plays that would know the mean as well: variance / standard error squared; 0 without rows."""
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = self.variances / self.standard_errors**2
        return np.where(np.isfinite(sizes), sizes, 0.0)

    @property
    def plays(self) -> Integers:
        """The effective sizes as whole plays, (K,); rounding does not take one away."""
        return np.floor(self.effective_sizes * (1.0 + 1e-9)).astype(np.int64)

    def _tell(self) -> Display:
        return Display(
            f"Summary of {self.n_actions} actions",
            (f"Beware: {word_doubts(self.doubtful)}.",) if self.doubtful else (),
            columns={
                "action": list(range(self.n_actions)),
                "mean": self.means.tolist(),
                "standard error": self.standard_errors.tolist(),
                "variance": self.variances.tolist(),
                "effective size": self.effective_sizes.tolist(),
            },
        )

    def _draw(self, axes: Any) -> None:
        self.draw(axes, [f"action {a}" for a in range(self.n_actions)])

    def draw(self, axes: Any, names: Sequence[object]) -> None:
        """The means of the actions that have one, under these names."""
        known = np.flatnonzero(np.isfinite(self.standard_errors))
        means, reach = self.means[known], _NORMAL * self.standard_errors[known]
        draw_intervals(axes, [names[int(a)] for a in known], means, means - reach, means + reach)
        axes.set_xlabel("mean outcome, 95 % interval")

    def capped(self, plays: Floats) -> Summary:
        """The same means, none of them worth more than so many plays, (K,); 0: as if the log did not show it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(plays > 0.0, np.sqrt(self.variances / plays), np.inf)
        return replace(self, standard_errors=np.fmax(self.standard_errors, least))


class ShortIntervalWarning(UserWarning):
    """An interval may hold the truth less often than it says."""


def word_doubts(names: Sequence[object]) -> str:
    """What is to be said of the intervals of doubtful actions."""
    many = len(names) > 1
    which = f"actions {', '.join(str(each) for each in names)}" if many else f"action {names[0]}"
    return (
        f"outcomes and the policy bend together, and {which} {'have' if many else 'has'} too few rows to follow "
        f"it by: the {'intervals of these means' if many else 'interval of its mean'} may be too short"
    )


class CorrectedMeans(NamedTuple):
    """Means per action with their errors."""

    summary: Summary
    errors: Floats  # (K,) the influence function's standard errors, not widened; NaN for an action never shown
    scatters: Floats  # (K,) weighted variances of the outcome as observed
    sizes: Floats  # (K,) 1 / sum of v_i^2: rows of equal weight that would be as noisy
    tilts: Floats  # (K,) sum(v^3) / sum(v^2)^(3/2), v the shares: how far the skewness of residuals is the mean's


def correct_means(
    actions: Integers,
    outcomes: Floats,
    shares: Floats,
    inside: Floats,
    outside: Floats | None = None,
    allowances: Floats | None = None,
    units: Integers | None = None,
) -> CorrectedMeans:
    """The means and their errors.

    Parameters
    ----------
    actions, outcomes, shares
        (n,): the v_i of a row, which sum to 1 over the rows of an action; calibrated ones may be negative.
    inside, outside
        m_a for the log's rows, (n, K), and for a population's, (m, K), if the mean is over that.
    allowances
        (K,): how far a mean may have been moved on purpose; added in squares.
    units
        (n,): rows of one unit are not independent. What they move the mean by is added up before it is squared.
    """
    n, k = inside.shape
    means, errors, wide = np.full(k, np.nan), np.full(k, np.nan), np.full(k, np.inf)
    variances, scatters, sizes, tilts = np.full(k, np.nan), np.zeros(k), np.zeros(k), np.zeros(k)
    residuals = outcomes - inside[np.arange(n), actions]
    residual_variance = variance_within(actions, residuals, k)
    outcome_variance = variance_within(actions, outcomes, k)
    tails = tails_of(actions, residuals, k)
    lean = PRIOR_ROWS * tails
    for a in range(k):
        rows = np.flatnonzero(actions == a)
        if rows.size == 0:
            continue
        share, left, predicted = shares[rows], residuals[rows], inside[:, a] if outside is None else outside[:, a]
        correction, level = share @ left, predicted.mean()
        means[a] = level + correction
        squares = float(share @ share)
        sizes[a], tilts[a] = min(1.0 / squares, float(rows.size)), float((share**3).sum()) / squares**1.5
        # Without its own pull a row's residual would be this much larger.
        pulls = share * (left - correction) / np.maximum(1.0 - share, 0.5 / rows.size)
        noise = _shrunk(float(pulls @ pulls), sizes[a], residual_variance * squares, lean)
        if outside is None:  # the same rows average the prediction
            moved = (predicted - level) / n
            between = max(moved @ moved + 2.0 * (moved[rows] @ pulls), 0.0) * n / max(n - 1, 1)
        else:
            moved = np.zeros(n)
            between = predicted.var(ddof=1) / predicted.size if predicted.size > 1 else 0.0
        if units is not None:
            moved[rows] += pulls
            design = design_effect(moved, units)
            noise, between, sizes[a] = noise * design, between * design, sizes[a] / design
        allowance = 0.0 if allowances is None else allowances[a]
        errors[a] = np.sqrt(noise + between + allowance * allowance)
        wide[a] = errors[a] * widening(sizes[a])
        positive = np.maximum(share, 0.0)
        positive /= positive.sum()
        apart = outcomes[rows] - positive @ outcomes[rows]
        scatters[a] = positive @ (apart * apart)
        unbiased = float(scatters[a] * sizes[a] / max(sizes[a] - 1.0, 0.5))
        variances[a] = _shrunk(unbiased, sizes[a], outcome_variance, lean)
    return CorrectedMeans(Summary(means, wide, variances, tails=tails), errors, scatters, sizes, tilts)


def design_effect(influence: Floats, units: Integers) -> float:
    """How many times larger the variance of a sum is because rows of one unit go together; at least 1."""
    within = np.bincount(units, influence)
    apart = float(influence @ influence)
    return max(1.0, float(within @ within) / apart) if apart > 0.0 else 1.0


def variance_within(actions: Integers, values: Floats, n_actions: int) -> float:
    """The variance of values around their action's mean, over all actions; around one mean if none has two rows."""
    counts = np.bincount(actions, minlength=n_actions)
    freedom = actions.size - np.count_nonzero(counts)
    if freedom == 0:
        return float(values.var(ddof=1)) if values.size > 1 else 0.0
    centres = np.bincount(actions, values, n_actions) / np.maximum(counts, 1)
    left = values - centres[actions]
    return float(left @ left) / freedom


def tails_of(actions: Integers, values: Floats, n_actions: int) -> float:
    """How many values tell as much of a variance as one normal value does: (kurtosis - 1) / 2, at least 1.

    Over all actions, each around its mean. The variance of n values is off by sqrt((kurtosis - 1) / n) of itself, and
    normal ones have a kurtosis of 3. So fifty outcomes of which none is a purchase do not make an action noiseless.
    """
    counts = np.bincount(actions, minlength=n_actions)
    centres = np.bincount(actions, values, n_actions) / np.maximum(counts, 1)
    squares = (values - centres[actions]) ** 2
    spread = float(squares.mean())
    if spread == 0.0:
        return 1.0
    kurtosis = float(((squares / spread) ** 2).mean())
    return max(1.0, (kurtosis - 1.0) / 2.0)


def _shrunk(variance: float, size: float, pooled: float, rows: float) -> float:
    """A variance from `size` rows, beside the pooled one as if that were from so many `rows` more."""
    return (size * variance + rows * pooled) / (size + rows)


def widening(size: float) -> float:
    """Student's 97.5 % quantile over the normal's."""
    from headstart.special import stdtrit

    return float(stdtrit(max(size - 1.0, 0.0) + PRIOR_ROWS, 0.975)) / _NORMAL
