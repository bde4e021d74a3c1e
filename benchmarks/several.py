"""`start` from several logs beside `start` from one: regret, and its ratio to a cold Thompson sampler.

Worlds are those of `benchmarks.families.Confounded` (outcomes with a standard deviation of 1), each drawn anew with
its logs, whose policies look at what moves the outcome in a way of their own. Systems: a cold Thompson of the right
likelihood (by context a linear one), `start` from each log alone, from the list of them, and, where all logs have
the same to tell, from one log of all their rows. By context a log may lack a column that the others have.

`python -m benchmarks.several --runs 200 --seed 9015`: seeds below 1,000 are for choosing, 9015 is for reporting.
Options of `start` are tried with `--set sources.shared=0.3`.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

import headstart as hs
from benchmarks.as_it_is import choose_names
from benchmarks.contextual_league import ColdLinear
from benchmarks.ratios import compare_regrets
from benchmarks.systems import COLD, change_options, make_cold
from headstart.arrays import Floats
from headstart.judgement.start.options import StartOptions
from headstart.logs.log import Log
from headstart.parts import Oracle
from headstart.simulation.simulate import Curve, MakePolicy, simulate
from headstart.worlds import Linear
from headstart.worlds.drawn import DrawnWorld


@dataclass(frozen=True)
class Told:
    """How one of the logs came about."""

    n_rows: int = 300
    level: float = 0.0  # added to all of its outcomes: another season
    lie: Literal["none", "inflated", "deflated"] = "none"  # of a worse action, or of the best, by 0.5 to 2
    is_randomised: bool = False
    has_chances: bool = True  # they are logged
    lacks: tuple[int, ...] = ()  # columns that nobody wrote down
    actions: tuple[int, ...] | None = None  # that it has; None: all of them


@dataclass(frozen=True)
class Family:
    """Worlds of a kind and the logs of each."""

    logs: tuple[Told, ...]
    n_actions: int = 3
    users: int = 2000
    outcome: Literal["normal", "binary"] = "normal"
    rate: float = 0.05  # of successes at the middle of the levels, if the outcome is binary
    is_one: bool = True  # the logs can be taken for one
    decides: bool = False  # by context

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A world and its logs."""
        k, d = self.n_actions, 3
        common, own = _of_length(rng.standard_normal(d), 0.3), _of_length(rng.standard_normal((k, d)), 0.05)
        if self.decides:
            own = _of_length(own, 0.2)
        middle = math.log(self.rate / (1.0 - self.rate)) if self.outcome == "binary" else 0.0
        world = Linear(
            levels=middle + 0.4 * rng.standard_normal(k),
            slopes=common + own,
            noise=math.sqrt(0.65),
            outcome=self.outcome,
            n_log=1,
            is_contextual=self.decides,
        )
        drawn = world.draw(rng)
        best, by = int(np.argmax(np.asarray(world.levels))), float(rng.uniform(0.5, 2.0))
        worse = int(rng.choice(np.delete(np.arange(k), best)))
        lies = {"none": np.zeros(k), "inflated": by * np.eye(k)[worse], "deflated": -by * np.eye(k)[best]}
        logs = [_tell(world, told, common + own, lies[told.lie], rng) for told in self.logs]
        found = WithLogs(logs[0], d, drawn.kernel_state, drawn.population)
        found.logs, found.n_actions = logs, k
        return found


class WithLogs(DrawnWorld):
    """A world with several logs."""

    logs: Sequence[Log]


def _of_length(vectors: Floats, share: float) -> Floats:
    """The same directions, as long as explains this share of an outcome's variance."""
    return np.asarray(math.sqrt(share) * vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _tell(world: Linear, told: Told, slopes: Floats, lie: Floats, rng: np.random.Generator) -> Log:
    """One log: drawn, then told as it says."""
    k, d = slopes.shape
    offsets = np.zeros(k) if told.actions is None else np.where(np.isin(np.arange(k), told.actions), 0.0, -np.inf)
    pulls = np.zeros((k, d)) if told.is_randomised else slopes + 0.5 * rng.standard_normal((k, d))
    log = replace(world, n_log=told.n_rows, offsets=offsets, pulls=pulls).draw(rng).log
    kept = [j for j in range(d) if j not in told.lacks]
    return Log(
        log.actions,
        log.outcomes + told.level + lie[log.actions],
        {f"x{j}": log.contexts[:, j] for j in kept},
        log.propensities if told.has_chances else None,
        action_names=tuple(range(k)) if told.actions is None else told.actions,
    )


FAMILIES: dict[str, Family] = {
    "two good, 300 + 300": Family((Told(), Told())),
    "two good, 200 + 1,000": Family((Told(200), Told(1000))),
    "two good, binary 5 %": Family((Told(500), Told(500)), 5, 10_000, "binary"),
    "good + inflated": Family((Told(), Told(lie="inflated"))),
    "good + deflated": Family((Told(), Told(lie="deflated"))),
    "two inflated alike": Family((Told(lie="inflated"), Told(lie="inflated"))),
    "two deflated alike": Family((Told(lie="deflated"), Told(lie="deflated"))),
    "three good, one inflated": Family((Told(), Told(), Told(), Told(lie="inflated"))),
    "good + another season": Family((Told(), Told(level=1.0))),
    "A/B test of 500 + hidden confounder, 20,000": Family(
        (Told(500, is_randomised=True), Told(20_000, has_chances=False, lacks=(0, 1))), is_one=False
    ),
    "K = 6, 4 actions in each": Family((Told(actions=(0, 1, 2, 3)), Told(actions=(2, 3, 4, 5))), 6),
    "by context, two good": Family((Told(), Told()), decides=True),
    "by context, good + inflated": Family((Told(), Told(lie="inflated")), decides=True),
    "by context, one lacks a column": Family((Told(lacks=(2,)), Told()), decides=True, is_one=False),
}


def make_systems(family: Family, variants: Sequence[Sequence[str]]) -> dict[str, MakePolicy]:
    """Every system by name."""

    def start(logs: Any, rng: np.random.Generator, options: StartOptions = StartOptions()) -> Oracle:
        columns = ["x0", "x1", "x2"] if family.decides else None
        return hs.start(logs, decide_on=columns, horizon=family.users, options=options, rng=rng)

    def alone(i: int) -> MakePolicy:
        return lambda world, log, rng: start(_whole(world.logs[i], family.n_actions), rng)

    systems: dict[str, MakePolicy] = {COLD: _make_cold_linear if family.decides else make_cold}
    for i, told in enumerate(family.logs):
        if not (family.decides and told.lacks):  # alone it cannot decide on what it lacks
            systems[f"log {i + 1}"] = alone(i)
    if family.is_one:
        systems["as one log"] = lambda world, log, rng: start(_as_one(world.logs, family.n_actions), rng)
    systems["the logs"] = lambda world, log, rng: start(list(world.logs), rng)
    for settings in variants:
        options = change_options(settings)
        systems[" ".join(settings)] = lambda world, log, rng, options=options: start(list(world.logs), rng, options)
    return systems


def _make_cold_linear(world: Any, log: Log, rng: np.random.Generator) -> Oracle:
    return ColdLinear(world.n_actions, world.n_features, rng=rng)


def _whole(log: Log, n_actions: int) -> Log:
    """The same rows; every action of the world exists."""
    labels = [log.action_names[a] for a in log.actions.tolist()]
    columns = dict(zip(log.context_names, log.contexts.T, strict=True))
    return Log(labels, log.outcomes, columns, log.propensities, action_names=tuple(range(n_actions)))


def _as_one(logs: Sequence[Log], n_actions: int) -> Log:
    """One log of all rows."""
    whole = [_whole(log, n_actions) for log in logs]
    chances = [log.propensities for log in whole if log.propensities is not None]
    contexts = np.concatenate([log.contexts for log in whole])
    return Log(
        np.concatenate([log.actions for log in whole]),
        np.concatenate([log.outcomes for log in whole]),
        dict(zip(whole[0].context_names, contexts.T, strict=True)),
        np.concatenate(chances) if len(chances) == len(logs) else None,
        n_actions=n_actions,
    )


def run_family(
    family: Family,
    runs: int,
    seed: int,
    variants: Sequence[Sequence[str]] = (),
    wanted: Sequence[str] | None = None,
) -> dict[str, Curve]:
    """Every system, or those that are wanted, in the family's worlds: the same worlds, logs and users for all."""
    systems = make_systems(family, variants)
    chosen = {name: systems[name] for name in dict.fromkeys([COLD, *choose_names(systems, wanted)])}
    return simulate(family, chosen, rounds=family.users, runs=runs, seed=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--families", nargs="+", metavar="FAMILY", help="names, or parts of them; all by default")
    parser.add_argument("--systems", nargs="+", metavar="SYSTEM", help="names, or parts of them; all by default")
    parser.add_argument("--set", nargs="+", action="append", default=[], help="settings of one more start")
    options = parser.parse_args()
    for name in choose_names(FAMILIES, options.families):
        started = time.perf_counter()
        curves = run_family(FAMILIES[name], options.runs, options.seed, options.set, options.systems)
        cold = curves[COLD].regrets[:, -1]
        print(f"\n{name}: {FAMILIES[name].users:,} users, {cold.size} runs, {time.perf_counter() - started:.0f} s")
        for system, curve in curves.items():
            ratio = compare_regrets(curve.regrets[:, -1], cold)
            print(
                f"  {system:28s} {curve.mean:8.2f} ± {curve.se:5.2f}   ratio {ratio.mean:5.3f} ± {ratio.se:5.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
