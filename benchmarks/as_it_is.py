"""`start` in the world as it is: regret relative to a cold Thompson of the right likelihood, by family of worlds.

The bar is ThompsonBeta for 0/1 outcomes and ThompsonNormal for others. For each family and system: regret, its ratio
to the bar (ratio of means with its delta-method error), and the 95 % point of regret over the bar's (its error by the
bootstrap). Families and their settings: `benchmarks/families.py`.

`python -m benchmarks.as_it_is --runs 200 --seed 9015`. Numbers of StartOptions are tried by hand with `--set
exploring.caution=4 prior.trust=0.9` (again for another system), quickly, without an audit, with `--quick`: seeds
below 1,000 are for choosing, 9015 is for reporting.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence

from benchmarks.families import FAMILIES, Family
from benchmarks.offers import choosing
from benchmarks.ratios import compare_regrets
from benchmarks.systems import COLD, make_systems
from headstart.simulation.simulate import Curve, MakePolicy, simulate


def run_family(family: Family, systems: Mapping[str, MakePolicy], runs: int, seed: int) -> dict[str, Curve]:
    """Every system in the family's worlds: the same worlds, logs and users for all."""
    told = {name: choosing(make) if family.is_offered else make for name, make in systems.items()}
    runs = min(runs, family.most_runs)
    return simulate(family.world, told, rounds=family.users, runs=runs, seed=seed, delay=family.delay)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--families", nargs="+", metavar="FAMILY", help="names, or parts of them; all by default")
    parser.add_argument("--systems", nargs="+", metavar="SYSTEM", help="names, or parts of them; all by default")
    parser.add_argument("--set", nargs="+", action="append", default=[], help="settings of one more start")
    parser.add_argument("--quick", action="store_true", help="start without its audit")
    options = parser.parse_args()
    for name in choose_names(FAMILIES, options.families):
        family = FAMILIES[name]
        systems = make_systems(family.told, options.set, is_quick=options.quick)
        chosen = {each: systems[each] for each in dict.fromkeys([COLD, *choose_names(systems, options.systems)])}
        started = time.perf_counter()
        curves = run_family(family, chosen, options.runs, options.seed)
        print_family(name, family, curves, time.perf_counter() - started)


def choose_names(names: Mapping[str, object], wanted: Sequence[str] | None) -> list[str]:
    """The names that are wanted: a whole name, or all that have a part in common."""
    if wanted is None:
        return list(names)
    found = [name for part in wanted for name in names if part == name or (part not in names and part in name)]
    if not found:
        raise SystemExit(f"there is none of {', '.join(wanted)} among: {'; '.join(names)}")
    return list(dict.fromkeys(found))


def print_family(name: str, family: Family, curves: Mapping[str, Curve], seconds: float) -> None:
    """A line for each system."""
    cold = curves[COLD].regrets[:, -1]
    print(f"\n{name}: {family.users:,} users, {cold.size} runs, {seconds:.0f} s")
    for system, curve in curves.items():
        ratio = compare_regrets(curve.regrets[:, -1], cold)
        print(
            f"  {system:28s} {curve.mean:9.2f} ± {curve.se:7.2f}   ratio {ratio.mean:6.2f} ± {ratio.se:5.2f}"
            f"   95 % point {ratio.tail:6.2f} ± {ratio.tail_se:4.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
