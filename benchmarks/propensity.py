"""Propensities beside scikit-learn's logistic regression: python -m benchmarks.propensity

A million rows, 20 columns, 5 actions: seconds to a fit of equal loss, ours and scikit-learn's in turns, in this very
run. Then small logs, cross-fitted in five folds, where scikit-learn's set-up is most of its time.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import print_table
from headstart.estimates.propensity import LogisticPropensity, estimate_propensities
from headstart.logs.log import Log

N_ROWS, N_FEATURES, N_ACTIONS = 1_000_000, 20, 5
SMALL = ((100, 4, 2), (100, 8, 2), (500, 10, 3), (1000, 20, 5))  # rows, columns, actions


def main() -> None:
    """Print the two tables."""
    large()
    small()


def make_log(n: int, d: int, n_actions: int, seed: int) -> Log:
    """Columns of different scales that go together, and a softmax policy."""
    rng = np.random.default_rng(seed)
    contexts = rng.standard_normal((n, d)) @ (np.eye(d) + 0.2 * rng.standard_normal((d, d)) / math.sqrt(d))
    scores = contexts @ rng.standard_normal((d, n_actions)) / math.sqrt(d)
    actions = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return Log(actions, np.zeros(n), contexts * rng.uniform(0.5, 2.0, d) + 1.0, n_actions=n_actions)


def in_turns(contenders: dict[str, Callable[[], Any]], goes: int) -> tuple[dict[str, float], dict[str, Any]]:
    """The best seconds of each, and what it returned; they take turns, so noise meets them all."""
    best, made = dict.fromkeys(contenders, math.inf), {}
    for _ in range(goes):
        for name, go in contenders.items():
            started = time.perf_counter()
            made[name] = go()
            best[name] = min(best[name], time.perf_counter() - started)
    return best, made


def _scikit(log: Log, tolerance: float) -> Any:
    """scikit-learn's pipeline on the same rows with the same penalty."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(tol=tolerance, max_iter=1000))
    return model.fit(log.contexts, log.actions)


def large() -> None:
    """Log loss and seconds at a million rows."""
    log = make_log(N_ROWS, N_FEATURES, N_ACTIONS, seed=0)
    LogisticPropensity(make_log(10_000, N_FEATURES, N_ACTIONS, seed=1), ridge=1.0)  # compiles
    contenders: dict[str, Callable[[], Any]] = {
        "headstart": lambda: LogisticPropensity(log, ridge=1.0).predict,
        "headstart, one thread": lambda: LogisticPropensity(log, ridge=1.0, n_jobs=1).predict,
        "scikit-learn lbfgs, default tol 1e-4": lambda: _scikit(log, 1e-4).predict_proba,
        "scikit-learn lbfgs, tol 1e-7": lambda: _scikit(log, 1e-7).predict_proba,
    }
    seconds, fits = in_turns(contenders, goes=3)
    losses = {
        name: -float(np.log(predict(log.contexts)[np.arange(N_ROWS), log.actions]).mean())
        for name, predict in fits.items()
    }
    least = min(losses.values())
    print_table(
        f"{N_ROWS:,} rows x {N_FEATURES} columns x {N_ACTIONS} actions, one fit",
        ("", "time, headstart = 1", "seconds", "log loss above the least"),
        [
            (name, f"{s / seconds['headstart']:.2f}", f"{s:.2f}", f"{losses[name] - least:.1e}")
            for name, s in seconds.items()
        ],
    )


def small() -> None:
    """Five folds of a small log, through the same function."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    twin = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    rows = []
    for n, d, n_actions in SMALL:
        log = make_log(n, d, n_actions, seed=n)
        contenders: dict[str, Callable[[], Any]] = {
            "ours": lambda log=log: estimate_propensities(log, warn_share=1.0),
            "theirs": lambda log=log: estimate_propensities(log, twin, warn_share=1.0),
        }
        in_turns(contenders, goes=2)
        seconds, _ = in_turns(contenders, goes=20)
        ratio = seconds["theirs"] / seconds["ours"]
        rows.append((f"{n} x {d} x {n_actions}", f"{ratio:.1f}", f"{1e3 * seconds['ours'] / 5:.2f}"))
    header = ("rows x columns x actions", "scikit-learn, headstart = 1", "ms a fold")
    print_table("estimate_propensities, five folds", header, rows)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
