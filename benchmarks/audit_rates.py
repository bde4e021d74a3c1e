"""How often the audit is wrong: false alarms on clean logs of many kinds, and planted faults that it finds.

`python -m benchmarks.audit_rates --logs 100` prints both tables for the family that the numbers were not chosen on.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from benchmarks.clean_logs import CHOOSING, KINDS, REPORTED, Family
from benchmarks.faulty_logs import FAULTS, Planted
from headstart.judgement.audit.audit import Audit, audit

SIZES = (1_000, 5_000, 20_000)
FAMILIES = {family.name: family for family in (CHOOSING, REPORTED)}


@dataclass
class Rates:
    """What the audit said of the logs of one kind."""

    n: int = 0
    stopped: int = 0
    capped: int = 0
    noted: int = 0
    right: int = 0  # the best action by the audit is the best
    rules: Counter[str] = field(default_factory=Counter)  # logs with a stop or a cap by each rule

    def add(self, found: Audit, best: int | None = None) -> None:
        """Count one audit."""
        severities = {reason.severity for reason in found.verdict.reasons}
        self.n += 1
        self.stopped += "stop" in severities
        self.capped += "stop" not in severities and "cap" in severities
        self.noted += not {"stop", "cap"} & severities and "note" in severities
        self.right += best is not None and (
            not found.actions.is_lead_clear if best < 0 else found.actions.best == best
        )
        said = {(reason.severity, reason.rule) for reason in found.verdict.reasons if reason.severity != "note"}
        self.rules.update(f"{rule} ({severity})" for severity, rule in sorted(said))

    def share(self, count: int) -> str:
        """In percent, with its standard error; of none or all of n logs, what one more log would make."""
        rate = count / self.n
        error = max(np.sqrt(rate * (1.0 - rate) / self.n), np.sqrt((1.0 - 1.0 / self.n) / self.n) / np.sqrt(self.n))
        return f"{100 * rate:.1f} ± {100 * error:.1f}"

    def words(self) -> str:
        """The rules that spoke."""
        return ", ".join(f"{rule} {count}" for rule, count in self.rules.most_common(4))


def streams(name: str, family: Family, n_logs: int, seed: int) -> Iterator[np.random.Generator]:
    """A generator per log; kinds, families and seeds share none."""
    for i in range(n_logs):
        yield np.random.default_rng([seed, family.stream, crc32(name.encode()), i])


def rate_kind(name: str, family: Family, n_logs: int, seed: int) -> Rates:
    """False alarms on one kind of clean log."""
    rates = Rates()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rng in streams(name, family, n_logs, seed):
            rates.add(audit(KINDS[name](rng, family)))
    return rates


def rate_fault(name: str, n: int, family: Family, n_logs: int, seed: int) -> Rates:
    """What becomes of one planted fault in logs of n rows."""
    rates = Rates()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rng in streams(f"{name} {n}", family, n_logs, seed):
            planted: Planted = FAULTS[name](rng, n, family)
            rates.add(audit(planted.log, population=planted.population), planted.best)
    return rates


def _rate(job: tuple[str, int | None, Family, int, int]) -> Rates:
    name, n, family, n_logs, seed = job
    return rate_kind(name, family, n_logs, seed) if n is None else rate_fault(name, n, family, n_logs, seed)


def rate_all(jobs: list[tuple[str, int | None, Family, int, int]], n_jobs: int) -> Iterable[Rates]:
    """In so many processes; the numbers do not depend on it."""
    if n_jobs == 1:
        yield from map(_rate, jobs)
        return
    with ProcessPoolExecutor(n_jobs) as pool:
        yield from pool.map(_rate, jobs)


def print_rows(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table in Markdown, each row as soon as it is known."""
    print(f"\n{title}\n\n| " + " | ".join(header) + " |\n|" + "---|" * len(header), flush=True)
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def _chosen(wanted: list[str] | None, known: Iterable[str]) -> list[str]:
    return [name for name in known if wanted is None or any(part in name for part in wanted)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=100, help="of each kind, and of each fault and size")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=sorted(FAMILIES), default="reported")
    parser.add_argument("--kinds", nargs="*", help="parts of names; none: no table of false alarms")
    parser.add_argument("--faults", nargs="*", help="parts of names; none: no table of power")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    family, logs, seed = FAMILIES[given.family], given.logs, given.seed
    kinds = _chosen(given.kinds, KINDS)
    if kinds:
        found = rate_all([(name, None, family, logs, seed) for name in kinds], given.jobs)
        rows = ([k, r.share(r.stopped), r.share(r.capped), r.words()] for k, r in zip(kinds, found, strict=True))
        title = f"False alarms: % of {logs} clean logs of each kind, with standard errors ({family.name} family)"
        print_rows(title, ["kind", "do not use it", "with a cap", "rules, logs"], rows)
    faults = [(name, n) for name in _chosen(given.faults, FAULTS) for n in given.sizes]
    if faults:
        found = rate_all([(name, n, family, logs, seed) for name, n in faults], given.jobs)
        rows = (
            [name, f"{n:,}", *(r.share(count) for count in (r.stopped, r.capped, r.noted, r.right)), r.words()]
            for (name, n), r in zip(faults, found, strict=True)
        )
        title = f"Power: % of {logs} logs with each fault, with standard errors ({family.name} family)"
        print_rows(title, ["fault", "rows", "stopped", "capped", "noted", "best is right", "rules, logs"], rows)


if __name__ == "__main__":
    main()
