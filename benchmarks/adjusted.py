"""Control variates: what `Adjusted` gains a cold Thompson and a start from a log, and what it costs where it cannot.

Regret relative to a cold ThompsonNormal that learns outcomes as they are. Worlds are `benchmarks.families.Confounded`
(K = 3, N = 300, 2,000 users) with more or less that contexts explain; the line is used whether or not it pays, so
that harm would show. "start" is without an audit (`as_it_is --quick`).

`python -m benchmarks.adjusted --runs 200 --seed 9015`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import headstart as hs
from benchmarks.families import Confounded
from benchmarks.ratios import compare_regrets
from headstart.estimates.control_line import ControlLine
from headstart.judgement.start.options import StartOptions
from headstart.logs.log import Log
from headstart.oracles import KnowledgeGradient, ThompsonNormal
from headstart.parts import Oracle
from headstart.priors.logged import LoggedPrior, check_trust
from headstart.simulation.simulate import simulate
from headstart.worlds import DrawnWorld

USERS = 2000
Bend = Callable[[ControlLine], ControlLine]


@dataclass(frozen=True)
class Elsewhere:
    """Confounded worlds whose log is of other people: those with a lower first column came more often."""

    tilt: float = 1.0

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A log of some 300 rows, chosen by their contexts."""
        drawn = Confounded(n_log=3000).draw(rng)
        chances = np.exp(-self.tilt * drawn.log.contexts[:, 0])
        kept = np.flatnonzero(rng.random(chances.size) < 0.1 * chances / chances.mean())
        drawn.log = drawn.log.take(kept)
        return drawn


def _cold(world: Any, log: Log, rng: np.random.Generator) -> Oracle:
    return ThompsonNormal(world.n_actions, rng=rng)


def _start(log: Log, line: ControlLine | None, rng: np.random.Generator) -> Oracle:
    options, summary = StartOptions(), hs.DoublyRobust(log).summary()
    told = summary if line is None else line.adjust(summary)
    prior = LoggedPrior.of_summary(told, check_trust(None, log.n_actions), options.prior)
    oracle = KnowledgeGradient.from_prior(prior, horizon=USERS, options=options.exploring, rng=rng)
    return oracle if line is None else hs.Adjusted(oracle, line)


def systems(bend: Bend) -> dict[str, Any]:
    """With and without the line, which `bend` may spoil."""
    return {
        "cold": _cold,
        "cold, adjusted": lambda world, log, rng: hs.Adjusted(_cold(world, log, rng), bend(ControlLine.of_log(log))),
        "start": lambda world, log, rng: _start(log, None, rng),
        "start, adjusted": lambda world, log, rng: _start(log, bend(ControlLine.of_log(log)), rng),
    }


def _as_it_is(line: ControlLine) -> ControlLine:
    return line


CASES: dict[str, tuple[Any, Bend]] = {
    "0.35 explained": (Confounded(), _as_it_is),
    "0.12 explained": (Confounded(shared=0.1, own=0.02), _as_it_is),
    "0.62 explained": (Confounded(shared=0.6, own=0.02), _as_it_is),
    "20 columns": (Confounded(n_features=20), _as_it_is),
    "nothing explained": (Confounded(shared=0.0, own=0.0), _as_it_is),
    "slopes turned round": (Confounded(), lambda line: line.weakened(-1.0)),
    "slopes three times too steep": (Confounded(), lambda line: line.weakened(3.0)),
    "a log of other people": (Elsewhere(), _as_it_is),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=9015)
    options = parser.parse_args()
    for name, (world, bend) in CASES.items():
        curves = simulate(world, systems(bend), rounds=USERS, runs=options.runs, seed=options.seed)
        cold = curves["cold"].regrets[:, -1]
        print(f"\n{name}: {options.runs} runs")
        for system, curve in curves.items():
            ratio = compare_regrets(curve.regrets[:, -1], cold)
            print(
                f"  {system:18s} {curve.mean:7.1f} ± {curve.se:4.1f}   ratio {ratio.mean:5.2f} ± {ratio.se:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
