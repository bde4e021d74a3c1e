"""How strong a hidden confounder may be, by the observed ones: what leaving a column out does to each action's mean.

A column that is not adjusted for moves the mean of an action by what the outcome's regression gives it, at how far
the action's rows are from all rows in it and in what the other columns cannot say of it (omitted variable bias). A
hidden confounder as strong would do as much: the benchmarks of Cinelli and Hazlett (2020).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.ridge import fit, moving_columns, standardise, sum_rows
from headstart.logs.log import Log


@dataclass(frozen=True, eq=False)
class OmittedColumns:
    """Per column of the log and action, the bias that leaving the column out causes."""

    names: tuple[str, ...]  # (C,) the log's own columns: a categorical one is left out whole
    biases: Floats  # (C, K) in units of the outcome, chance taken off


def _owners(log: Log) -> tuple[str, ...]:
    """The column that each encoded one belongs to, (d,).

    Columns that came encoded, `city=Oslo` beside `city=Rome`, have forgotten that they are one: leaving out a single
    one of them would leave nothing out, for the others still tell it.
    """
    known = log.encoding
    stems = [owner.partition("=")[0] if owner not in known.categories else owner for owner in known.owners]
    counts = Counter(stems)
    is_stem = [stem != owner and counts[stem] > 1 for stem, owner in zip(stems, known.owners, strict=True)]
    return tuple(stem if is_one else owner for stem, owner, is_one in zip(stems, known.owners, is_stem, strict=True))


def omit_columns(log: Log) -> OmittedColumns:
    """Leave out each column in turn.

    With the regressions of `ridge`, theta_a their slopes with covariance P_a, and m_a the mean context of the rows of
    a (all rows' is 0): without the columns J the other slopes move by -P_RJ P_JJ^-1 theta_J, and the adjusted mean
    by m_a'g, g = P_.J P_JJ^-1 theta_J. By chance alone m_a'g has variance g'Rg / n_a, R the contexts' correlations;
    that is taken off the square.
    """
    owners = np.array(_owners(log), dtype=object)
    names = tuple(dict.fromkeys(owners.tolist()))
    biases = np.zeros((len(names), log.n_actions))
    (contexts,) = standardise(log.contexts)
    if contexts.shape[1] == 0:
        return OmittedColumns(names, biases)
    owners = owners[moving_columns(log.contexts)]
    sums = sum_rows(contexts, log.outcomes, log.actions, log.n_actions)
    fitted = fit(sums)
    covariances = fitted.covariances
    correlations = sums[:, 1:-1, 1:-1].sum(axis=0) / len(log)
    counts = np.maximum(fitted.counts, 1.0)
    for c, name in enumerate(names):
        left_out = np.flatnonzero(owners == name)
        if left_out.size:
            across = covariances[:, :, left_out]
            told = np.linalg.solve(across[:, left_out], fitted.slopes[:, left_out, None])
            gains = (across @ told)[..., 0]  # (K, d): g
            moved = (gains * fitted.centres).sum(axis=1)
            noise = ((gains @ correlations) * gains).sum(axis=1) / counts
            biases[c] = np.sign(moved) * np.sqrt(np.maximum(moved**2 - noise, 0.0))
    biases[:, fitted.counts == 0.0] = 0.0
    return OmittedColumns(names, biases)
