"""Regrets of a system relative to those of another that met the same worlds, logs and users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.timing import print_table
from headstart.arrays import Floats


class Ratio(NamedTuple):
    """How many times another's regret: the ratio of means and that of 95 % points, with their standard errors."""

    mean: float
    se: float
    tail: float
    tail_se: float


def compare_regrets(regrets: Floats, base: Floats) -> Ratio:
    """The ratio r = mean(x) / mean(c), with the delta method's error: the deviation of x - r c over sqrt(n) mean(c).

    `regrets` and `base` are of the same runs, in the same order. The error of the 95 % points' ratio is by runs drawn
    again with replacement, 1,000 times.
    """
    ratio = regrets.mean() / base.mean()
    se = np.std(regrets - ratio * base, ddof=1) / np.sqrt(regrets.size) / base.mean() if regrets.size > 1 else np.nan
    again = np.random.default_rng(0).integers(regrets.size, size=(1000, regrets.size))
    tails = np.percentile(regrets[again], 95, axis=1) / np.percentile(base[again], 95, axis=1)
    tail = np.percentile(regrets, 95) / np.percentile(base, 95)
    return Ratio(float(ratio), float(se), float(tail), float(tails.std()))


def print_league(title: str, families: Mapping[str, Mapping[str, Floats]], base: str) -> None:
    """A row a system, a column a family of worlds: regret over that of the system `base` in the same worlds."""
    names = [name for name in next(iter(families.values())) if name != base]
    rows = []
    for name in names:
        ratios = [compare_regrets(regrets[name], regrets[base]) for regrets in families.values()]
        rows.append((name, *(f"{ratio.mean:.2f} ± {ratio.se:.2f}" for ratio in ratios)))
    print_table(title, ("", *families), rows)
