"""Deciding by context: whether a linear model or a forest, by what the log supports. Stated rules:

- One action for all, if none of the columns to decide on varies. Otherwise columns that do not matter are left to the
  linear model: slopes that its actions do not need are shrunk away by the log (oracles/linear_models.py). A rule that
  goes context-free where the log finds no gain was measured, and only cost.
- A forest, if the log has 200 rows or more, all its columns are decided on, and the forest's policy is worth more
  than two standard errors above the linear model's: each learnt on part of the log and its value estimated on the
  rest, doubly robust (Dudik et al. 2011), over 5 parts; the difference is of the same rows. It must be so much better
  because it has no guard against a log that is wrong.
- Otherwise a linear model per action, with squares and products of columns where the log is likelier with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headstart.arrays import Floats
from headstart.errors import OptionError
from headstart.estimates.cross_fit import deal_folds
from headstart.estimates.doubly_robust import robust_terms
from headstart.estimates.population import standardise
from headstart.estimates.ridge import fit, predict, predict_for, sum_rows
from headstart.estimates.standard_errors import cut
from headstart.forest import ForestOptions, HonestForest
from headstart.judgement.audit.trust import Trust
from headstart.judgement.start.linear import describe_linear, fit_linear
from headstart.judgement.start.look import Look
from headstart.judgement.start.started import View
from headstart.logs.log import Log
from headstart.oracles.epsilon_forest import EpsilonForest
from headstart.oracles.knowledge_gradient import KnowledgeGradient
from headstart.oracles.lin_knowledge_gradient import LinKnowledgeGradient

N_PARTS = 5
FEWEST_FOR_FOREST, MOST_COMPARED = 200, 10_000  # rows
SURE = 2.0  # standard errors by which a forest must be better
_TREES = ForestOptions(n_trees=24, min_node=5)


def choose(
    looked: Look, decide_on: Sequence[str | int], trust: Trust, horizon: int, rng: np.random.Generator
) -> tuple[Any, View | None, list[str]]:
    """The oracle, how it sees a user (None: it does not look), and the reasons in words."""
    log = looked.log
    columns = log.encoding.columns_of(decide_on)
    if not columns.size or np.unique(columns).size < columns.size:  # to start without contexts is decide_on=None
        raise OptionError(f"decide_on must name at least one column, and each once, got {list(decide_on)}")
    seen = log.contexts[:, columns]
    centres, scales = seen.mean(axis=0), seen.std(axis=0)
    moves = scales > 1e-9 * np.maximum(np.abs(centres), 1e-300)
    if not moves.any():
        return (
            KnowledgeGradient(log.n_actions, looked.summary, trust=trust.weights, horizon=horizon, rng=rng),
            None,
            ["none of the columns to decide on varies: decisions are context-free"],
        )
    standard = (seen[:, moves] - centres[moves]) / scales[moves]
    decides_on_all = set(range(log.n_features)) == set(columns.tolist())
    weights = np.ones(len(log)) if decides_on_all else _weights(log)
    fitted = fit_linear(log, standard, weights, trust)
    if decides_on_all and len(log) >= FEWEST_FOR_FOREST:
        rows = rng.permutation(len(log))[:MOST_COMPARED]
        better, doubt = compare_with_forest(log.take(rows), standard[rows], fitted.contexts[rows], rng)
        if better > SURE * doubt:
            why = f"on rows it has not seen it earns {better:.3g} ± {doubt:.2g} more a user than a linear model"
            view = View(1.0, columns, np.zeros(columns.size), np.ones(columns.size))
            contexts = np.column_stack([np.ones(len(log)), log.contexts[:, columns]])
            forest = EpsilonForest.from_rows(contexts, log.actions, log.outcomes, log.n_actions, rng=rng)
            return forest, view, [f"decisions are by a forest: {why}"]
    oracle = LinKnowledgeGradient(fitted.models, fitted.interactions, horizon=horizon, rng=rng)
    return oracle, View(1.0, columns[moves], centres[moves], scales[moves]), [describe_linear(fitted)]


def _weights(log: Log) -> Floats:
    """1/p, cut, with mean 1 over an action's rows: what is not decided on must not confound what is."""
    assert log.propensities is not None
    weights = np.empty(len(log))
    for a in range(log.n_actions):
        rows = np.flatnonzero(log.actions == a)
        if rows.size:
            raw = 1.0 / log.propensities[rows]
            weights[rows] = cut(raw / raw.sum(), 1.0 / np.sqrt(rows.size)) * rows.size
    return weights


def compare_with_forest(
    log: Log, standard: Floats, expanded: Floats, rng: np.random.Generator
) -> tuple[float, float]:
    """By how much a forest's policy is worth more than a linear model's on rows they were not learnt on, and its
    standard error; the linear model's columns, products included, are `expanded`."""
    n, k = len(log), log.n_actions
    assert log.propensities is not None
    (contexts,) = standardise(log.contexts)
    predicted, _ = predict_for(log.actions, log.outcomes, k, contexts)
    # (n, K) the doubly robust outcome of each action
    robust = robust_terms(log.actions, log.outcomes, np.minimum(1.0 / log.propensities, np.sqrt(n)), predicted)
    parts = deal_folds(n, N_PARTS, rng)
    chosen = np.zeros((2, n), dtype=np.int64)
    for part in range(N_PARTS):
        held, kept = np.flatnonzero(parts == part), np.flatnonzero(parts != part)
        shown = np.bincount(log.actions[kept], minlength=k) > 0
        sums = sum_rows(expanded[kept, 1:], log.outcomes[kept], log.actions[kept], k)
        line = np.where(shown, predict(fit(sums), expanded[held, 1:]), -np.inf)
        forest = HonestForest(_TREES, seed=int(rng.integers(2**32))).fit(
            standard[kept], log.actions[kept], log.outcomes[kept], k
        )
        leaves = np.nan_to_num(forest.predict(standard[held]), nan=-np.inf)
        chosen[:, held] = np.argmax(line, axis=1), np.argmax(leaves, axis=1)
    gains = robust[np.arange(n), chosen[1]] - robust[np.arange(n), chosen[0]]
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(n))
