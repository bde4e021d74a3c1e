"""LinUCB beside its peers: python -m benchmarks.linear

One decision and its update, a simulator's round, and many contexts scored at once. Times are those of one core,
measured in this very run, in turns, and printed as ratios, since machines differ. Peers that are not installed
are left out.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: all are measured on one core

import numba
import numpy as np

from benchmarks.timing import print_table
from headstart import simulate, worlds
from headstart.oracles import LinUCB

SIZES = ((10, 20), (20, 100))  # actions, features
N_SCORED, K_SCORED, D_SCORED = 100_000, 20, 50
LIMIT = "hand-written numba kernel (the limit)"
OURS = "headstart"
Go = Callable[[int], Any]  # do n decisions, each with its update


def main() -> None:
    """Print the three tables."""
    for n_actions, n_features in SIZES:
        decisions(n_actions, n_features)
    for n_actions, n_features in SIZES:
        rounds(n_actions, n_features)
    scoring()


def best_in_turns(contenders: dict[str, Go], counts: dict[str, int], goes: int) -> dict[str, float]:
    """Seconds of one core for one, the best of several goes; the contenders take turns, so noise meets them all."""
    best = dict.fromkeys(contenders, math.inf)
    for _ in range(goes):
        for name, go in contenders.items():
            started = time.thread_time()
            go(counts[name])
            best[name] = min(best[name], (time.thread_time() - started) / counts[name])
    return best


def decisions(n_actions: int, n_features: int) -> None:
    """One decide + update at a time, called from Python with a new context each time."""
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(2000, n_features)) / math.sqrt(n_features)
    truth = rng.normal(size=(n_actions, n_features))
    makers = {
        OURS: live_headstart,
        LIMIT: live_numba,
        "numpy, Sherman-Morrison": live_numpy,
        "River, LinUCBDisjoint": live_river,
        "MABWiser, LinUCB": live_mabwiser,
        "Vowpal Wabbit, RegCB (a gradient step, O(d): another algorithm)": live_vowpal_wabbit,
    }
    contenders: dict[str, Go] = {}
    for name, make in makers.items():
        try:
            contenders[name] = make(contexts, truth)
        except ImportError:
            print(f"{name}: not installed, left out")
    slow = {"River, LinUCBDisjoint", "MABWiser, LinUCB"}
    counts = {name: 20 if name in slow else 1000 for name in contenders}
    for name, go in contenders.items():
        go(counts[name])  # compile, and fill the matrices
    seconds = best_in_turns(contenders, counts, goes=15)
    _print(f"one decision + update, K = {n_actions}, d = {n_features}", "microseconds", 1e6, seconds)


def rounds(n_actions: int, n_features: int) -> None:
    """A round of the simulator: draw a user, decide, draw the outcome, count regret, learn.

    What a run costs before its first round is in it: 100,000 rounds of the small model, 2,000 of the large one.
    """
    rng = np.random.default_rng(1)
    table = rng.normal(size=(5000, n_features)) / math.sqrt(n_features)
    outcomes = table @ rng.normal(size=(n_features, n_actions))
    world = worlds.PotentialOutcomes(outcomes, table, n_log=1, is_contextual=True)
    oracle = LinUCB(n_actions, n_features)

    def ours(n: int) -> None:
        simulate(world, {"LinUCB": oracle}, rounds=n, runs=1, seed=1)

    contenders: dict[str, Go] = {OURS: ours, LIMIT: lambda n: _numba_rounds(table, outcomes, n)}
    n = 400_000_000 // (n_actions * n_features * n_features)
    counts = dict.fromkeys(contenders, n)
    for go in contenders.values():
        go(100)
    seconds = best_in_turns(contenders, counts, goes=9)
    _print(f"a simulator's round of {n:,}, K = {n_actions}, d = {n_features}", "microseconds", 1e6, seconds)


def scoring() -> None:
    """The upper bounds of many contexts at once."""
    rng = np.random.default_rng(2)
    contexts = rng.normal(size=(N_SCORED, D_SCORED)) / math.sqrt(D_SCORED)
    oracle = LinUCB(K_SCORED, D_SCORED)
    for x in contexts[:2000]:
        oracle.update(x, int(rng.integers(K_SCORED)), rng.normal())
    theta, inverses = oracle.theta, oracle.inverses
    contenders: dict[str, Go] = {
        OURS: lambda n: oracle.score(contexts[:n]),
        LIMIT: lambda n: _numba_scores(theta, inverses, contexts[:n]),
        "numpy, one product per action": lambda n: _numpy_scores(theta, inverses, contexts[:n]),
    }
    np.testing.assert_allclose(contenders[OURS](500), contenders[LIMIT](500), rtol=1e-9)
    np.testing.assert_allclose(contenders[OURS](500), contenders["numpy, one product per action"](500), rtol=1e-9)
    try:
        contenders["MABWiser, predict_expectations"] = _mabwiser_scores(contexts)
    except ImportError:
        print("MABWiser: not installed, left out")
    counts = dict.fromkeys(contenders, N_SCORED)
    if "MABWiser, predict_expectations" in counts:
        counts["MABWiser, predict_expectations"] = 2000
    seconds = {name: s * N_SCORED for name, s in best_in_turns(contenders, counts, goes=5).items()}
    _print(f"scoring {N_SCORED:,} contexts, K = {K_SCORED}, d = {D_SCORED}", "seconds", 1.0, seconds)


def _print(title: str, unit: str, factor: float, seconds: dict[str, float]) -> None:
    ours, rows = seconds[OURS], []
    for name, s in seconds.items():
        if name == OURS:
            claim = ""
        elif name == LIMIT:
            claim = f"{ours / s:.2f} times the limit"
        else:
            claim = f"{s / ours:.1f} times faster"
        rows.append((name, f"{s * factor:.3g}", claim))
    print_table(title, ("program", unit, "headstart is"), rows)


def live_headstart(contexts: Any, truth: Any) -> Go:
    oracle = LinUCB(*truth.shape)

    def go(n: int) -> None:
        for i in range(n):
            context = contexts[i]
            action = oracle.play(context)
            oracle.update(context, action, float(truth[action, 0]))

    return go


@numba.njit(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy", nogil=True)
def _bound(inverse: Any, theta: Any, context: Any) -> float:
    """theta'x + sqrt(x'Vx), V symmetric."""
    mean, square = 0.0, 0.0
    for i in range(context.size):
        row = inverse[i]
        total = 0.0
        for j in range(i):
            total += row[j] * context[j]
        square += (2.0 * total + row[i] * context[i]) * context[i]
        mean += theta[i] * context[i]
    return mean + math.sqrt(square)


@numba.njit(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy", nogil=True)
def _decide(inverses: Any, theta: Any, context: Any) -> int:
    best, best_index = -1, -np.inf
    for a in range(theta.shape[0]):
        index = _bound(inverses[a], theta[a], context)
        if index > best_index:
            best, best_index = a, index
    return best


@numba.njit(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy", nogil=True)
def _learn(inverses: Any, theta: Any, scratch: Any, context: Any, action: int, outcome: float) -> None:
    d = context.size
    inverse = inverses[action]
    square, mean = 0.0, 0.0
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += inverse[i, j] * context[j]
        scratch[i] = total
        square += total * context[i]
        mean += theta[action, i] * context[i]
    step = (outcome - mean) / (1.0 + square)
    for i in range(d):
        factor = scratch[i] / (1.0 + square)
        for j in range(d):
            inverse[i, j] -= factor * scratch[j]
        theta[action, i] += scratch[i] * step


def _start(n_actions: int, d: int) -> tuple[Any, Any, Any]:
    return np.tile(np.eye(d), (n_actions, 1, 1)), np.zeros((n_actions, d)), np.zeros(d)


def live_numba(contexts: Any, truth: Any) -> Go:
    inverses, theta, scratch = _start(*truth.shape)

    def go(n: int) -> None:
        for i in range(n):
            context = contexts[i]
            action = _decide(inverses, theta, context)
            _learn(inverses, theta, scratch, context, action, float(truth[action, 0]))

    return go


def live_numpy(contexts: Any, truth: Any) -> Go:
    inverses, theta, _ = _start(*truth.shape)
    moments = np.zeros(truth.shape)
    n_actions = len(truth)

    def go(n: int) -> None:
        for i in range(n):
            x = contexts[i]
            bounds = [theta[a] @ x + math.sqrt(x @ inverses[a] @ x) for a in range(n_actions)]
            action = int(np.argmax(bounds))
            gain = inverses[action] @ x
            inverses[action] -= np.outer(gain, gain) / (1.0 + x @ gain)
            moments[action] += truth[action, 0] * x
            theta[action] = inverses[action] @ moments[action]

    return go


def live_river(contexts: Any, truth: Any) -> Go:
    from river import bandit

    policy = bandit.LinUCBDisjoint(seed=1)
    named = [dict(enumerate(x.tolist())) for x in contexts[:100]]
    arms = list(range(len(truth)))

    def go(n: int) -> None:
        for i in range(n):
            action = policy.pull(arms, context=named[i])
            policy.update(action, named[i], float(truth[action, 0]))

    return go


def live_mabwiser(contexts: Any, truth: Any) -> Go:
    from mabwiser.mab import MAB, LearningPolicy

    mab = MAB(arms=list(range(len(truth))), learning_policy=LearningPolicy.LinUCB(alpha=1.0))
    start = np.arange(len(truth))
    mab.fit(decisions=start, rewards=np.zeros(len(truth)), contexts=contexts[start])

    def go(n: int) -> None:
        for i in range(n):
            x = contexts[i : i + 1]
            action = mab.predict(x)
            mab.partial_fit([action], [float(truth[action, 0])], x)

    return go


def live_vowpal_wabbit(contexts: Any, truth: Any) -> Go:
    from vowpalwabbit import pyvw

    workspace = pyvw.Workspace("--cb_explore_adf --regcbopt --quiet")
    n_actions = len(truth)
    # The crossing of user and action features that makes the model disjoint is done here, in the text.
    texts = [
        [f"|u{a} " + " ".join(f"f{j}:{value:.6g}" for j, value in enumerate(x)) for a in range(n_actions)]
        for x in contexts[:1000]
    ]

    def go(n: int) -> None:
        for i in range(n):
            chances = workspace.predict("\n".join(texts[i]))
            action = int(np.argmax(chances))
            lines = list(texts[i])
            lines[action] = f"0:{-truth[action, 0]:.6g}:{chances[action]:.6g} {lines[action]}"
            workspace.learn("\n".join(lines))

    return go


@numba.njit(nogil=True)
def _numba_rounds(table: Any, outcomes: Any, n: int) -> float:
    n_actions, d = outcomes.shape[1], table.shape[1]
    inverses, theta, scratch = np.zeros((n_actions, d, d)), np.zeros((n_actions, d)), np.zeros(d)
    for a in range(n_actions):
        for j in range(d):
            inverses[a, j, j] = 1.0
    regret = 0.0
    for _ in range(n):
        row = np.random.randint(0, table.shape[0])
        context = table[row]
        action = _decide(inverses, theta, context)
        outcome = outcomes[row, action]
        regret += outcomes[row].max() - outcome
        _learn(inverses, theta, scratch, context, action, outcome)
    return regret


@numba.njit(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy", nogil=True)
def _numba_scores(theta: Any, inverses: Any, contexts: Any) -> Any:
    out = np.empty((contexts.shape[0], theta.shape[0]))
    for r in range(contexts.shape[0]):
        for a in range(theta.shape[0]):
            out[r, a] = _bound(inverses[a], theta[a], contexts[r])
    return out


def _numpy_scores(theta: Any, inverses: Any, contexts: Any) -> Any:
    out = contexts @ theta.T
    for a in range(len(theta)):
        out[:, a] += np.sqrt(((contexts @ inverses[a]) * contexts).sum(axis=1))
    return out


def _mabwiser_scores(contexts: Any) -> Go:
    from mabwiser.mab import MAB, LearningPolicy

    mab = MAB(arms=list(range(K_SCORED)), learning_policy=LearningPolicy.LinUCB(alpha=1.0))
    rng = np.random.default_rng(3)
    mab.fit(rng.integers(K_SCORED, size=2000), rng.normal(size=2000), contexts[:2000])
    return lambda n: mab.predict_expectations(contexts[:n])


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
