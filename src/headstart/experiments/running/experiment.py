"""What an experiment is: named cases, each a world and the policies that meet in it, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from headstart.simulation.simulate import Curve, MakePolicy, World, simulate

Setting: TypeAlias = Mapping[str, Any]  # what sets a case apart: numbers and words by name


class ResultRow(TypedDict):
    """A result as a line of JSON; regret at the last round."""

    experiment: str
    series: str
    setting: dict[str, Any]
    rounds: int
    runs: int
    mean: float
    se: float
    p20: float
    p80: float
    seconds: float


@dataclass(frozen=True)
class Case:
    """One world, the policies compared in it, and what sets this case apart from the others."""

    world: World
    policies: Mapping[str, MakePolicy]  # by the name of the series
    rounds: int
    setting: Setting = field(default_factory=dict)
    share: float = 1.0  # of the runs asked for: less for what takes seconds a run
    bounds: Mapping[str, Callable[[int], float]] = field(default_factory=dict)  # series -> horizon -> upper bound

    def n_runs(self, asked: int) -> int:
        """How many runs this case gets when so many are asked for."""
        return max(2, round(asked * self.share)) if self.share < 1.0 else asked


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper."""

    name: str
    shows: str  # one line, for --list
    source: str  # where in the paper
    claim: str  # what the paper says of it
    reading: str  # what was found here, in a line or two
    runs: int  # the paper's number of runs
    seconds: int  # that number of runs took here, two cores, compiled code from the cache
    cases: Callable[[], Sequence[Case]]
    panels: tuple[str, ...] = ()  # the settings that get a panel of their own in the figure
    measure: str = "cumulative regret"
    # For grids too large to print: what is told of the results, from them as they come; and a figure of its own.
    summarise: Callable[[Iterator[Result]], Iterator[Result]] | None = None
    draw: Callable[[Sequence[Result], Path], None] | None = None


@dataclass(frozen=True)
class Result:
    """One series of one case, measured."""

    experiment: str
    series: str
    setting: Setting
    curve: Curve
    bound: Callable[[int], float] | None = None  # an upper bound of the regret for a horizon, drawn over the curve

    def as_row(self) -> ResultRow:
        """The line of JSON that `headstart reproduce --json` prints."""
        curve = self.curve
        return {
            "experiment": self.experiment,
            "series": self.series,
            "setting": dict(self.setting),
            "rounds": int(curve.rounds[-1]),
            "runs": curve.runs,
            "mean": curve.mean,
            "se": curve.se,
            "p20": curve.p20,
            "p80": curve.p80,
            "seconds": round(curve.seconds, 3),
        }


def count_experiment_steps(experiment: Experiment, runs: int) -> int:
    """How often `progress` will be called."""
    return sum(case.n_runs(runs) * len(case.policies) for case in experiment.cases())


def run_experiment(
    experiment: Experiment,
    *,
    runs: int,
    seed: int,
    n_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Result]:
    """Every series of every case. The same seed gives the same logs and users in each case."""
    results = _run_cases(experiment, runs, seed, n_jobs, progress)
    yield from results if experiment.summarise is None else experiment.summarise(results)


def _run_cases(
    experiment: Experiment, runs: int, seed: int, n_jobs: int, progress: Callable[[int], None] | None
) -> Iterator[Result]:
    for case in experiment.cases():
        curves = simulate(
            case.world,
            case.policies,
            rounds=case.rounds,
            runs=case.n_runs(runs),
            seed=seed,
            n_jobs=n_jobs,
            progress=progress,
        )
        for series, curve in curves.items():
            yield Result(experiment.name, series, case.setting, curve, case.bounds.get(series))
