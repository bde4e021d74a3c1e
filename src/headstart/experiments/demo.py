"""The demo: the introduction's example, start to finish, as a story with a table and a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import numpy as np

from headstart.arrays import Floats
from headstart.evaluators import HistoricalAverage, IPSWeighting
from headstart.experiments.paper import intro
from headstart.experiments.running.experiment import Case, Result, run_experiment
from headstart.experiments.running.figures import draw_figure
from headstart.judgement.start.start import start
from headstart.logs.log import Log
from headstart.oracles import UCB
from headstart.parts.contracts import Oracle
from headstart.warmstart.warmstart import WarmStart
from headstart.worlds import DrawnWorld

OPTIMAL_REVENUE = 900.0  # 10,000 users times 9 %
START = "hs.start"
_NAMES = {intro.COLD: "UCB without the log", intro.WARM: "UCB with the log"}  # headstart is what both parts are in
_SHARE = 0.05  # of the runs: a start audits its log, which takes a tenth of a second


def _start(world: DrawnWorld, log: Log, rng: np.random.Generator) -> Oracle:
    return start(log, horizon=intro.ROUNDS, rng=rng)


def _cases() -> list[Case]:
    return [*intro.EXPERIMENT.cases(), Case(intro.WORLD, {START: _start}, intro.ROUNDS, share=_SHARE)]


STORY = replace(
    intro.EXPERIMENT,
    shows="Where should the ad go? Six ways to decide for 10,000 users",
    measure="dollars lost so far, at one dollar a click",
    cases=_cases,
)
PAPER = {intro.AVERAGE: 225.6, intro.CAUSAL: 52.3, intro.AB_TEST: 60.1, intro.WARM: 5.6}


def example_log(seed: int) -> Log:
    """One log of 400 users in the stated design, with readable labels."""
    drawn = intro.WORLD.draw(np.random.default_rng(seed)).log
    likes = np.where(drawn.contexts[:, 0] == 0, "yes", "no")
    return Log(
        actions=[intro.ACTION_NAMES[a] for a in drawn.actions],
        outcomes=drawn.outcomes,
        contexts={"likes_videos": likes},
        propensities=drawn.propensities,
        action_names=intro.ACTION_NAMES,
    )


def cell_lines(log: Log) -> Iterator[tuple[str, str, int, int]]:
    """(kind of user, action, users, clicks) for each cell of the log."""
    likes = log.contexts[:, log.context_names.index("likes_videos=yes")] == 1
    for kind, rows in zip(intro.KIND_NAMES, (likes, ~likes), strict=True):
        for a, action in enumerate(intro.ACTION_NAMES):
            chosen = rows & (log.actions == a)
            yield kind, action, int(chosen.sum()), int(log.outcomes[chosen].sum())


def verdicts(log: Log) -> dict[str, Floats]:
    """What the raw average says of each action, and what causal inference says, (K,) each."""
    raw = np.array([log.outcomes[log.actions == a].mean() for a in range(log.n_actions)])
    return {intro.AVERAGE: raw, intro.CAUSAL: IPSWeighting(log).means}


def virtual_plays(log: Log, width: float) -> tuple[WarmStart, WarmStart]:
    """A warm start from this log and one that swallows it raw, both after their first offline phase."""
    beta = intro.beta_of_width(width)
    adjusted = WarmStart(UCB(log.n_actions, beta), IPSWeighting(log), rng=0)
    naive = WarmStart(UCB(log.n_actions, beta), HistoricalAverage(log, rng=0), rng=0)
    adjusted.play()
    naive.play()
    return adjusted, naive


def run_strategies(runs: int, seed: int, n_jobs: int, progress: Callable[[int], None]) -> list[Result]:
    """The strategies of the introduction over 10,000 users, UCB's with both widths, and the one call."""
    return list(run_experiment(STORY, runs=runs, seed=seed, n_jobs=n_jobs, progress=progress))


def draw_demo(results: list[Result], path: Path) -> None:
    """The regret of every strategy over the 10,000 users, UCB's with the published width."""
    shown = [result for result in results if result.setting.get("width") in (None, intro.WIDTHS[0])]
    named = [replace(result, series=_NAMES.get(result.series, result.series), setting={}) for result in shown]
    draw_figure(STORY, named, path)


class StrategyRow(TypedDict):
    """A line of the demo's table."""

    strategy: str
    width: float | None
    revenue: float
    regret: float
    se: float
    runs: int
    paper: float | None  # the regret that was published


def table_rows(results: list[Result]) -> Iterator[StrategyRow]:
    """One row per strategy: revenue, regret, its standard error, and the paper's regret where it has one."""
    for result in results:
        width = result.setting.get("width")
        published = PAPER.get(result.series)
        if result.series == intro.WARM and width != intro.WIDTHS[0]:
            published = None  # the published figure used the narrow width
        yield {
            "strategy": _NAMES.get(result.series, result.series),
            "width": width,
            "revenue": OPTIMAL_REVENUE - result.curve.mean,
            "regret": result.curve.mean,
            "se": result.curve.se,
            "runs": result.curve.runs,
            "paper": published,
        }
