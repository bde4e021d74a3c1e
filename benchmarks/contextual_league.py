"""A league on random worlds where the best action may depend on the user: regret of `start(log, decide_on=...)` and
of others over that of a cold linear Thompson sampler that estimates its noise.

Each world is drawn: 2 to 10 actions, 1 to 15 columns of which some are irrelevant, slopes that actions have in common
and slopes of their own (from none to strong), outcomes linear, bent (squares, kinks, steps, products) or binary, 50
to 3,000 rows logged by a policy that looks at the user (a decent one or a bad one), 500 to 3,000 users. Families: a
good log with its propensities, or without them (withheld); an action that is not the one best most often raised by
0.5 to 2 standard deviations in the log (inflated); the one best most often lowered (deflated); an action's slopes
wrong in the log (slopes); a column that moves actions and outcomes and is not in the log (hidden).

    python -m benchmarks.contextual_league --worlds 100
    python -m benchmarks.contextual_league --trials --worlds 20
    python -m benchmarks.contextual_league --delay 1000 --users 3000 --systems start "LinThompson on rows"
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import headstart as hs
from benchmarks.ratios import compare_regrets, print_league
from headstart.arrays import Bools, Floats, Integers, Words
from headstart.judgement.start.start import start
from headstart.kernels import draw_outcome, draw_user, expected_outcomes, implements, play, update
from headstart.kernels.arrays import copy_into
from headstart.kernels.random import draw_student
from headstart.kernels.ridge import PHI, WHITENED, Ridge, dot, fill_features, learn_row, whiten
from headstart.kernels.tally import Tally, update_tally
from headstart.logs.log import Log
from headstart.oracles.linear import LinearOracle, new_linear
from headstart.randomness import as_words
from headstart.simulation.simulate import simulate
from headstart.worlds import ACTG175, Classification
from headstart.worlds.drawn import DrawnWorld
from headstart.worlds.table import draw_row_user, outcome_of_row

N_TABLE = 4000
FAMILIES = ("given", "withheld", "inflated", "deflated", "slopes", "hidden")


# --- the worlds


class LeagueState(NamedTuple):
    contexts: Floats  # (n, d)
    outcomes: Floats  # (n, K)
    means: Floats  # (n, K) what regret is measured against
    present: Integers  # (1,)
    rng: Words  # (4,)


implements(draw_user, LeagueState)(draw_row_user)
implements(draw_outcome, LeagueState)(outcome_of_row)


@implements(expected_outcomes, LeagueState)
def _expected(state: LeagueState, out: Floats) -> None:
    copy_into(out, state.means[state.present[0]])


def _bend(signal: Floats, contexts: Floats, rng: np.random.Generator) -> Floats:
    """Outcomes that no line tells: a square, a saturation and a kink, a step, or a product of two columns."""
    k, d = signal.shape[1], contexts.shape[1]
    own = rng.standard_normal(k) * rng.uniform(0.2, 0.8)
    i, j = rng.integers(d, size=2)
    kind = int(rng.integers(4))
    if kind == 0:
        return signal + 0.3 * (signal**2 - (signal**2).mean(axis=0))
    if kind == 1:
        return 1.5 * np.tanh(signal) + np.abs(contexts[:, [i]]) * own
    if kind == 2:
        return signal + np.sign(contexts[:, [i]] - rng.uniform(-0.7, 0.7)) * own
    return signal + contexts[:, [i]] * contexts[:, [j]] * own


class LeagueWorld:
    """One random world; `draw` draws its log and its users."""

    def __init__(self, rng: np.random.Generator, family: str) -> None:
        k, d = int(rng.integers(2, 11)), int(rng.integers(1, 16))
        self.n_log = int(np.exp(rng.uniform(np.log(50), np.log(3000))))
        self.users = int(rng.choice([500, 1000, 2000, 3000]))
        self.family = family
        contexts = rng.standard_normal((N_TABLE, d)) if rng.random() < 0.5 else rng.uniform(-1.7, 1.7, (N_TABLE, d))
        coins = rng.random(d) < 0.2
        contexts[:, coins] = np.sign(contexts[:, coins])
        matters = (rng.random(d) < rng.uniform(0.3, 1.0)) | (np.arange(d) == 0)
        own = rng.standard_normal((k, d)) * rng.choice([0.0, rng.uniform(0.0, 0.5), rng.uniform(0.5, 1.5)])
        slopes = (rng.standard_normal(d) * rng.uniform(0.0, 1.0) + own) * matters / np.sqrt(matters.sum())
        hidden = rng.standard_normal(N_TABLE)
        by_hidden = rng.standard_normal(k) * (0.7 if family == "hidden" else 0.0)
        signal = contexts @ slopes.T
        self.shape = shape = ("linear", "bent", "binary")[int(rng.integers(3))]
        if shape == "bent":
            signal = _bend(signal, contexts, rng)
        signal = signal + rng.standard_normal(k) * rng.uniform(0.1, 0.5)
        if shape == "binary":
            level = rng.uniform(-2.0, 1.0)
            scores = 1.5 * signal + level
            chances = 1.0 / (1.0 + np.exp(-(scores + np.outer(hidden, 1.5 * by_hidden))))
            self.outcomes = (rng.random((N_TABLE, k)) < chances).astype(float)
            points, shares = np.polynomial.hermite_e.hermegauss(9)  # the mean over what is hidden
            at = [1.0 / (1.0 + np.exp(-(scores + 1.5 * u * by_hidden))) for u in points]
            self.means = np.average(at, axis=0, weights=shares)
        else:
            self.means = signal
            noise = rng.standard_normal((N_TABLE, k)) * rng.choice([0.5, 1.0, 2.0])
            self.outcomes = signal + np.outer(hidden, by_hidden) + noise
        spread = float(self.outcomes.std())
        skill = rng.uniform(-1.0, 2.0) * (self.means - self.means.mean(axis=1, keepdims=True)) / spread
        pull = contexts @ rng.standard_normal((k, d)).T / np.sqrt(d) * rng.uniform(0.0, 1.0)
        seen = np.outer(hidden, rng.standard_normal(k)) if family == "hidden" else 0.0
        scores = skill + pull + seen
        policy = np.exp(scores - scores.max(axis=1, keepdims=True))
        self.policy = 0.95 * policy / policy.sum(axis=1, keepdims=True) + 0.05 / k
        wins = np.bincount(np.argmax(self.means, axis=1), minlength=k)
        self.moves = np.zeros((N_TABLE, k))  # what the log's outcomes are off by
        size = float(rng.uniform(0.5, 2.0)) * spread
        best = int(np.argmax(wins))
        if family == "inflated":
            self.moves[:, int(rng.choice([a for a in range(k) if a != best]))] = size
        elif family == "deflated":
            self.moves[:, best] = -size
        elif family == "slopes":
            tilt = contexts @ (rng.standard_normal(d) / np.sqrt(d))
            self.moves[:, int(rng.integers(k))] = size * tilt
        self.contexts = np.column_stack([contexts, np.ones(N_TABLE)])

    def draw(self, rng: np.random.Generator) -> Any:
        rows = rng.integers(N_TABLE, size=self.n_log)
        policy = self.policy[rows]
        actions = (rng.random((self.n_log, 1)) >= np.cumsum(policy, axis=1)[:, :-1]).sum(axis=1)
        outcomes = self.outcomes[rows, actions] + self.moves[rows, actions]
        chances = policy if self.family in ("given", "inflated", "deflated", "slopes") else None
        log = Log(actions, outcomes, self.contexts[rows], chances, n_actions=self.means.shape[1])
        state = LeagueState(self.contexts, self.outcomes, self.means, np.zeros(1, dtype=np.int64), as_words(rng))
        return DrawnWorld(log, self.contexts.shape[1], state)


# --- the cold start that everything is measured by


class ColdState(NamedTuple):
    tally: Tally
    ridge: Ridge
    squares: Floats  # (K,) of one-step errors, each divided by its 1 + phi'V^-1 phi
    exploration: float
    rng: Words


@implements(play, ColdState)
def _play_cold(state: ColdState, context: Floats, available: Bools) -> int:
    ridge, counts = state.ridge, state.tally.counts
    fill_features(ridge, context, 0)
    phi, whitened = ridge.scratch[PHI], ridge.scratch[WHITENED]
    n, unexplained = 1e-9, 1e-9
    for a in range(counts.size):
        n += counts[a]
        unexplained += state.squares[a]
    best, best_draw = -1, -np.inf
    for a in range(available.size):
        if available[a]:
            freedom = 8.0 + counts[a]
            variance = (8.0 * unexplained / n + state.squares[a]) / freedom
            width = state.exploration * math.sqrt(variance * whiten(ridge.factors[a], phi, whitened))
            draw = dot(phi, ridge.theta[a]) + width * draw_student(state.rng, freedom)
            if best < 0 or draw > best_draw:
                best, best_draw = a, draw
    return best


@implements(update, ColdState)
def _update_cold(state: ColdState, context: Floats, action: int, outcome: float) -> None:
    ridge = state.ridge
    fill_features(ridge, context, 0)
    error, spread = learn_row(ridge.theta[action], ridge.factors[action], ridge.scratch, outcome)
    state.squares[action] += error * error / spread
    update_tally(state, context, action, outcome)


class ColdLinear(LinearOracle[ColdState]):
    """Thompson sampling with a linear model per action (ridge 1) and unknown noise."""

    def __init__(self, n_actions: int, n_features: int, exploration: float = 1.0, rng: Any = None) -> None:
        features = hs.features.disjoint(n_actions, n_features)
        super().__init__(
            features, ColdState(*new_linear(features, 1.0), np.zeros(n_actions), exploration, as_words(rng))
        )


# --- the systems


def _with_rows(oracle: Any, log: Log) -> Any:
    """Full trust: the oracle learns every row of the log as if it had played it."""
    for x, action, outcome in zip(log.contexts, log.actions, log.outcomes, strict=True):
        oracle.update(x, int(action), float(outcome))
    return oracle


def _started(world: Any, log: Log, rng: Any) -> Any:
    return start(log, decide_on=range(world.n_features), horizon=_started.users, rng=rng)  # type: ignore[attr-defined]


def _context_free(world: Any, log: Log, rng: Any) -> Any:
    return start(log, horizon=_started.users, rng=rng)  # type: ignore[attr-defined]


COLD = "cold linear Thompson"
Systems = dict[str, Callable[[Any, Any, Any], Any]]
SYSTEMS: Systems = {
    COLD: lambda w, log, rng: ColdLinear(w.n_actions, w.n_features, rng=rng),
    "start": _started,
    "cold, width / 4": lambda w, log, rng: ColdLinear(w.n_actions, w.n_features, 0.25, rng=rng),
    "cold LinUCB": lambda w, log, rng: hs.LinUCB(w.n_actions, w.n_features),
    "LinUCB + LR": lambda w, log, rng: hs.WarmStart(
        hs.LinUCB(w.n_actions, w.n_features), hs.LinearModel(log), rng=rng
    ),
    "LinThompson on rows": lambda w, log, rng: _with_rows(
        hs.LinThompson(w.n_actions, w.n_features, scale=0.5, rng=rng), log
    ),
    "Thompson on rows": lambda w, log, rng: _with_rows(ColdLinear(w.n_actions, w.n_features, rng=rng), log),
    "rows, width / 4": lambda w, log, rng: _with_rows(ColdLinear(w.n_actions, w.n_features, 0.25, rng=rng), log),
    "start, context-free": _context_free,
}
FORESTS: Systems = {
    "cold forest": lambda w, log, rng: hs.EpsilonForest(w.n_actions, w.n_features, rng=rng),
    "forest on rows": lambda w, log, rng: _with_rows(hs.EpsilonForest(w.n_actions, w.n_features, rng=rng), log),
}


def run_family(
    family: str, systems: Systems, n_worlds: int, seed: int, delay: int = 0, users: int | None = None
) -> dict[str, Floats]:
    """The regret of each system in each world of a family; with so many users in flight, and so many in all."""
    regrets: dict[str, list[float]] = {name: [] for name in systems}
    for i in range(n_worlds):
        world = LeagueWorld(np.random.default_rng([seed, FAMILIES.index(family), i]), family)
        rounds = users or world.users
        _started.users = rounds  # type: ignore[attr-defined]
        curves = simulate(world, systems, rounds=rounds, runs=1, seed=1000 * seed + i, delay=delay)
        for name, curve in curves.items():
            regrets[name].append(curve.mean)
    return {name: np.array(values) for name, values in regrets.items()}


def run_trial(world: Any, users: int, systems: Systems, runs: int, seed: int) -> dict[str, Floats]:
    """The same on a data set with a known truth, in each run."""
    _started.users = users  # type: ignore[attr-defined]
    curves = simulate(world, systems, rounds=users, runs=runs, seed=seed)
    return {name: curve.regrets[:, -1] for name, curve in curves.items()}


def describe(title: str, regrets: dict[str, Floats]) -> str:
    """A table: mean regret over the cold start's, its standard error, and the mean of the logarithm of 1 + regret
    relative to the cold start's, in which no single world weighs much."""
    cold = regrets[COLD]
    lines = [f"\n{title}: regret over that of a {COLD} sampler ({cold.mean():.1f}), {cold.size} worlds"]
    for name, values in regrets.items():
        ratio, typical = compare_regrets(values, cold), math.exp(np.mean(np.log((1.0 + values) / (1.0 + cold))))
        lines.append(f"  {name:22s} {ratio.mean:6.2f} ± {ratio.se:.2f}   geometric {typical:5.2f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=40, help="worlds of each family, or runs of each trial")
    parser.add_argument("--seed", type=int, default=1, help="settings were chosen on seeds below 1000")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--forests", action="store_true", help="forests too, which take minutes")
    parser.add_argument("--trials", action="store_true", help="digits and ACTG 175 instead of random worlds")
    parser.add_argument("--delay", type=int, default=0, help="users in flight")
    parser.add_argument("--users", type=int, help="users of every world; its own by default")
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), help="these alone, beside the cold start")
    options = parser.parse_args()
    systems = {**SYSTEMS, **(FORESTS if options.forests else {})}
    if options.systems:
        systems = {name: systems[name] for name in (COLD, *options.systems) if name in systems}
    if options.trials:
        for name, world in (("digits", Classification()), ("ACTG 175", ACTG175(is_contextual=True))):
            print(describe(name, run_trial(world, 2000, systems, options.worlds, options.seed)), flush=True)
        return
    found = {}
    for family in options.families:
        found[family] = run_family(family, systems, options.worlds, options.seed, options.delay, options.users)
        print(describe(family, found[family]), file=sys.stderr, flush=True)
    title = f"Regret over that of a {COLD} sampler, {options.worlds} worlds a family, seed {options.seed}"
    print_league(title, found, COLD)


if __name__ == "__main__":
    main()
