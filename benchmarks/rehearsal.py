"""A rehearsal beside what then happens: predicted regret and days against those of fresh users of the same worlds.

Each log is of a world of its own (`families.Confounded`: levels ~ N(0, 0.4^2) in standard deviations of an outcome, a
log of 300 rows whose policy looks at the users; 0/1 outcomes at rates around 0.1 have 2,000 rows). The rehearsal sees
the log alone. Then the same policies meet fresh users of the world, `--fresh` times over. Printed: mean predicted and
real regret with their ratio and its error (delta method, over logs), the 10, 50 and 90 % points of a log's real
regret less the predicted one in units of the mean, the share of logs whose real regret lies in the predicted nine
tenths, and the share of fresh runs whose day of knowing the best action lies in the predicted nine tenths ("not in
time" is a day after all others), also over those logs alone for which a last day was named.

`python -m benchmarks.rehearsal --logs 100 --seed 9016`; seeds below 1,000 are for choosing.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.families import Confounded
from benchmarks.ratios import compare_regrets
from headstart.arrays import Floats
from headstart.judgement.audit.intake import take_in
from headstart.judgement.rehearsal.policies import AB_TEST, Candidate, make_policies
from headstart.judgement.rehearsal.rehearsal import DayKnown, Outlook, OverWorlds
from headstart.judgement.rehearsal.stage import LEVEL, Stage, ask_when_known
from headstart.judgement.rehearsal.worlds import SCENARIOS, gather_evidence
from headstart.judgement.start.start import start
from headstart.randomness import as_words
from headstart.simulation.simulate import World, simulate_asking
from headstart.worlds import DrawnWorld

START, FLOORED = "start", "start, floor 5%"
FAMILIES: Mapping[str, World] = {
    "normal": Confounded(),
    "0/1": Confounded(outcome="binary", rate=0.1, n_log=2000),
}


class Meeting(NamedTuple):
    """One policy from one log: what the rehearsal said, and what then happened, (fresh,) each."""

    forecast: Outlook
    regrets: Floats
    days: Floats


@dataclass(frozen=True)
class Same:
    """A drawn world, met by fresh users in each run."""

    drawn: DrawnWorld

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """The world with users of its own."""
        again = self.drawn.again()
        again.kernel_state = again.kernel_state._replace(rng=as_words(rng))  # type: ignore[attr-defined]
        return again


def rehearse_and_meet(
    world: World,
    seed: int,
    *,
    per_day: int,
    days: int,
    runs: int,
    fresh: int,
    policies: Sequence[str] = (START, FLOORED, AB_TEST),
) -> dict[str, Meeting]:
    """The rehearsal of one log of a family, where the log is right, and its policies with fresh users."""
    drawn = world.draw(np.random.default_rng([seed, 16]))
    assert isinstance(drawn, DrawnWorld)
    n_users = per_day * days
    first = start(drawn.log, horizon=n_users, rng=seed)
    evidence = gather_evidence(take_in(drawn.log, 50_000, 0).whole, first.audit.summary, None)
    made = make_policies(drawn.log, evidence, None, n_users, first, seed)
    chosen = {name: made[name] for name in (AB_TEST, *policies)}  # all are compared with the test
    told = {each.policy: each for each in Stage(evidence, chosen, per_day, days, runs, seed).play(SCENARIOS[0])}
    return {
        name: _meet(drawn, Candidate(policy, floor, evidence, per_day, LEVEL), told[name], fresh, seed)
        for name, (policy, floor) in chosen.items()
        if name in policies
    }


def _meet(drawn: DrawnWorld, candidate: Candidate, told: Outlook, fresh: int, seed: int) -> Meeting:
    """A policy with fresh users, so many times."""
    n_users = candidate.per_day * told.regret_by_day.size
    lived = simulate_asking(ask_when_known, Same(drawn), {told.policy: candidate}, n_users, fresh, seed + 1)
    curve, known = lived[told.policy]
    return Meeting(told, curve.regrets[:, -1], np.array([day for day, _ in known]))


def print_family(name: str, meetings: list[dict[str, Meeting]]) -> None:
    """One family's figures, a line for each policy."""
    print(f"\n{name}: {len(meetings)} logs")
    for policy in meetings[0]:
        met = [each[policy] for each in meetings]
        said = np.array([each.forecast.regret.mean for each in met])
        real = np.array([each.regrets.mean() for each in met])
        ratio = compare_regrets(said, real)
        apart = np.quantile((real - said) / real.mean(), [0.1, 0.5, 0.9])
        within = np.mean([_share_between(each.regrets, each.forecast.regret) for each in met])
        covered = np.mean([_share_between(each.days, each.forecast.known) for each in met])
        known = np.mean([np.isfinite(each.days).mean() for each in met])
        hoped = np.mean([each.forecast.known.share for each in met if each.forecast.known is not None])
        ended = [each for each in met if each.forecast.known is not None and np.isfinite(each.forecast.known.high)]
        inside = np.mean([_share_between(each.days, each.forecast.known) for each in ended]) if ended else np.nan
        print(
            f"  {policy:16s} predicted {said.mean():7.2f}  real {real.mean():7.2f}"
            f"  ratio {ratio.mean:.3f} ± {ratio.se:.3f}"
            f"  real - predicted {apart[0]:+.2f} {apart[1]:+.2f} {apart[2]:+.2f}  regret covered {within:.0%}"
            f"  days covered {covered:.0%}  known {known:.0%}, predicted {hoped:.0%}"
            f"  (of {len(ended)} logs with an end in time {inside:.0%})",
            flush=True,
        )


def _share_between(values: Floats, ends: OverWorlds | DayKnown | None) -> float:
    """Of values within the predicted nine tenths; infinite days are within infinite ends."""
    assert ends is not None
    return float(np.mean((values >= ends.low) & (values <= ends.high)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=100)
    parser.add_argument("--runs", type=int, default=100, help="worlds that a rehearsal draws")
    parser.add_argument("--fresh", type=int, default=10, help="times that fresh users are met")
    parser.add_argument("--users-per-day", type=int, default=150)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--policies", nargs="+", default=[START, FLOORED, AB_TEST])
    options = parser.parse_args()
    for name in options.families:
        met = [
            rehearse_and_meet(
                FAMILIES[name],
                1000 * options.seed + i,
                per_day=options.users_per_day,
                days=options.days,
                runs=options.runs,
                fresh=options.fresh,
                policies=options.policies,
            )
            for i in range(options.logs)
        ]
        print_family(name, met)


if __name__ == "__main__":
    main()
