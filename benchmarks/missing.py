"""Missing propensities: what drawing the estimated chances towards the shares does to the weighted means, and trees.

Confounded logs of 300 to 3,000 rows and 2 to 20 columns, by kind of logging policy: a softmax of a line (3 and 5
actions), a softmax with a floor, a tree of two columns, a product of two columns. Outcomes go by what the policy goes
by. The error of each action's weighted mean against the truth, with the chances as `fill_missing` has them, with
those of the regression alone, and with the cross-fitted ones of the regression taken at their word.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np

from headstart import Log, estimate_propensities
from headstart.estimates.propensity.missing import TREES, fill_missing
from headstart.estimates.weighted import weigh_sums

Drawn = tuple[Log, np.ndarray]


def draw_log(rng: np.random.Generator, n_actions: int = 3, floor: float = 0.0, n: int | None = None) -> Drawn:
    """A log whose policy and outcomes go by lines of the same columns, and the actions' true means."""
    n, d = n or int(rng.integers(300, 3001)), int(rng.integers(2, 21))
    contexts = rng.standard_normal((n, d))
    scores = contexts @ rng.standard_normal((d, n_actions)) / np.sqrt(d)
    lines = contexts @ rng.standard_normal((d, n_actions)) / np.sqrt(d)
    return _make(rng, contexts, scores, lines, floor)


def draw_bent(rng: np.random.Generator, shape: Callable[[np.ndarray], np.ndarray], n: int | None = None) -> Drawn:
    """A log whose policy and outcomes go by one bent value of the contexts, -1 to 1, which no line follows."""
    n, d = n or int(rng.integers(300, 3001)), int(rng.integers(2, 21))
    contexts = rng.standard_normal((n, d))
    bent = shape(contexts)
    return _make(rng, contexts, np.outer(bent, (-1.2, 0.0, 1.2)), np.outer(bent, (0.8, 0.8, 0.8)), 0.0)


def _make(
    rng: np.random.Generator, contexts: np.ndarray, scores: np.ndarray, lines: np.ndarray, floor: float
) -> Drawn:
    n, k = scores.shape
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    chances = (1.0 - floor) * chances + floor / k
    actions = np.minimum((rng.random((n, 1)) > chances.cumsum(axis=1)).sum(axis=1), k - 1)
    means = 0.5 * np.arange(k)
    lines = lines - lines.mean(axis=0)  # the truth is of the users that the log has
    outcomes = means[actions] + lines[np.arange(n), actions] + rng.standard_normal(n)
    return Log(actions, outcomes, contexts, n_actions=k), means


def _tree(x: np.ndarray) -> np.ndarray:
    return np.where(x[:, 0] > 0.0, np.where(x[:, 1] > 0.3, 1.0, -1.0), np.where(x[:, 1] > -0.3, -1.0, 1.0))


def _product(x: np.ndarray) -> np.ndarray:
    return np.tanh(1.5 * x[:, 0] * x[:, 1])


KINDS: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "a line": draw_log,
    "a line, 5 actions, 1,000 rows": lambda rng: draw_log(rng, 5, n=1000),
    "a line with a floor of 0.1": lambda rng: draw_log(rng, floor=0.1),
    "a tree of two columns": lambda rng: draw_bent(rng, _tree),
    "a product of two columns": lambda rng: draw_bent(rng, _product),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="", help="only the kinds whose names hold this")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for kind, draw in ((kind, draw) for kind, draw in KINDS.items() if given.kind in kind):
        errors: dict[str, list[float]] = {"as filled in": [], "regression alone": [], "taken at its word": []}
        n_trees, seconds = 0, 0.0
        for stream in np.random.SeedSequence(given.seed).spawn(given.logs):
            log, truth = draw(np.random.default_rng(stream))
            began = time.process_time()
            filled = fill_missing(log)
            seconds += time.process_time() - began
            n_trees += filled.how == TREES
            logs = (filled.log, fill_missing(log, tries_others=False).log, estimate_propensities(log, rng=0))
            for name, one in zip(errors, logs, strict=True):
                errors[name].append(float(np.abs(weigh_sums(one.action_sums()).means - truth).mean()))
        print(f"{kind}: {given.logs} logs, by trees in {n_trees}, {1000 * seconds / given.logs:.0f} ms a log")
        ours = np.array(errors["as filled in"])
        for name, found in errors.items():
            apart = ours - found
            words = f"  {name:18s} mean absolute error {np.mean(found):.4f}"
            print(words + f"  difference {apart.mean():+.4f} ± {apart.std(ddof=1) / np.sqrt(apart.size):.4f}")


if __name__ == "__main__":
    main()
