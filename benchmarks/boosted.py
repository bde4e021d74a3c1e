"""Boosted trees beside scikit-learn's HistGradientBoosting: python -m benchmarks.boosted

The same trees of the same rows on one thread, in turns: a fit of 40 rounds and what it says of the rows after 5, 10,
20 and 40 of them, as the doubly robust means and the propensities ask for it. Seconds of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from benchmarks.timing import best_seconds, print_table
from headstart.arrays import Floats, Integers
from headstart.estimates.gradient_trees import boost_classes, boost_numbers, softmax
from headstart.threads import one_native_thread

STAGES = (5, 10, 20, 40)
SIZES = ((300, 4, 3), (2_000, 6, 3), (2_000, 6, 10), (20_000, 6, 3), (20_000, 30, 3))  # rows, columns, actions
THEIRS = {
    "learning_rate": 0.1,
    "max_iter": STAGES[-1],
    "max_leaf_nodes": 15,
    "min_samples_leaf": 20,
    "l2_regularization": 1.0,
    "early_stopping": False,
    "random_state": 0,
}


def main() -> None:
    """Print the tables of numbers and of chances."""
    _compare("What outcomes are left, by contexts and action", _our_numbers, _their_numbers)
    _compare("Chances of actions, by contexts", _our_chances, _their_chances)


Fit = Callable[[Floats, Integers, Floats], Floats]  # what is said after each stage


def _compare(title: str, ours: Fit, theirs: Fit) -> None:
    rows = []
    for n, d, k in SIZES:
        rng = np.random.default_rng(n + k)
        contexts, actions = rng.standard_normal((n, d)), rng.integers(0, k, n)
        outcomes = np.sin(2.0 * contexts[:, 0]) * (actions == 1) + contexts[:, 1] ** 2 + rng.standard_normal(n)
        given = contexts, actions, outcomes
        with one_native_thread():
            apart = float(np.abs(ours(*given) - theirs(*given)).max())  # the first call of each
            mine, other = (best_seconds(partial(fit, *given), 5, time.process_time) for fit in (ours, theirs))
        figures = f"{n:,} x {d} x {k}", f"{mine * 1e3:.1f} ms", f"{other * 1e3:.0f} ms", f"{other / mine:.1f}"
        rows.append((*figures, f"{apart:.0e}"))
    header = "rows x columns x actions", "headstart", "scikit-learn", "times faster", "largest difference"
    print_table(title, header, rows)


def _our_numbers(contexts: Floats, actions: Integers, outcomes: Floats) -> Floats:
    k = int(actions.max()) + 1
    return boost_numbers(contexts, outcomes, STAGES[-1], actions, k).score(contexts, STAGES, actions)[:, :, 0]


def _their_numbers(contexts: Floats, actions: Integers, outcomes: Floats) -> Floats:
    seen = np.column_stack([contexts, actions])
    model = HistGradientBoostingRegressor(**THEIRS, categorical_features=[contexts.shape[1]]).fit(seen, outcomes)
    staged = enumerate(model.staged_predict(seen), start=1)
    return np.column_stack([said for i, said in staged if i in STAGES])


def _our_chances(contexts: Floats, actions: Integers, outcomes: Floats) -> Floats:
    scores = boost_classes(contexts, actions, int(actions.max()) + 1, STAGES[-1]).score(contexts, STAGES)
    return np.moveaxis(softmax(np.moveaxis(scores, 2, 0)), 0, 2)


def _their_chances(contexts: Floats, actions: Integers, outcomes: Floats) -> Floats:
    model = HistGradientBoostingClassifier(**THEIRS).fit(contexts, actions)
    staged = enumerate(model.staged_predict_proba(contexts), start=1)
    return np.stack([said for i, said in staged if i in STAGES], axis=1)


if __name__ == "__main__":
    main()
