"""Many decisions against the probabilities that they logged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from headstart.serve import Engine, load_config

ACTIONS = ("a", "b", "c", "d")


class Findings(NamedTuple):
    """What n decisions showed."""

    n: int
    p_value: float  # of the chi-square of actions drawn against probabilities logged
    ips: float  # the estimate of uniform play's mean outcome by IPS, where every outcome is 1
    standard_error: float


def draw_decisions(address: str, n: int, *, group: int = 1000, seed: int = 1) -> Findings:
    """n decisions of a contextual policy that goes on learning, with changing available actions and a hold-out."""
    table = {
        "actions": list(ACTIONS),
        "contexts": {"x": "number"},
        "oracle": {"name": "LinThompson", "scale": 0.3},
        "holdout": 0.1,
        "epsilon": 0.1,
        "seed": seed,
    }
    rng = np.random.default_rng(seed)
    difference, covariance = np.zeros(len(ACTIONS)), np.zeros((len(ACTIONS), len(ACTIONS)))
    weights = np.zeros(2)
    with Engine.open(load_config({"store": address, "experiments": {"many": table}})) as engine:
        for _ in range(0, n, group):
            users = [{"context": {"x": x}} for x in rng.normal(size=group).tolist()]
            for user in users[::5]:
                user["available"] = rng.choice(ACTIONS, 3, replace=False).tolist()
            decisions = engine.decide_many("many", users)
            outcomes = [(d.event_id, float(rng.random() < 0.2 + 0.1 * (d.action == "c"))) for d in decisions[::10]]
            engine.outcome_many("many", outcomes)
            chances = np.array([d.probabilities for d in decisions])
            drawn = np.array([ACTIONS.index(d.action) for d in decisions])
            difference += np.bincount(drawn, minlength=len(ACTIONS)) - chances.sum(axis=0)
            covariance += np.diag(chances.sum(axis=0)) - chances.T @ chances
            # IPS of the policy that plays uniformly over what is offered, with outcome 1 for everyone: it is 1.
            offered = (chances > 0).sum(axis=1)
            weight = (1.0 / offered) / chances[np.arange(group), drawn]
            weights += weight.sum(), (weight**2).sum()
    # Draws minus chances are a martingale with this covariance, whose rows sum to 0: one dimension less.
    statistic = float(difference @ np.linalg.pinv(covariance) @ difference)
    mean = weights[0] / n
    error = float(np.sqrt((weights[1] / n - mean**2) / n))
    return Findings(n, float(stats.chi2.sf(statistic, len(ACTIONS) - 1)), float(mean), error)
