"""Missing propensities: what drawing the estimated chances towards the actions' shares does to the weighted means.

Confounded logs of 3 actions, 300 to 3,000 rows and 2 to 20 columns; the error of each action's weighted mean against
the truth, with the chances as `fill_missing` draws them and with the cross-fitted ones taken at their word.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from headstart import Log, estimate_propensities
from headstart.estimates.propensity.missing import fill_missing
from headstart.estimates.weighted import weigh_sums

N_ACTIONS = 3


def draw_log(rng: np.random.Generator) -> tuple[Log, np.ndarray]:
    """A log whose policy and outcomes go by the same columns, and the actions' true means."""
    n, d = int(rng.integers(300, 3001)), int(rng.integers(2, 21))
    contexts = rng.standard_normal((n, d))
    scores = contexts @ rng.standard_normal((d, N_ACTIONS)) / np.sqrt(d)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    actions = (rng.random((n, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    means = 0.5 * np.arange(N_ACTIONS)
    lines = contexts @ rng.standard_normal((d, N_ACTIONS)) / np.sqrt(d)
    outcomes = means[actions] + lines[np.arange(n), actions] + rng.standard_normal(n)
    return Log(actions, outcomes, contexts, n_actions=N_ACTIONS), means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    errors: dict[str, list[float]] = {"drawn towards the shares": [], "taken at their word": []}
    for stream in np.random.SeedSequence(given.seed).spawn(given.logs):
        log, truth = draw_log(np.random.default_rng(stream))
        for name, filled in zip(errors, (fill_missing(log).log, estimate_propensities(log, rng=0)), strict=True):
            errors[name].append(float(np.abs(weigh_sums(filled.action_sums()).means - truth).mean()))
    apart = np.subtract(*errors.values())
    for name, found in errors.items():
        print(f"{name:26s} mean absolute error {np.mean(found):.4f}")
    print(f"difference {apart.mean():+.4f} ± {apart.std(ddof=1) / np.sqrt(apart.size):.4f} ({given.logs} logs)")


if __name__ == "__main__":
    main()
