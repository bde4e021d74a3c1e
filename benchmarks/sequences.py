"""How often confidence sequences ever fail and how wide they are: policies that learn, a look every 20 users.

As in the service: its floor (epsilon = 0.05), a hold-out of 5 %, outcomes that are learnt after every 20 users.

python -m benchmarks.sequences                                  # 500 runs of each of 24 cells: about 40 minutes
python -m benchmarks.sequences --runs 40 --kind 10% --policy thompson --actions 2    # seconds
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

import headstart as hs
from headstart import kernels
from headstart.arrays import Bools, Floats, Integers
from headstart.estimates.sequences import MomentSums, differences, events, limits, sequences
from headstart.kernels import probabilities, update
from headstart.parts.abilities import OracleAbilities
from headstart.parts.contracts import Oracle, State

ALPHA, LOOK, N_USERS, EPSILON, HOLDOUT = 0.05, 20, 10_000, 0.05, 0.05
KINDS = {
    "1%": (0.01, 0.3),
    "10%": (0.1, 0.15),
    "50%": (0.5, 0.05),
    "revenue": (1.0, 0.15),
}  # level, spread of actions
POLICIES = ("thompson", "start", "greedy")
FEW = 10.0  # successes or purchases: with fewer, a rate's interval is that of a count
_Z = 1.959963984540054
_BUYERS = 0.1  # of revenue; what they pay is log-normal with sigma 1
_LOG_ROWS = 1000


class Cell(NamedTuple):
    """One kind of experiment."""

    kind: str
    policy: str
    n_actions: int


class Life(NamedTuple):
    """What happened to the users of one run."""

    means: Floats  # (K,) the truth
    actions: Integers  # (n,)
    propensities: Floats  # (n,)
    values: Floats  # (n,) the expected outcome of the chances that each was drawn with
    outcomes: Floats  # (n,)
    is_holdout: Bools  # (n,)


@kernels.kernel
def _live(
    state: State,
    user: Floats,
    available: Bools,
    scratch: Floats,
    outcomes: Floats,
    uniforms: Floats,
    is_holdout: Bools,
    means: Floats,
    actions: Integers,
    propensities: Floats,
    values: Floats,
) -> None:
    n, k = outcomes.shape
    for t in range(n):
        if t % LOOK == 0:
            for s in range(max(t - LOOK, 0), t):
                update(state, user, actions[s], outcomes[s, actions[s]])
            probabilities(state, user, available, scratch)
        reached, values[t], actions[t] = 0.0, 0.0, -1
        for a in range(k):
            chance = 1.0 / k if is_holdout[t] else (1.0 - EPSILON) * scratch[a] + EPSILON / k
            values[t] += chance * means[a]
            reached += chance
            if actions[t] < 0 and (uniforms[t] < reached or a == k - 1):
                actions[t], propensities[t] = a, chance


def draw_means(cell: Cell, rng: np.random.Generator) -> Floats:
    """The actions' true means, evenly spread, in any order."""
    level, spread = KINDS[cell.kind]
    return level * (1.0 + spread * rng.permutation(np.linspace(-1.0, 1.0, cell.n_actions)))


def draw_outcomes(cell: Cell, means: Floats, n: int, rng: np.random.Generator) -> Floats:
    """What each of n users would do under each action, (n, K)."""
    if cell.kind != "revenue":
        return (rng.random((n, means.size)) < means).astype(np.float64)
    buys = rng.random((n, means.size)) < _BUYERS
    return buys * rng.lognormal(-0.5, 1.0, (n, means.size)) * (means / _BUYERS)


def make_policy(cell: Cell, means: Floats, seed: int, rng: np.random.Generator) -> Oracle:
    """Before its first user; `start` has a randomised log of the same world."""
    k = cell.n_actions
    if cell.policy == "thompson":
        return hs.ThompsonNormal(k, rng=seed) if cell.kind == "revenue" else hs.ThompsonBeta(k, rng=seed)
    if cell.policy == "greedy":
        return hs.EpsilonGreedy(k, epsilon=0.1, rng=seed)
    actions = rng.integers(k, size=_LOG_ROWS)
    outcomes = draw_outcomes(cell, means, _LOG_ROWS, rng)[np.arange(_LOG_ROWS), actions]
    log = hs.Log(actions, outcomes, propensities=np.full(_LOG_ROWS, 1.0 / k), n_actions=k)
    return hs.start(log, rng=seed)


def live(cell: Cell, seed: int, n_users: int = N_USERS) -> Life:
    """One run."""
    rng = np.random.default_rng([seed, cell.n_actions, list(KINDS).index(cell.kind)])
    means = draw_means(cell, rng)
    could, uniforms, is_holdout = (
        draw_outcomes(cell, means, n_users, rng),
        rng.random(n_users),
        rng.random(n_users) < HOLDOUT,
    )
    return live_among(make_policy(cell, means, seed, rng), means, could, uniforms, is_holdout)


def live_among(oracle: Oracle, means: Floats, could: Floats, uniforms: Floats, is_holdout: Bools) -> Life:
    """A policy's life among users who would do what stands in `could`, (n, K)."""
    policy, n_users = OracleAbilities(oracle), len(could)
    policy.reserve(n_users)
    actions, propensities, values = np.zeros(n_users, np.int64), np.zeros(n_users), np.zeros(n_users)
    scratch = (np.empty(0), np.ones(means.size, np.bool_), np.empty(means.size))
    whole = (policy.kernel_state, *scratch, could, uniforms, is_holdout, means, actions, propensities, values)
    kernels.compiled(_live, *kernels.states_in(whole), allocates=True)(*whole)
    return Life(means, actions, propensities, values, could[np.arange(n_users), actions], is_holdout)


def add_up(places: Integers, rows: list[Floats], n_places: int, look: int = LOOK) -> list[Floats]:
    """Running sums of each row by place at every look, (looks, places)."""
    at = np.zeros((places.size, n_places))
    at[np.arange(places.size), places] = 1.0
    starts = np.arange(0, places.size, look)
    return [np.add.reduceat(at * row[:, None], starts, axis=0).cumsum(axis=0) for row in rows]


def sums_of(life: Life) -> MomentSums:
    """At every look, (looks, K)."""
    rows = rows_of(1.0 / life.propensities, life.outcomes)
    return MomentSums(*add_up(life.actions, rows, life.means.size))


def rows_of(w: Floats, y: Floats) -> list[Floats]:
    """What each outcome adds to `MomentSums`."""
    return [w * (y != 0.0), *(w**i * y**j for i in (1, 2, 3) for j in range(4) if i == 3 or j < 3)]


def groups_of(life: Life) -> tuple[MomentSums, Floats]:
    """Policy and hold-out at every look, (looks, 2), and the true difference of their means, (looks,)."""
    y, groups = life.outcomes, life.is_holdout.astype(np.int64)
    *found, values = add_up(groups, [*rows_of(np.ones(y.size), y), life.values], 2)
    sums = MomentSums(*found)
    with np.errstate(invalid="ignore"):
        true = values / sums.w
    return sums.as_groups(), true[:, 0] - true[:, 1]


@dataclass
class Found:
    """What the runs of a cell showed."""

    failed: list[Bools] = field(default_factory=list)  # (K,) a run
    ratios: list[Floats] = field(default_factory=list)  # (K,) of widths at the end, where there are events enough
    pair_failed: list[bool] = field(default_factory=list)  # the leader's difference to any action
    gain_failed: list[bool] = field(default_factory=list)
    first_won: list[float] = field(default_factory=list)  # users; infinite: never
    is_wrong: list[bool] = field(default_factory=list)

    def add(self, life: Life, *, is_binary: bool) -> None:
        """One more run."""
        sums, k = sums_of(life), life.means.size
        found = sequences(sums, ALPHA, is_binary=is_binary)
        self.failed.append(_is_outside(found.low, found.high, life.means).any(axis=0))
        last = MomentSums(*(each[-1] for each in sums))
        once = limits(last, np.full(k, _Z), is_binary=is_binary)
        widths = (found.high[-1] - found.low[-1]) / (once.high - once.low)
        self.ratios.append(np.where(events(last) >= FEW, widths, np.nan))
        leaders = np.where(np.isnan(found.low), -np.inf, found.means).argmax(axis=-1)
        apart = differences(sums, leaders, 2.0 * ALPHA / (k - 1), is_binary=is_binary)
        truth = life.means[leaders][:, None] - life.means
        self.pair_failed.append(bool(_is_outside(apart.low, apart.high, truth).any()))
        has_won = ((apart.low > 0.0) | (np.arange(k) == leaders[:, None])).all(axis=-1)
        self.first_won.append(LOOK * (float(has_won.argmax()) + 1.0) if has_won.any() else np.inf)
        self.is_wrong.append(bool((leaders[has_won] != life.means.argmax()).any()))
        groups, gain = groups_of(life)
        told = differences(groups, np.zeros(len(gain), np.int64), ALPHA, is_binary=is_binary)
        self.gain_failed.append(bool(_is_outside(told.low[:, 1], told.high[:, 1], gain).any()))

    def as_row(self, cell: Cell) -> str:
        """For METHODS.md."""
        failed, ratios, n = np.array(self.failed), np.array(self.ratios), len(self.failed)
        known = ratios[np.isfinite(ratios)]
        typical = f"{np.median(known):.2f} | {np.quantile(known, 0.9):.2f}" if known.size else "- | -"
        won = np.isfinite(self.first_won)
        when = f"{np.median(np.array(self.first_won)[won]):,.0f}" if won.any() else "-"
        return (
            f"| {cell.kind} | {cell.policy} | {cell.n_actions} "
            f"| {failed.mean():.1%} | {failed.any(axis=1).mean():.1%} "
            f"| {typical} | {np.isfinite(ratios).mean():.0%} | {np.mean(self.gain_failed):.1%} "
            f"| {won.mean():.0%} | {when} | {sum(self.is_wrong) / n:.1%} |"
        )


HEAD = (
    "| outcome | policy | K | its sequence ever fails | any of K | width, median | 90 % | of actions "
    "| gain fails | won | after | wrong |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def _is_outside(low: Floats, high: Floats, truth: Floats) -> Bools:
    return (low > truth) | (high < truth)  # NaN, no interval, is not outside


def measure(cell: Cell, runs: int, first: int, n_users: int = N_USERS) -> Found:
    """So many runs of a cell."""
    found = Found()
    for run in range(first, first + runs):
        found.add(live(cell, run, n_users), is_binary=cell.kind != "revenue")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--first", type=int, default=60_000)
    parser.add_argument("--kind", choices=[*KINDS])
    parser.add_argument("--policy", choices=POLICIES)
    parser.add_argument("--actions", type=int, choices=(2, 10))
    told = parser.parse_args()
    print(HEAD)
    for kind in [told.kind] if told.kind else KINDS:
        for policy in [told.policy] if told.policy else POLICIES:
            for n_actions in [told.actions] if told.actions else (2, 10):
                cell = Cell(kind, policy, n_actions)
                print(measure(cell, told.runs, told.first).as_row(cell), flush=True)


if __name__ == "__main__":
    main()
