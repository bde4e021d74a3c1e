"""Deciding by context: whether a linear model or a forest, by what the log supports. Stated rules:

- One action for all, if none of the columns to decide on varies. Otherwise columns that do not matter are left to the
  linear model: slopes that its actions do not need are shrunk away by the log (`priors.linear`). A rule that goes
  context-free where the log finds no gain was measured, and only cost.
- A forest, if the log has 200 rows or more, all its columns are decided on, and the forest's policy is worth more
  than two standard errors above the linear model's: each learnt on part of the log and its value estimated on the
  rest, doubly robust (Dudik et al. 2011), over 5 parts; the difference is of the same rows. It must be so much better
  because it has no guard against a log that is wrong.
- Otherwise a linear model per action, with squares and products of columns where the log is likelier with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.errors import OptionError
from headstart.estimates.doubly_robust import robust_terms
from headstart.estimates.ridge import (
    CentredSums,
    centre_rows,
    fit,
    predict_actions,
    predict_for,
    standardise,
    sum_rows,
)
from headstart.estimates.robust_slopes import adjust_rows, sum_adjusted
from headstart.estimates.summary import Summary
from headstart.forest import HonestForest
from headstart.judgement.start.options import ForestChoiceOptions, StartOptions
from headstart.judgement.start.started import Choice, View
from headstart.logs.log import Log
from headstart.oracles.epsilon_forest import EpsilonForest
from headstart.oracles.lin_knowledge_gradient import LinKnowledgeGradient
from headstart.priors.linear import LOGGED, LinearPrior, choose_prior, prior_of_scale

NOTHING_VARIES = "none of the columns to decide on varies"


def choose_by_context(
    log: Log,
    decide_on: Sequence[str | int],
    trust: Floats,
    kept: Floats,
    horizon: int | None,
    options: StartOptions,
    rng: np.random.Generator,
    levels: Summary | None = None,
) -> Choice | None:
    """A linear model or a forest of these columns, from a log with propensities; None if none of them varies.

    `kept`, (K,), is the share of an action's worth that a cap leaves it. A `trust` of 0 throughout is a cold start.
    `levels` are the log's means of its actions, adjusted for every column: levels where only some are decided on.
    """
    n, k = log.actions.size, log.n_actions
    seen = see_rows(log, decide_on)
    if seen is None:
        return None
    view, plain, decides_on_all = seen
    standard = plain[:, 1:]
    if not trust.any():
        return decide_coldly(seen, log, horizon, options, rng)
    adjusted = None if decides_on_all else adjust_rows(log)  # what is not decided on must not confound what is

    def sum_up(seen: Floats) -> CentredSums:
        if adjusted is None:
            return centre_rows(seen[:, 1:], log.actions, log.outcomes, np.ones(n), k)
        return sum_adjusted(seen[:, 1:], adjusted)

    known = None if decides_on_all or levels is None else at_average_user(levels, standard, sum_up(plain))
    is_averaged = adjusted is not None
    prior, expanded = choose_prior(plain, sum_up, trust, options.linear_prior, known, is_averaged=is_averaged)
    prior = prior.counted(kept)
    if decides_on_all and n >= options.forest.fewest_rows:
        rows = rng.permutation(n)[: options.forest.most_rows]
        better, doubt = compare_with_forest(log, rows, standard[rows], expanded[rows], options.forest, rng)
        if better > options.forest.sure * doubt:
            why = f"on rows it has not seen it earns {better:.3g} ± {doubt:.2g} more a user than a linear model"
            columns = log.encoding.columns_of(decide_on)
            whole = View(1.0, columns, np.zeros(columns.size), np.ones(columns.size))
            contexts = np.column_stack([np.ones(n), log.contexts[:, columns]])
            forest = EpsilonForest.from_rows(contexts, log.actions, log.outcomes, k, rng=rng)
            return Choice(forest, whole, None, f"decisions are by a forest: {why}")
    return decide_by_lines(prior, view, log, horizon, options, rng, describe_linear(prior, expanded, options))


class SeenRows(NamedTuple):
    """A log's rows by the columns that are decided on."""

    view: View
    plain: Floats  # (n, m + 1) the constant 1, then those that vary, in standard units
    has_all: bool  # these are all the columns of the log


def see_rows(log: Log, decide_on: Sequence[str | int]) -> SeenRows | None:
    """The rows by these columns; None if none of them varies."""
    columns = log.encoding.columns_of(decide_on)
    if not columns.size or np.unique(columns).size < columns.size:  # to start without contexts is decide_on=None
        raise OptionError(f"decide_on must name at least one column, and each once, got {list(decide_on)}")
    view = _view_of(log.contexts, columns)
    if not view.columns.size:
        return None
    standard = (log.contexts[:, view.columns] - view.centres) / view.scales
    has_all = set(range(log.n_features)) == set(columns.tolist())
    return SeenRows(view, np.column_stack([np.ones(len(log)), standard]), has_all)


def decide_coldly(
    seen: SeenRows, log: Log, horizon: int | None, options: StartOptions, rng: np.random.Generator
) -> Choice:
    """What decides where no log is believed: users teach it, the rows tell the scale."""
    cold = prior_of_scale(log.outcomes, seen.plain.shape[1], log.n_actions, options.linear_prior)
    words = "a linear model per action that users teach"
    return decide_by_lines(cold, seen.view, log, horizon, options, rng, words)


def decide_by_lines(
    prior: LinearPrior,
    view: View,
    log: Log,
    horizon: int | None,
    options: StartOptions,
    rng: np.random.Generator,
    words: str,
) -> Choice:
    oracle = LinKnowledgeGradient(prior, horizon=horizon, options=options.linear_exploring, rng=rng)
    named = replace(prior, action_names=tuple(log.action_names))
    return Choice(oracle, view, named, f"decisions are by {words}")


def _view_of(contexts: Floats, columns: Integers) -> View:
    """Those of the columns that vary, in standard units."""
    seen = contexts[:, columns]
    centres, scales = seen.mean(axis=0), seen.std(axis=0)
    moves = scales > 1e-9 * np.maximum(np.abs(centres), 1e-300)
    return View(1.0, columns[moves], centres[moves], scales[moves])


def at_average_user(levels: Summary, standard: Floats, sums: CentredSums) -> Summary:
    """Means over all users as levels at the log's average user, by the columns decided on.

    Where these columns stand is then given, and the error of a mean over all users counts their chance too: b'Rb / n
    of its square, b the slopes that the sums tell and R the columns' correlations. Slopes are estimated, so at least
    half of the square stays.
    """
    n, errors = len(standard), levels.standard_errors.copy()
    correlations = standard.T @ standard / n
    for a in np.flatnonzero(np.isfinite(errors) & (sums.n > 0.0)):
        slopes = np.linalg.pinv(sums.spread[a]) @ sums.moment[a]
        given = float(slopes @ correlations @ slopes) / n
        errors[a] *= np.sqrt(max(1.0 - given / errors[a] ** 2, 0.5)) if errors[a] > 0.0 else 1.0
    return replace(levels, standard_errors=errors)


def compare_with_forest(
    log: Log,
    rows: Integers,
    standard: Floats,
    expanded: Floats,
    options: ForestChoiceOptions,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """By how much a forest's policy is worth more than a linear model's on rows they were not learnt on, and its
    standard error; of these rows of the log, whose columns the forest sees as `standard`, the linear model, products
    included, as `expanded`."""
    n, k, actions, outcomes = rows.size, log.n_actions, log.actions[rows], log.outcomes[rows]
    assert log.propensities is not None
    (contexts,) = standardise(log.contexts[rows])
    predicted, _ = predict_for(actions, outcomes, k, contexts)
    # (n, K) the doubly robust outcome of each action
    weights = np.minimum(1.0 / log.propensities[rows], np.sqrt(n))
    robust = robust_terms(actions, outcomes, weights, predicted)
    parts = rng.permutation(np.arange(n) % options.n_parts)
    line, forest = np.zeros((2, n), dtype=np.int64)
    folds = [(np.flatnonzero(parts == part), np.flatnonzero(parts != part)) for part in range(options.n_parts)]
    for held, kept in folds:
        shown = np.bincount(actions[kept], minlength=k) > 0
        sums = sum_rows(expanded[kept, 1:], outcomes[kept], actions[kept], k)
        line[held] = np.argmax(np.where(shown, predict_actions(fit(sums), expanded[held, 1:]), -np.inf), axis=1)
    for held, kept in folds:
        grown = HonestForest(options.trees, seed=int(rng.integers(2**32)))
        grown.fit(standard[kept], actions[kept], outcomes[kept], k)
        forest[held] = np.argmax(np.nan_to_num(grown.predict(standard[held]), nan=-np.inf), axis=1)
    gains = robust[np.arange(n), forest] - robust[np.arange(n), line]
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(n))


def describe_linear(prior: LinearPrior, expanded: Floats, options: StartOptions) -> str:
    """What it decides by and what the log says that is worth, in words."""
    n_products = len(prior.interactions.pairs)
    n_columns = expanded.shape[1] - 1 - n_products
    columns = f"{n_columns} column{'s' if n_columns > 1 else ''}"
    if n_products:
        columns += f" and {n_products} of their squares and products"
    gains = draw_gains(prior, expanded, options)
    words = f"a linear model per action of {columns}: by the log, they gain"
    if gains.max() < 1e-6 * np.sqrt(prior.variance):
        return f"{words} nothing over one action for all, unless users disagree with it"
    ends = np.maximum(np.quantile(gains, [0.05, 0.95]), 0.0)  # rounding aside, it cannot lose
    return f"{words} {gains.mean():.2g} ({ends[0]:.2g} to {ends[1]:.2g}) a user over one action for all"


def draw_gains(prior: LinearPrior, expanded: Floats, options: StartOptions) -> Floats:
    """What deciding by context gains a user over the best action for all, drawn from what the log leaves open."""
    rng = np.random.default_rng(0)  # of its own: words must not move the policy's draws
    rows = expanded[rng.permutation(len(expanded))[: options.explained_users]]
    roots = np.sqrt(prior.variance) * np.linalg.cholesky(prior.inverses[:, LOGGED])
    gains = np.empty(options.explained_draws)
    for i in range(gains.size):
        normals = rng.standard_normal((*prior.centres[:, LOGGED].shape, 1))
        expected = rows @ (prior.centres[:, LOGGED] + (roots @ normals)[..., 0]).T
        gains[i] = expected.max(axis=1).mean() - expected.mean(axis=0).max()
    return gains
