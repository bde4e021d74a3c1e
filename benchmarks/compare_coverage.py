"""How often 95 % intervals of `compare` hold the truth, over logs of several kinds.

The truth is simulated: policies started from fresh logs of the same size live as many rounds with fresh users.

python -m benchmarks.compare_coverage                            # 400 logs of each kind: about an hour
python -m benchmarks.compare_coverage --kind rare --logs 50      # a minute; --first 50 goes on from there
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import headstart as hs
from headstart.arrays import Floats, Integers
from headstart.estimates.propensity.missing import fill_missing
from headstart.judgement.compare.policies import COLD, NAIVE, START, TODAY, default_policies

ROUNDS, SHARE = 250, 0.2
WARM = "thompson + doubly robust"
POLICIES = (START, COLD, NAIVE, WARM)
PAIRS = ((START, TODAY), (START, COLD), (COLD, TODAY), (WARM, COLD), (NAIVE, COLD), (WARM, START))


class Kind(NamedTuple):
    """A world and the policy that made its logs."""

    n_rows: int
    n_actions: int
    chances: Callable[[Floats], Floats]  # contexts -> (n, K) of the logging policy
    means: Callable[[Floats], Floats]  # contexts -> (n, K)
    draw: Callable[[np.random.Generator, Floats], Floats]  # expected outcomes -> outcomes
    is_told: bool = True  # whether the log knows its propensities
    decide_on: tuple[int, ...] = ()
    visits: int = 1  # rows of one user, who has a level of its own


def _rates(*levels: float) -> Callable[[Floats], Floats]:
    """The last action is better by 0.1 for those with x0 = 1 than for others; all rise with x1."""
    level = np.array(levels)
    tilt = np.linspace(-0.05, 0.05, level.size)
    return lambda x: level + np.outer(2.0 * x[:, 0] - 1.0, tilt) + 0.03 * x[:, 1:2]


def _softmax(*slopes: float) -> Callable[[Floats], Floats]:
    def chances(x: Floats) -> Floats:
        raw = np.exp(np.outer(x[:, 0] - 0.5, slopes) + 0.3 * np.outer(x[:, 1], slopes))
        return raw / raw.sum(axis=1, keepdims=True)

    return chances


def _fixed(*shares: float) -> Callable[[Floats], Floats]:
    return lambda x: np.tile(np.array(shares) / sum(shares), (len(x), 1))


def _click(rng: np.random.Generator, means: Floats) -> Floats:
    return (rng.random(means.shape) < means).astype(float)


def _spend(rng: np.random.Generator, means: Floats) -> Floats:
    """Nothing from three in four, from the others lognormal: mean `means`."""
    return np.where(rng.random(means.shape) < 0.25, 4.0 * means * rng.lognormal(-0.5, 1.0, means.shape), 0.0)


THREE = _rates(0.3, 0.35, 0.4)
KINDS: dict[str, Kind] = {
    "even": Kind(2_000, 3, _fixed(1, 1, 1), THREE, _click),
    "even, by context": Kind(2_000, 3, _fixed(1, 1, 1), THREE, _click, decide_on=(0, 1)),
    "by context": Kind(2_000, 3, _softmax(1.5, 0.0, -1.5), THREE, _click),
    "rare": Kind(6_000, 4, _fixed(0.4, 0.3, 0.29, 0.01), _rates(0.3, 0.35, 0.4, 0.33), _click),
    "rare best": Kind(6_000, 4, _fixed(0.4, 0.3, 0.29, 0.01), _rates(0.3, 0.33, 0.36, 0.42), _click),
    "estimated": Kind(2_000, 3, _softmax(1.0, 0.0, -1.0), THREE, _click, is_told=False),
    "heavy tails": Kind(2_000, 3, _softmax(0.7, 0.0, -0.7), THREE, _spend),
    "units": Kind(2_000, 3, _softmax(0.7, 0.0, -0.7), THREE, _click, visits=10),
}


def draw_users(kind: Kind, n: int, rng: np.random.Generator) -> tuple[Floats, Floats, Integers]:
    """Contexts, expected outcomes of each action and the user of each row."""
    users = np.arange(n) // kind.visits
    x = np.column_stack([rng.integers(2, size=n), rng.uniform(-1.0, 1.0, n)]).astype(float)
    means = kind.means(x)
    if kind.visits > 1:
        means = means + 0.2 * rng.choice([-1.0, 1.0], users[-1] + 1)[users][:, None]
    return x, means, users


def draw_log(kind: Kind, rng: np.random.Generator) -> hs.Log:
    """A log of the whole size, with what it knows of its propensities."""
    n = kind.n_rows
    x, means, users = draw_users(kind, n, rng)
    chances = kind.chances(x)
    actions = (chances.cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    outcomes = kind.draw(rng, means[np.arange(n), actions])
    taken = chances[np.arange(n), actions] if kind.is_told else None
    return hs.Log(actions, outcomes, x, taken, n_actions=kind.n_actions, units=users if kind.visits > 1 else None)


def live_for_real(kind: Kind, rng: np.random.Generator) -> dict[str, float]:
    """One life of each policy, started from a fresh log: its expected outcome per round."""
    log = draw_log(kind, rng)
    part = log.take(np.arange(round(SHARE * len(log))))
    if not kind.is_told:
        part = fill_missing(log, 0).log.take(np.arange(len(part)))
    x, means, _ = draw_users(kind, ROUNDS * kind.visits, rng)
    x, means = x[:: kind.visits], means[:: kind.visits]
    values = {TODAY: float((kind.chances(x) * means).sum(axis=1).mean())}
    makers = default_policies(part, list(kind.decide_on))
    for name in POLICIES:
        policy, total = makers[name](part, np.random.default_rng(rng.integers(1 << 62))), 0.0
        for i in range(ROUNDS):
            action = policy.play(x[i])
            policy.update(x[i], action, float(kind.draw(rng, means[i, action])))
            total += means[i, action]
        values[name] = total / ROUNDS
    return values


def find_truth(kind: Kind, lives: int, seed: int = 7) -> dict[str, tuple[float, float]]:
    """Each pair's mean difference over lives, and its standard error."""
    found = [live_for_real(kind, np.random.default_rng([seed, life])) for life in range(lives)]
    gaps = {pair: np.array([each[pair[0]] - each[pair[1]] for each in found]) for pair in PAIRS}
    gaps |= {(name, ""): np.array([each[name] for each in found]) for name in (*POLICIES, TODAY)}
    return {" - ".join(filter(None, p)): (g.mean(), g.std(ddof=1) / np.sqrt(lives)) for p, g in gaps.items()}


def ask(kind: Kind, logs: range, shuffles: int, seed: int) -> Iterator[dict[str, tuple[float, float, float, float]]]:
    """Per log: value, standard error and interval of each pair and each policy."""
    for number in logs:
        log = draw_log(kind, np.random.default_rng([seed, number]))
        found = hs.compare(
            log, list(POLICIES), shuffles=shuffles, rounds=ROUNDS, decide_on=list(kind.decide_on), seed=number
        )
        told = {}
        for pair in PAIRS:
            gap = found.difference(*pair)
            told[" - ".join(pair)] = (gap.value, gap.standard_error, gap.low, gap.high)
        for earning in found.earnings:
            told[earning.name] = (earning.mean, earning.standard_error, earning.low, earning.high)
        yield told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--logs", type=int, default=400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--lives", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=2027, help="of the logs; 11 and 1011 were used to choose")
    parser.add_argument("--shuffles", type=int, default=10)
    given = parser.parse_args()
    for name in given.kind or KINDS:
        kind = KINDS[name]
        truth = find_truth(kind, given.lives)
        found = list(ask(kind, range(given.first, given.first + given.logs), given.shuffles, given.seed))
        print(f"\n{name}: {given.logs} logs of {kind.n_rows:,} rows, {ROUNDS} rounds, {given.shuffles} shuffles")
        print(f"{'':34}{'truth':>9}{'(s.e.)':>9}{'mean':>9}{'spread':>9}{'told s.e.':>10}{'held':>6}{'of':>5}")
        for what, (value, error) in truth.items():
            seen = np.array([each[what] for each in found])
            held = int(((seen[:, 2] <= value) & (value <= seen[:, 3])).sum())
            told = np.sqrt((seen[:, 1] ** 2).mean())
            print(
                f"{what:34}{value:9.4f}{error:9.4f}{seen[:, 0].mean():9.4f}{seen[:, 0].std(ddof=1):9.4f}{told:10.4f}"
                f"{held:6d}{len(found):5d}",
                flush=True,
            )


if __name__ == "__main__":
    main()
