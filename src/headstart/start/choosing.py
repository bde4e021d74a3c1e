"""Deciding by context: whether one action for all, a linear model or a forest, by what the log supports.

Each is learnt on part of the log and its policy's value estimated on the rest, doubly robust (Dudik et al. 2011),
over 5 parts; differences are of the same rows, so they have a paired standard error. Stated rules:

- One action for all, if the log is sure that looking at the context cannot pay: the upper 95 % limits of the gains
  by line and forest are below what learning it costs a user, sigma sqrt(K / T) (sqrt(d + 1) - 1): the difference of
  the usual bounds sigma sqrt(K d T) over T users. A log too small to tell does not forbid to learn.
- A forest, if its value is more than one standard error above the linear model's (the simpler one else), the log has
  200 rows or more and all its columns are decided on.
- Otherwise a linear model per action.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.errors import OptionError
from headstart.evaluators.pooled_ridge import fit, predict, predict_for
from headstart.evaluators.standard_errors import cut
from headstart.forest import ForestOptions, HonestForest
from headstart.log import Log
from headstart.oracles.epsilon_forest import EpsilonForest
from headstart.oracles.robust_thompson import RobustThompson
from headstart.population import standardise
from headstart.start.linear import start_linear
from headstart.start.looking import Look
from headstart.start.started import View
from headstart.trust import Trust

Floats = NDArray[np.float64]

N_PARTS = 5
FEWEST_FOR_FOREST = 200
_TREES = ForestOptions(n_trees=50, min_node=5)


class Values(NamedTuple):
    """A row's contribution to the value of each kind of policy, (n,) each."""

    one: Floats
    linear: Floats
    forest: Floats | None


def choose(
    looked: Look, decide_on: Sequence[str | int], trust: Trust, horizon: int, rng: np.random.Generator
) -> tuple[Any, View | None, list[str]]:
    """The oracle, how it sees a user (None: it does not look), and the reasons in words."""
    log = looked.log
    columns = as_columns(decide_on, log)
    seen = log.contexts[:, columns]
    centres, scales = seen.mean(axis=0), seen.std(axis=0)
    moves = scales > 1e-9 * np.maximum(np.abs(centres), 1e-300)
    if not moves.any():
        return (
            RobustThompson(log.n_actions, looked.summary, trust=trust.weights, rng=rng),
            None,
            ["none of the columns to decide on varies: decisions are context-free"],
        )
    standard = (seen[:, moves] - centres[moves]) / scales[moves]
    decides_on_all = set(range(log.n_features)) == set(columns.tolist())
    weights = np.ones(len(log)) if decides_on_all else _weights(log)
    values, noise = weigh_policies(log, standard, weights, rng, with_forest=decides_on_all)
    kind, why = _decide(values, noise, log.n_actions, standard.shape[1], horizon)
    if kind == "one":
        return RobustThompson(log.n_actions, looked.summary, trust=trust.weights, rng=rng), None, why
    if kind == "forest":
        view = View(1.0, columns, np.zeros(columns.size), np.ones(columns.size))
        return _start_forest(log, columns, rng), view, why
    oracle, constant = start_linear(log, standard, weights, trust, rng)
    return oracle, View(constant, columns[moves], centres[moves], scales[moves]), why


def as_columns(decide_on: Sequence[str | int], log: Log) -> NDArray[np.int64]:
    """Column indices, from names of encoded columns, names of the log's own columns, or indices."""
    names = list(log.context_names)
    if isinstance(decide_on, str):
        raise OptionError(f"decide_on must be a list of columns, got {decide_on!r}: write [{decide_on!r}]")
    columns: list[int] = []
    for column in decide_on:
        if isinstance(column, str):
            found = [j for j, name in enumerate(names) if name == column or name.startswith(f"{column}=")]
            if not found:
                raise OptionError(f"decide_on names {column!r}, which is not a column of the log: {names}")
            columns += found
        elif not isinstance(column, bool) and 0 <= column < log.n_features:
            columns.append(int(column))
        else:
            raise OptionError(f"decide_on must name columns 0..{log.n_features - 1}, got {column!r}")
    if not columns or len(set(columns)) != len(columns):
        raise OptionError(f"decide_on must name at least one column, and each once, got {list(decide_on)}")
    return np.array(columns, dtype=np.int64)


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


def weigh_policies(
    log: Log, standard: Floats, weights: Floats, rng: np.random.Generator, *, with_forest: bool
) -> tuple[Values, float]:
    """What each kind of policy would have earned, learnt on the other parts; and the outcome's spread given
    contexts."""
    n, k = len(log), log.n_actions
    assert log.propensities is not None
    (contexts,) = standardise(log.contexts)
    inside, _ = predict_for(log.actions, log.outcomes, k, contexts)
    residuals = log.outcomes - inside[np.arange(n), log.actions]
    pull = np.minimum(1.0 / log.propensities, np.sqrt(n)) * residuals
    robust = inside.copy()  # (n, K) the doubly robust outcome of each action
    robust[np.arange(n), log.actions] += pull
    parts = rng.permutation(np.arange(n) % min(N_PARTS, n))
    with_forest = with_forest and n >= FEWEST_FOR_FOREST
    chosen = np.zeros((3, n), dtype=np.int64)
    for part in range(int(parts.max()) + 1):
        held, kept = np.flatnonzero(parts == part), np.flatnonzero(parts != part)
        if kept.size == 0:
            continue
        shown = np.bincount(log.actions[kept], minlength=k) > 0
        means = np.where(shown, robust[kept].mean(axis=0), -np.inf)
        chosen[0, held] = int(np.argmax(means))
        sums = _weighted_sums(standard[kept], log.outcomes[kept], log.actions[kept], weights[kept], k)
        predicted = np.where(shown, predict(fit(sums), standard[held]), -np.inf)
        chosen[1, held] = np.argmax(predicted, axis=1)
        if with_forest:
            forest = HonestForest(_TREES, seed=int(rng.integers(2**32))).fit(
                standard[kept], log.actions[kept], log.outcomes[kept], k
            )
            leaf = np.nan_to_num(forest.predict(standard[held]), nan=-np.inf)
            chosen[2, held] = np.argmax(leaf, axis=1)
    earned = [robust[np.arange(n), actions] for actions in chosen]
    values = Values(earned[0], earned[1], earned[2] if with_forest else None)
    return values, float(np.sqrt(np.mean(residuals**2)))


def _weighted_sums(
    contexts: Floats, outcomes: Floats, actions: NDArray[np.int64], weights: Floats, k: int
) -> Floats:
    """`sum_rows` with weights: rows (1, x, y) times the root of the weight, so 1 becomes the root."""
    d = contexts.shape[1]
    sums = np.zeros((k, d + 2, d + 2))
    rows = np.column_stack([np.ones(len(outcomes)), contexts, outcomes]) * np.sqrt(weights)[:, None]
    for a in range(k):
        part = rows[actions == a]
        sums[a] = part.T @ part
    return sums


def _decide(values: Values, noise: float, k: int, d: int, horizon: int) -> tuple[str, list[str]]:
    mean, error = _average(values.linear - values.one)
    cost = noise * np.sqrt(k / horizon) * (np.sqrt(d + 1.0) - 1.0)
    most = mean + 1.645 * error
    if values.forest is not None:
        other, doubt = _average(values.forest - values.one)
        most = max(most, other + 1.645 * doubt)
    if values.one.size >= 20 and most < cost:
        return "one", [
            f"decisions are context-free: by the log, deciding on the contexts gains {mean:.3g} ± {error:.2g} a "
            f"user, and learning to costs about {cost:.2g} over {horizon:,} users"
        ]
    if values.forest is not None:
        better, doubt = _average(values.forest - values.linear)
        if better > doubt:
            return "forest", [
                f"decisions are by a forest: on rows it has not seen it earns {better:.3g} ± {doubt:.2g} more a user "
                "than a linear model"
            ]
    return "linear", [
        f"decisions are by a linear model per action: by the log, contexts gain {mean:.3g} ± {error:.2g} a user "
        "over one action for all"
    ]


def _average(differences: Floats) -> tuple[float, float]:
    """A mean and its standard error."""
    n = differences.size
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf


def _start_forest(log: Log, columns: NDArray[np.int64], rng: np.random.Generator) -> EpsilonForest:
    """An EpsilonForest that has learnt the log's rows; a 1 stands before the columns."""
    oracle = EpsilonForest(log.n_actions, columns.size + 1, rng=rng)
    state = oracle.get_state()
    contexts = np.column_stack([np.ones(len(log)), log.contexts[:, columns]])
    oracle.set_state(
        {
            **state,
            "contexts": contexts,
            "actions": log.actions,
            "outcomes": log.outcomes,
            "n_grown": len(log),
            "forest_seed": int(rng.integers(2**32)),
        }
    )
    return oracle
