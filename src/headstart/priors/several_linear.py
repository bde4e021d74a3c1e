"""What several logs say as linear models of each action: a model for each set of them that may be right.

Variance, products, SHIFTED, FADED and FRESH are those of all rows together (`priors.linear`). FRESH, what the rows of
the other actions tell, is the base of theta = (level, slopes); on top of it come the action's rows in each log of the
set, and the chances of the sets are by trust and agreement (`priors.sources`). With one log that is LOGGED itself.
Along a column that a log lacks its rows say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.estimates.ridge import CentredSums, centre_rows
from headstart.estimates.robust_slopes import AdjustedRows, sum_adjusted
from headstart.estimates.summary import Summary
from headstart.priors.linear import FRESH, SHIFTED, LinearPrior, choose_prior, with_levels
from headstart.priors.options import LinearPriorOptions, SourceOptions
from headstart.priors.several import pool_summaries
from headstart.priors.sources import Posteriors, choose_sets, keep_chances, list_sets, pool_normal, weigh_sets


class SourceRows(NamedTuple):
    """The rows of all logs, and what is known of each log."""

    plain: Floats  # (n, d + 1) the constant 1, then columns in standard units; 0 where the log lacks one
    actions: Integers  # (n,)
    outcomes: Floats  # (n,)
    weights: Floats  # (n,) how often each counts
    sources: Integers  # (n,) the log that it is from
    known: Bools  # (S, d + 1) the columns that each log has
    trust: Floats  # (S, K)
    kept: Floats  # (S, K) the share of an action's worth that a cap leaves
    kinds: Integers  # (S,)
    levels: Sequence[Summary] | None  # of each log: means over all its columns, where only some are decided on
    adjusted: Sequence[AdjustedRows] | None = None  # of each log, where only some columns are decided on


def linear_prior_of_sources(
    rows: SourceRows, options: LinearPriorOptions = LinearPriorOptions(), sources: SourceOptions = SourceOptions()
) -> tuple[LinearPrior, Floats]:
    """The prior, and the contexts with the products that it decides by, (n, m)."""
    k = rows.trust.shape[1]
    levels = None if rows.levels is None else pool_summaries(rows.levels)

    def sum_all(seen: Floats) -> CentredSums:
        if rows.adjusted is None:
            return centre_rows(seen[:, 1:], rows.actions, rows.outcomes, rows.weights, k)
        return _add_sums([_sum_source(rows, seen, s) for s in range(len(rows.trust))])

    is_averaged = rows.adjusted is not None
    base, expanded = choose_prior(
        rows.plain, sum_all, rows.trust.max(axis=0), options, levels, is_averaged=is_averaged
    )
    expanded = np.where(_knows_products(rows.known, base)[rows.sources], expanded, 0.0)
    noise = base.variance or 1.0
    precisions, informations = _tell(rows, expanded, noise)
    shown = np.where(precisions[:, :, 0, 0] > 0.0, rows.trust, 0.0)
    found: list[Posteriors] = []
    chances = np.empty((k, 1 << len(rows.trust)))
    for a in range(k):
        around, width = base.centres[a, FRESH], np.linalg.inv(noise * base.inverses[a, FRESH])
        found.append(pool_normal(precisions[:, a], informations[:, a], around, width))
        told = found[a].evidences * float(base.variance > 0.0)  # without it nothing tells agreement from chance
        chances[a] = weigh_sets(shown[:, a], rows.kinds, told, sources.shared)
    worth = (list_sets(len(rows.trust)) @ precisions[:, :, 0, 0]).T
    kept = choose_sets(chances, worth, sources.most_sets, sources.least_chance)
    return _assemble(base, found, chances, kept, noise, options), expanded


def _knows_products(known: Bools, base: LinearPrior) -> Bools:
    """The columns and products that each log can speak of, (S, m)."""
    pairs = base.interactions.pairs
    return np.hstack([known, known[:, pairs[:, 0]] & known[:, pairs[:, 1]]]) if len(pairs) else known


def _tell(rows: SourceRows, expanded: Floats, noise: float) -> tuple[Floats, Floats]:
    """What each log's rows of an action tell of its theta: precisions, (S, K, m, m), and these times theta."""
    (n_sources, k), m = rows.trust.shape, expanded.shape[1]
    precisions, informations = np.zeros((n_sources, k, m, m)), np.zeros((n_sources, k, m))
    for s in range(n_sources):
        sums = _sum_source(rows, expanded, s)
        if rows.levels is not None:
            sums = with_levels(sums, rows.levels[s], noise)
        for a in np.flatnonzero(sums.n):
            centre, share = np.r_[1.0, sums.centres[a]], rows.kept[s, a] / noise
            precisions[s, a] = sums.n[a] * np.outer(centre, centre)
            precisions[s, a, 1:, 1:] += sums.spread[a]
            informations[s, a] = sums.n[a] * sums.levels[a] * centre
            informations[s, a, 1:] += sums.moment[a]
            precisions[s, a] *= share
            informations[s, a] *= share
    return precisions, informations


def _sum_source(rows: SourceRows, expanded: Floats, source: int) -> CentredSums:
    """What the rows of one log say of each action."""
    mine = rows.sources == source
    if rows.adjusted is not None:
        return sum_adjusted(expanded[mine, 1:], rows.adjusted[source])
    weights, k = rows.weights[mine], rows.trust.shape[1]
    return centre_rows(expanded[mine, 1:], rows.actions[mine], rows.outcomes[mine], weights, k)


def _add_sums(found: Sequence[CentredSums]) -> CentredSums:
    """The sums of several logs together: slopes are of each log's own rows, levels of all of them."""
    n = np.sum([each.n for each in found], axis=0)
    shares = [np.divide(each.n, n, out=np.zeros_like(n), where=n > 0.0) for each in found]
    return CentredSums(
        n,
        np.sum([share[:, None] * each.centres for share, each in zip(shares, found, strict=True)], axis=0),
        np.sum([share * each.levels for share, each in zip(shares, found, strict=True)], axis=0),
        *(np.sum([each[i] for each in found], axis=0) for i in (3, 4, 5)),
    )


def _assemble(
    base: LinearPrior,
    found: Sequence[Posteriors],
    chances: Floats,
    kept: Sequence[Integers],
    noise: float,
    options: LinearPriorOptions,
) -> LinearPrior:
    """The likeliest sets of each action, then the models that doubt all logs."""
    k, members = base.n_actions, list_sets(chances.shape[1].bit_length() - 1)
    n_sets = max(1, *(each.size for each in kept))
    centres = np.concatenate([np.repeat(base.centres[:, [FRESH]], n_sets, axis=1), base.centres[:, SHIFTED:]], axis=1)
    inverses = np.concatenate(
        [np.repeat(base.inverses[:, [FRESH]], n_sets, axis=1), base.inverses[:, SHIFTED:]], axis=1
    )
    likely, believed = np.zeros(centres.shape[:2]), np.zeros((k, n_sets, members.shape[1]), dtype=np.bool_)
    for a, sets in enumerate(kept):
        n = sets.size
        centres[a, :n], inverses[a, :n] = found[a].centres[sets], found[a].inverses[sets] / noise
        likely[a, :n], believed[a, :n] = keep_chances(chances[a], sets), members[sets]
    wrong = 1.0 - likely.sum(axis=1)
    doubts = np.array([options.shifted_share, options.faded_share, 1.0 - options.shifted_share - options.faded_share])
    is_shown = base.chances[:, FRESH] < 1.0
    likely[:, n_sets:] = np.where(is_shown[:, None], np.outer(wrong, doubts), [0.0, 0.0, 1.0])
    return replace(base, centres=centres, inverses=inverses, chances=likely, believed=believed)
