"""The frontier of large logs: what `prior.confounded` costs on logs that lie and saves on logs that do not.

A log of a million rows knows its means to 0.002 standard deviations and takes seconds to draw and to audit, while
what is to be compared needs hundreds of runs. So the rows are not drawn: the summary that such a log would have is
made from the truth, with the errors of a log of 2,000 rows divided by the root of how many times larger it is, and
the trust that the audit would give it. From there on it is `start`: the prior, the line, KnowledgeGradient.

`python -m benchmarks.large_logs --runs 800 --seed 52` (K = 3, 2,000 users, the worlds of `families.Confounded`). In
"deflated" the log lowers the best action by 0.5 to 2 standard deviations, in "inflated" it raises a worse one.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace

import numpy as np

from benchmarks.families import Confounded
from benchmarks.ratios import compare_regrets
from benchmarks.systems import make_cold
from headstart.arrays import Floats
from headstart.estimates.control_line import ControlLine
from headstart.estimates.summary import Summary
from headstart.evaluators import DoublyRobust
from headstart.judgement.audit.trust import behind_totals, weigh_reasons
from headstart.judgement.start.options import StartOptions
from headstart.oracles.knowledge_gradient import KnowledgeGradient
from headstart.parts import Oracle
from headstart.priors.logged import LoggedPrior
from headstart.simulation.simulate import Drawn, simulate
from headstart.warmstart.adjusted import Adjusted
from headstart.worlds import DrawnWorld

KINDS = ("good", "deflated", "inflated")
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9)  # of `confounded`
N_ACTIONS, N_SMALL, N_LARGE, USERS = 3, 2000, 10**6, 2000


class Fixed:
    """A world that was drawn already: every policy meets it."""

    def __init__(self, drawn: DrawnWorld) -> None:
        self._drawn = drawn

    def draw(self, rng: np.random.Generator) -> Drawn:
        """The same world."""
        return self._drawn


def lie(kind: str, truth: Floats, rng: np.random.Generator) -> Floats:
    """What is added to the log's means, (K,)."""
    best, by, biases = int(np.argmax(truth)), float(rng.uniform(0.5, 2.0)), np.zeros(truth.size)
    worse = int(rng.choice(np.delete(np.arange(truth.size), best)))
    if kind != "good":
        biases[best if kind == "deflated" else worse] = -by if kind == "deflated" else by
    return biases


def start_from(summary: Summary, line: ControlLine, trust: Floats, seed: int) -> Oracle:
    """What `start` makes of this summary."""
    options = StartOptions()
    told = line.adjust(summary) if line.pays else summary
    prior = LoggedPrior.of_summary(told, trust, options.prior)
    oracle = KnowledgeGradient.from_prior(prior, horizon=USERS, options=options.exploring, rng=seed)
    return Adjusted(oracle, line) if line.pays else oracle


def run_world(kind: str, seed: int, run: int) -> dict[str, float]:
    """The regret of a cold Thompson and of `start` by each share, in one world."""
    rng = np.random.default_rng([seed, run])
    drawn = Confounded(N_ACTIONS, N_SMALL).draw(rng)
    truth = drawn.expected_outcomes()
    small, line = DoublyRobust(drawn.log).summary(), ControlLine.of_log(drawn.log)
    errors = small.standard_errors * np.sqrt(N_SMALL / N_LARGE)
    chances = drawn.log.propensity_matrix
    assert chances is not None
    unseen = behind_totals(np.sqrt((1.0 / chances).mean(axis=0) / N_LARGE))
    means = truth + errors * rng.standard_normal(N_ACTIONS) + lie(kind, truth, rng)
    large = replace(small, means=means, standard_errors=errors)
    policies: dict[str, Oracle] = {"cold": make_cold(drawn, drawn.log, rng)}
    for share in SHARES:
        prior = replace(StartOptions().prior, confounded=share)
        trust = weigh_reasons(range(N_ACTIONS), "logged", (), prior, unseen).weights
        policies[f"{share:g}"] = start_from(large, line, trust, run)
    curves = simulate(Fixed(drawn), policies, rounds=USERS, runs=1, seed=run)
    return {name: curve.mean for name, curve in curves.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"{given.runs} worlds, seed {given.seed}: regret over a cold Thompson's; beside that, against 0.5")
    for kind in KINDS:
        found = defaultdict(list)
        for run in range(given.runs):
            for name, regret in run_world(kind, given.seed, run).items():
                found[name].append(regret)
        regrets = {name: np.array(values) for name, values in found.items()}
        for share in SHARES:
            mine = regrets[f"{share:g}"]
            ratio, more = compare_regrets(mine, regrets["cold"]), mine - regrets["0.5"]
            print(
                f"  {kind:9s} confounded {share:4g}: regret {mine.mean():6.2f}, ratio {ratio.mean:.3f} "
                f"± {ratio.se:.3f}, {more.mean():+.2f} ± {more.std() / np.sqrt(more.size):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
