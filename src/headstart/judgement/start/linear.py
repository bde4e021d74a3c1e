"""Linear models of a log's actions, with products of columns where the log bends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.judgement.audit.trust import Trust
from headstart.logs.log import Log
from headstart.priors.interactions import Interactions, propose_interactions
from headstart.priors.linear import LOGGED, LinearModels, models_of_rows

MARGIN = 3.0  # by how much the rows' log-likelihood must be larger with products
_DRAWS, _MOST_ROWS = 50, 500  # of what the log leaves open, and users to average over


class Fitted(NamedTuple):
    models: LinearModels
    interactions: Interactions
    contexts: Floats  # (n, m) a constant, the columns in standard units, their products


def fit_linear(log: Log, standard: Floats, weights: Floats, trust: Trust) -> Fitted:
    """The models of (1, x), x standardised; of squares of the columns or all their products too, if the rows are
    likelier with them by a margin."""
    plain = np.column_stack([np.ones(len(log)), standard])
    best: Fitted | None = None
    for added in propose_interactions(plain):
        seen = added.expand(plain)
        models = models_of_rows(seen, log.actions, log.outcomes, log.n_actions, trust.weights, weights)
        models = models._replace(evidence=models.evidence - (MARGIN if len(added.pairs) else 0.0))
        if best is None or models.evidence > best.models.evidence:
            best = Fitted(models, added, seen)
    assert best is not None
    return best


def describe_linear(fitted: Fitted) -> str:
    """What it decides by and what the log says that is worth, in words."""
    n_products = len(fitted.interactions.pairs)
    n_columns = fitted.contexts.shape[1] - 1 - n_products
    columns = f"{n_columns} column{'s' if n_columns > 1 else ''}"
    if n_products:
        columns += f" and {n_products} of their squares and products"
    gains = draw_gains(fitted, np.random.default_rng(0))
    words = f"decisions are by a linear model per action of {columns}: by the log, they gain"
    if gains.max() < 1e-6 * np.sqrt(fitted.models.variance):
        return f"{words} nothing over one action for all, unless users disagree with it"
    low, high = np.quantile(gains, [0.05, 0.95])
    return f"{words} {gains.mean():.2g} ({low:.2g} to {high:.2g}) a user over one action for all"


def draw_gains(fitted: Fitted, rng: np.random.Generator) -> Floats:
    """What deciding by context gains a user over the best action for all, drawn from what the log leaves open."""
    models = fitted.models
    rows = fitted.contexts[rng.permutation(len(fitted.contexts))[:_MOST_ROWS]]
    roots = np.sqrt(models.variance) * np.linalg.cholesky(models.inverses[:, LOGGED])
    gains = np.empty(_DRAWS)
    for i in range(_DRAWS):
        normals = rng.standard_normal((*models.centres[:, LOGGED].shape, 1))
        expected = rows @ (models.centres[:, LOGGED] + (roots @ normals)[..., 0]).T
        gains[i] = expected.max(axis=1).mean() - expected.mean(axis=0).max()
    return gains
