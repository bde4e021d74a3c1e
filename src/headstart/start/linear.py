"""A linear model per action that starts from the log's rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headstart.evaluators.pooled_ridge import choose_penalty
from headstart.log import Log
from headstart.oracles.linthompson import LinThompson
from headstart.trust import Trust

Floats = NDArray[np.float64]

# Of the posterior's width that is drawn from. Users differ, so that the best action for one is explored by others,
# and drawing from the whole width explores too much in many columns (Bietti, Agarwal and Langford 2021).
EXPLORATION = 0.5


def start_linear(
    log: Log, standard: Floats, weights: Floats, trust: Trust, rng: np.random.Generator
) -> tuple[LinThompson, float]:
    """LinThompson whose ridge and noise are the log's, that has learnt the log's rows, each counted by its trust.

    Contexts are standardised, with a constant in front, which is returned too: so large that the ridge leaves the
    level free. A row with weight v and trust w counts as w v rows (power prior, Ibrahim and Chen 2000).
    """
    penalty, noise = choose_penalty(standard, log.outcomes, log.actions, log.n_actions)
    spread = float(log.outcomes.std())
    noise = max(noise, 1e-3 * spread, 1e-9)
    # The prior's standard deviation of the level is noise constant / sqrt(penalty): three times what was seen.
    constant = max(1.0, 3.0 * float(np.hypot(spread, log.outcomes.mean())) * np.sqrt(penalty) / noise)
    oracle = LinThompson(
        log.n_actions, standard.shape[1] + 1, scale=EXPLORATION * noise, ridge=penalty, rng=rng
    )
    counted = np.sqrt(weights * trust.weights[log.actions])
    for x, action, outcome, root in zip(standard, log.actions, log.outcomes, counted, strict=True):
        oracle.update(np.concatenate([[constant * root], root * x]), int(action), root * float(outcome))
    return oracle, constant
