"""Doubly robust means of a table of any size: the regression from a sample, the correction from sums over all rows.

With a line m_a(x) = c + b'x that is fixed, mean_a = m_a(mean of x) + (sum w y - sum w m_a(x)) / sum w needs only
sums of w, w y, w x and x, which the database gives. The lines are the pooled ridge of a sample; each row's influence
varies as in the sample, so the standard errors are the sample's times sqrt(sampled rows / rows). At this size
weights are neither cut nor calibrated. An action of which the sample has no row has no standard error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headstart.estimates.population import standardise
from headstart.estimates.ridge import fit, predict, predict_left_out, sum_rows
from headstart.estimates.standard_errors import Estimate, estimate_means
from headstart.estimates.summary import Summary
from headstart.logs.log import Log


def estimate_table(table: Any, sample: Log) -> Estimate:
    """The means of this table with propensities, by its sums and a sample of its rows."""
    sums, contexts = table.action_sums(), table.context_sums()
    n, k = float(sums.n.sum()), table.n_actions
    with np.errstate(divide="ignore", invalid="ignore"):
        weighted = contexts.wx / sums.w[:, None]
        levels = sums.wy / sums.w
    centre = contexts.x.sum(axis=0) / n
    known, everyone, theirs = standardise(sample.contexts, centre[None], np.nan_to_num(weighted))
    fitted = fit(sum_rows(known, sample.outcomes, sample.actions, k))
    means = predict(fitted, everyone)[0] + levels - predict(fitted, theirs)[np.arange(k), np.arange(k)]
    assert sample.propensities is not None
    weights = 1.0 / sample.propensities
    shares = weights / np.bincount(sample.actions, weights, k)[sample.actions]
    inside = predict_left_out(fitted, known, sample.actions, sample.outcomes)
    found = estimate_means(sample.actions, sample.outcomes, shares, inside)
    shrink = np.sqrt(len(sample) / n)
    return Estimate(
        Summary(np.where(sums.n > 0, means, np.nan), found.summary.standard_errors * shrink, found.summary.variances),
        found.errors * shrink,
        found.scatters,
        found.sizes / shrink**2,
    )
