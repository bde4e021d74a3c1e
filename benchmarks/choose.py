"""Choose the numbers of StartOptions by a program: what is gained on good logs against what is lost on lying ones.

Candidates are drawn at random around the present numbers, which are one of them, and run on the training families
with common random numbers: every candidate meets the same worlds, logs and users. Rung by rung the better third goes
on to twice as many new worlds (successive halving), until few are left or the time is up; the first rung is always
whole. What is least is the mean over families of the logarithm of regret over a cold Thompson's; the frontier of good
against lying logs is printed, for whoever would weigh them otherwise. The chosen numbers and the present ones are
then run, by `start` with its audit, on families and a seed that had no part in the choice.

`python -m benchmarks.choose --minutes 50`. Searching is without the audit (`as_it_is --quick`). A number that is not
worth keeping is fixed with `--fix prior.rival_share=1`; others are searched with `--search exploring.greedy=0.2:0.8`.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.as_it_is import print_family, run_family
from benchmarks.families import FAMILIES
from benchmarks.ratios import compare_regrets
from benchmarks.systems import COLD, Starting, change_options, make_cold
from headstart.arrays import Floats
from headstart.judgement.start.options import StartOptions

RANGES: dict[str, tuple[float, float]] = {  # searched evenly in their logarithms
    "prior.trust": (0.5, 0.97),
    "prior.rival_width": (0.2, 1.5),
    "exploring.caution": (1.0, 12.0),
    "exploring.cap": (1.0, 4.0),
    "exploring.growth": (0.1, 2.0),
}
TRAINING = (
    *("good", "good, N = 1,000", "paper, good, 100 in flight", "1,000 in flight, K = 3", "binary 5 %"),
    *("level +1", "season", "turning", "inflated", "deflated"),
)
HELD_OUT = (
    *("paper, good", "league, good", "good, 100 in flight", "1,000 in flight, binary 5 %", "binary 1 %"),
    *("500 users, K = 10, not told", "paper, binary", "offered 2 of 6", "paper, level +1", "level -1", "trend"),
    *("league, inflated", "league, deflated"),
)
KINDS = ("good", "moved", "lying")

Settings = tuple[str, ...]  # as `as_it_is --set` takes them
Regrets = dict[tuple[str, Settings], Floats]  # of a family's runs, by system; a cold Thompson's by (COLD,)


class Standing(NamedTuple):
    """A candidate's ratios to a cold Thompson: the mean over families, by kind of log, and what is least."""

    settings: Settings
    ratios: dict[str, float]
    loss: float


def draw_candidates(n: int, ranges: Mapping[str, tuple[float, float]], fixed: Settings, seed: int) -> list[Settings]:
    """The present numbers, and n - 1 others: each number moved, with chance 1/2, to anywhere in its range."""
    rng = np.random.default_rng(seed)
    found: dict[Settings, None] = {fixed: None}
    while len(found) < n:
        moved = [
            f"{path}={math.exp(rng.uniform(math.log(low), math.log(high))):.3g}"
            for path, (low, high) in ranges.items()
            if rng.random() < 0.5
        ]
        found[(*fixed, *moved)] = None
    return list(found)


def add_runs(regrets: Regrets, name: str, candidates: Sequence[Settings], runs: int, seed: int) -> None:
    """More worlds of a family for these candidates; those that were left behind keep what they have."""
    family = FAMILIES[name]
    starting = Starting(family.told, is_quick=True)
    systems = {COLD: make_cold}
    systems |= {" ".join(each) or "present": starting.by(change_options(each)) for each in candidates}
    curves = run_family(family, systems, runs, seed)
    for key, curve in zip(((COLD,), *candidates), curves.values(), strict=True):
        before = regrets.get((name, key), np.empty(0))
        regrets[name, key] = np.concatenate([before, curve.regrets[:, -1]])


def stand(regrets: Regrets, candidate: Settings) -> Standing:
    """Ratios over the families that it has met."""
    by_kind: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for name in dict.fromkeys(name for name, each in regrets if each == candidate):
        mine = regrets[name, candidate]
        ratio = compare_regrets(mine, regrets[name, (COLD,)][: mine.size]).mean
        by_kind[FAMILIES[name].log].append(ratio)
    every = [ratio for ratios in by_kind.values() for ratio in ratios]
    means = {kind: float(np.mean(ratios)) if ratios else math.nan for kind, ratios in by_kind.items()}
    return Standing(candidate, means, float(np.mean(np.log(np.maximum(every, 1e-3)))))


def search(candidates: list[Settings], runs: int, seed: int, deadline: float) -> list[Standing]:
    """Successive halving; the standings of all candidates, those that went furthest first."""
    regrets: Regrets = {}
    left, behind, rung = list(candidates), [], 0
    while True:
        for name in TRAINING:
            add_runs(regrets, name, left, runs * 2**rung, seed + rung)
            if rung > 0 and time.monotonic() > deadline:
                break
        standings = sorted((stand(regrets, each) for each in left), key=lambda standing: standing.loss)
        n_kept = max(len(left) // 3, 1)
        print(
            f"rung {rung}: {len(left)} candidates, {runs * 2**rung} runs a family; least {standings[0].loss:.3f}",
            flush=True,
        )
        if len(left) <= 3 or time.monotonic() > deadline:
            return [*standings, *behind]
        kept = {standing.settings for standing in standings[:n_kept]} | {candidates[0]}  # the present numbers stay
        behind = [standing for standing in standings if standing.settings not in kept] + behind
        left, rung = [each for each in left if each in kept], rung + 1


def frontier(standings: Sequence[Standing]) -> list[Standing]:
    """Those that no other beats both on good and on lying logs, the best on good logs first."""
    ordered = sorted(standings, key=lambda standing: (standing.ratios["good"], standing.ratios["lying"]))
    found: list[Standing] = []
    for standing in ordered:
        if not found or standing.ratios["lying"] < found[-1].ratios["lying"]:
            found.append(standing)
    return found


def _print_standing(standing: Standing) -> None:
    ratios = "  ".join(f"{kind} {standing.ratios[kind]:.2f}" for kind in KINDS)
    print(f"  {ratios}  loss {standing.loss:.3f}   {' '.join(standing.settings) or 'the present numbers'}")


def _report(chosen: Settings, runs: int, seed: int) -> None:
    for name in HELD_OUT:
        family = FAMILIES[name]
        starting, began = Starting(family.told, is_quick=False), time.perf_counter()
        systems = {COLD: make_cold, "present": starting.by(StartOptions())}
        systems["chosen"] = starting.by(change_options(chosen))
        print_family(name, family, run_family(family, systems, runs, seed), time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=50.0, help="of the search; the report comes after it")
    parser.add_argument("--candidates", type=int, default=54)
    parser.add_argument("--runs", type=int, default=20, help="a family in the first rung")
    parser.add_argument("--seed", type=int, default=100, help="of the search, below 1,000")
    parser.add_argument("--report-runs", type=int, default=200)
    parser.add_argument("--report-seed", type=int, default=9015)
    parser.add_argument("--search", nargs="+", default=[], help="further numbers, as path=low:high")
    parser.add_argument("--fix", nargs="+", default=[], help="numbers that are not searched, as path=value")
    options = parser.parse_args()
    fixed = tuple(options.fix)
    ranges = {path: span for path, span in RANGES.items() if path not in {each.partition("=")[0] for each in fixed}}
    for each in options.search:
        path, _, span = each.partition("=")
        low, _, high = span.partition(":")
        ranges[path] = float(low), float(high)
    candidates = draw_candidates(options.candidates, ranges, fixed, options.seed)
    standings = search(candidates, options.runs, options.seed, time.monotonic() + 60.0 * options.minutes)
    print("\nfrontier of good against lying logs, over training families:")
    for standing in frontier(standings):
        _print_standing(standing)
    print("\nthe last rung, the least loss first, and the present numbers:")
    shown = {*(each.settings for each in standings[:5]), fixed}
    for standing in standings:
        if standing.settings in shown:
            _print_standing(standing)
    print(f"\nchosen: {' '.join(standings[0].settings) or 'the present numbers'}\non what the choice did not see:")
    _report(standings[0].settings, options.report_runs, options.report_seed)


if __name__ == "__main__":
    main()
