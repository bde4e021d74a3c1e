"""How often 95 % intervals hold the truth: of means per action (the audit's), of `ope`, and of doubly robust means.

python -m benchmarks.coverage                 # the grid of intervals, 300 logs a cell: some minutes
python -m benchmarks.coverage --means         # 2,000 logs of 300 rows and 5 actions of each kind, for DoublyRobust
python -m benchmarks.coverage --robust        # DoublyRobust by kind, K, N, true and estimated propensities: hours
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import stdtrit

import headstart as hs
from benchmarks.robust_logs import FAMILIES, Family, draw_log, true_means
from benchmarks.robust_logs import KINDS as ROBUST_KINDS
from headstart import ope
from headstart.arrays import Floats
from headstart.estimates.propensity.missing import fill_missing
from headstart.judgement.audit.checks.actions import describe_actions

# By name: outcomes of users whose level is 1 + x / 2, x = -1 or 1, and their mean.
KINDS: dict[str, tuple[Callable[[np.random.Generator, Floats], Floats], float]] = {
    "normal": (lambda rng, level: level + rng.standard_normal(level.size), 1.0),
    "revenue": (
        lambda rng, level: np.where(rng.random(level.size) < 0.2, level * rng.lognormal(0.0, 1.0, level.size), 0.0),
        0.2 * float(np.exp(0.5)),
    ),
    "1 % success": (lambda rng, level: (rng.random(level.size) < 0.01 * level).astype(float), 0.01),
    "10 % success": (lambda rng, level: (rng.random(level.size) < 0.1 * level).astype(float), 0.1),
}


def draw(kind: str, n_actions: int, n: int, rng: np.random.Generator) -> tuple[hs.Log, Floats]:
    """A log of a softmax policy, and the actions of a policy that plays the first for half of the users, else the
    last."""
    x = np.column_stack([rng.choice([-1.0, 1.0], n), rng.standard_normal(n)])
    raw = np.exp(np.outer(x.sum(axis=1) / 2.0, np.linspace(-1.0, 1.0, n_actions)))
    chances = raw / raw.sum(axis=1, keepdims=True)
    actions = (chances.cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    outcomes = KINDS[kind][0](rng, 1.0 + x[:, 0] / 2.0)
    log = hs.Log(actions, outcomes, x, chances, n_actions=n_actions)
    return log, np.where(x[:, 1] > 0.0, 0, n_actions - 1)


def intervals(log: hs.Log, policy: Floats) -> Iterator[tuple[str, float, float, float, float, float]]:
    """What, value, low and high, and the ends that Student's quantile with n_effective - 1 would give."""

    def student(value: float, error: float, size: float) -> tuple[float, float]:
        half = float(stdtrit(max(size - 1.0, 1.0), 0.975)) * error
        return value - half, value + half

    for each in describe_actions(log.action_sums(), log.action_names, 0.95).actions:
        if each.rows:
            ends = student(each.mean, each.standard_error, each.effective_size)
            yield "per action", each.mean, each.low, each.high, *ends
    for method in (ope.ips, ope.snips, ope.doubly_robust):
        found = method(log, policy)
        ends = student(found.value, found.standard_error, found.n_effective)
        yield found.method, found.value, found.low, found.high, *ends


def show_grid(n_logs: int) -> None:
    print(f"share of 95 % intervals that hold the truth, {n_logs} logs: Student's -> ours (both at Student's errors)")
    whats = ("per action", "ips", "snips", "doubly robust")
    print(f"{'':14}{'K':>3}{'N':>7}", *(f"{what:>16}" for what in whats))
    for kind, (_, truth) in KINDS.items():
        for n_actions in (2, 5, 20):
            for n in (300, 1000, 5000):
                held: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
                for number in range(n_logs):
                    log, policy = draw(kind, n_actions, n, np.random.default_rng([n_actions, n, number]))
                    for what, _, low, high, student_low, student_high in intervals(log, policy):
                        held[what].append((student_low <= truth <= student_high, low <= truth <= high))
                shares = {what: np.mean(each, axis=0) for what, each in held.items()}
                cells = (f"{shares[what][0]:6.3f} -> {shares[what][1]:.3f}" for what in whats)
                print(f"{kind:14}{n_actions:3}{n:7,}", *(f"{cell:>16}" for cell in cells), flush=True)


def show_means(n_logs: int) -> None:
    from tests.evaluators.test_doubly_robust import coverage

    print(f"share of 95 % intervals that hold the truth, {n_logs} logs x 5 actions")
    for kind in ("normal", "skewed", "binary"):
        for is_estimated in (False, True):
            given = "estimated" if is_estimated else "true"
            held = coverage(kind, n_logs, is_estimated=is_estimated)
            print(f"{kind:8s} {given:9s} propensities  {held:.4f}", flush=True)


def show_robust(
    family: Family, n_logs: int, fewest: int, kinds: list[str], actions: list[int], sizes: list[int], first: int
) -> None:
    """Coverage of `intervals()` and of mean ± 1.96 s.e., pooled over actions and of the worst action; and the share
    of intervals of which `DoublyRobust.note` says that they may be short."""
    print(f"DoublyRobust, 95 % intervals, {family.name} family, {n_logs} logs of 1,000 rows, fewer of more")
    print(
        f"{'':12} {'K':>2} {'N':>6} propensities  logs  held   ±    worst action  said to be short  "
        "mean ± 1.96 s.e.  rmse    ms a log"
    )
    for kind in kinds:
        for k in actions:
            truth = true_means(kind, family, k)
            for n in sizes:
                n_drawn = max(fewest, int(n_logs * (1000 / n) ** 0.6))
                logs = range(first, first + n_drawn)
                for is_estimated in (False, True):
                    found = _cover(kind, family, k, n, logs, truth, is_estimated=is_estimated)
                    given = "estimated" if is_estimated else "true"
                    print(f"{kind:12} {k:2} {n:6,} {given:12} {n_drawn:5}  {found}", flush=True)


def _cover(kind: str, family: Family, k: int, n: int, logs: range, truth: Floats, *, is_estimated: bool) -> str:
    held, said, plain, errors, seconds = [], [], [], [], 0.0
    for number in logs:
        log = draw_log(np.random.default_rng([family.stream, 1, k, n, number]), kind, family, k, n)
        began = time.process_time()
        log = fill_missing(log.without_propensities()).log if is_estimated else log
        evaluator = hs.DoublyRobust(log)
        summary, (low, high) = evaluator.summary(), evaluator.intervals()
        seconds += time.process_time() - began
        held.append((low <= truth) & (truth <= high))
        said.append(len(summary.doubtful) / k)
        plain.append(np.abs(summary.means - truth) <= 1.959964 * summary.standard_errors)
        errors.append(np.nan_to_num(summary.means - truth))
    shares = np.mean(held, axis=1)  # of a log's actions, which are not independent
    error = float(shares.std(ddof=1) / np.sqrt(len(logs)))
    return (
        f"{shares.mean():.3f} {error:.3f}  {np.mean(held, axis=0).min():.2f}  {np.mean(said):16.2f}"
        f"  {np.mean(plain):15.3f}"
        f"  {np.sqrt(np.mean(np.square(errors))):15.4f}  {1000 * seconds / len(logs):7.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int)
    parser.add_argument("--means", action="store_true", help="doubly robust means per action")
    parser.add_argument("--robust", action="store_true", help="the grid of doubly robust means per action")
    parser.add_argument("--family", choices=sorted(FAMILIES), default="reported", help="of --robust")
    parser.add_argument("--kinds", nargs="*", default=list(ROBUST_KINDS), help="of --robust")
    parser.add_argument("--actions", type=int, nargs="*", default=[2, 5, 20], help="of --robust")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 5000, 20_000], help="of --robust")
    parser.add_argument("--first", type=int, default=0, help="of --robust: the number of the first log, a seed")
    parser.add_argument("--fewest", type=int, default=15, help="of --robust: logs of a cell at least")
    given = parser.parse_args()
    if given.robust:
        warnings.simplefilter("ignore")
        family, n_logs = FAMILIES[given.family], given.logs or 200
        show_robust(family, n_logs, given.fewest, given.kinds, given.actions, given.sizes, given.first)
    elif given.means:
        show_means(given.logs or 2000)
    else:
        show_grid(given.logs or 300)


if __name__ == "__main__":
    main()
