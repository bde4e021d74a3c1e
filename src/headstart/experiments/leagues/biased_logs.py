"""Logs that lie: what each way of using a log gains on good ones and loses on bad ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from headstart.estimates.summary import Summary
from headstart.evaluators import DoublyRobust, IPSWeighting
from headstart.experiments.relatives import AnchorTS, Commensurate, OtO
from headstart.experiments.running.experiment import Case, Experiment, Result, Setting
from headstart.extras import brought_by
from headstart.logs.log import Log
from headstart.oracles import UCB, KnowledgeGradient, MinUCB, RobustThompson, ThompsonNormal
from headstart.parts.contracts import Oracle
from headstart.simulation.simulate import Curve, MakePolicy
from headstart.warmstart.conflict import Guarded
from headstart.warmstart.warmstart import WarmStart
from headstart.worlds import DrawnWorld, Synthetic

HORIZONS = (500, 5000)
BIASES = (-0.9, -0.6, -0.3, 0.3, 0.6, 0.9)
COLD = "cold Thompson"
DEFAULT = "default"
AVERAGE = "all cells, average"

_COLOURS = {
    "pooled": "#D55E00",
    "guard": "#009E73",
    "mixture": "#0072B2",
    "robust": "#CC79A7",
    "relative": "#E69F00",
}
_MARKERS = {
    "pooled": "X",
    "guard": "s",
    "mixture": "o",
    "robust": "D",
    "gradient": "P",
    "relative": "^",
    DEFAULT: "*",
}

_Cell: TypeAlias = tuple[float, int, str, str]  # gap, horizon, kind of log, series


class _Drawn(DrawnWorld):
    """A world whose log has been put through causal inference once, for every policy that starts from it."""

    evaluator: DoublyRobust
    summary: Summary


@dataclass(frozen=True)
class Biased:
    """A world whose log has a constant added to the outcomes of one action."""

    world: Synthetic
    action: int
    bias: float

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """The world, its users as they are."""
        drawn = self.world.draw(rng)
        log = drawn.log
        outcomes = log.outcomes + self.bias * (log.actions == self.action)
        biased = Log(log.actions, outcomes, log.contexts, log.propensity_matrix, n_actions=log.n_actions)
        twin = _Drawn(biased, drawn.n_features, drawn.kernel_state, drawn.population)
        twin.evaluator = DoublyRobust(biased)
        twin.summary = twin.evaluator.summary()
        return twin


def _cold(world: DrawnWorld, log: Log, rng: Generator) -> Oracle:
    return ThompsonNormal(world.n_actions, rng=rng)


def _pooled_ucb(world: DrawnWorld, log: Log, rng: Generator) -> Oracle:
    return WarmStart(UCB(world.n_actions), IPSWeighting(log), rng=rng)


def _pooled_thompson(world: DrawnWorld, log: Log, rng: Generator) -> Oracle:
    return WarmStart(ThompsonNormal(world.n_actions, rng=rng), IPSWeighting(log), rng=rng)


def _conflict(world: _Drawn, log: Log, rng: Generator) -> Oracle:
    warm = WarmStart(ThompsonNormal(world.n_actions, rng=rng), deepcopy(world.evaluator), rng=rng)
    return Guarded(warm, summary=world.summary, rng=rng)


def _min_ucb(**settings: float) -> MakePolicy:
    return lambda world, log, rng: MinUCB(world.n_actions, world.summary, follows_variance=True, **settings)


def _thompson(**settings: Any) -> MakePolicy:
    return lambda world, log, rng: RobustThompson(world.n_actions, world.summary, rng=rng, **settings)


def _gradient(**settings: Any) -> MakePolicy:
    return lambda world, log, rng: KnowledgeGradient(world.n_actions, world.summary, rng=rng, **settings)


def policies(horizon: int) -> Mapping[str, MakePolicy]:
    """Everything that starts from the same log, for so many users to come."""
    return {
        COLD: _cold,
        "pooled: UCB + IPSW": _pooled_ucb,
        "pooled: Thompson + IPSW": _pooled_thompson,
        "pooled: trust 1": _thompson(trust=1.0),
        "guard: MIN-UCB": _min_ucb(),
        "guard: MIN-UCB, V = 0.5": _min_ucb(bias_bound=0.5),
        "guard: MIN-UCB, forced plays": _min_ucb(forced=2.0),
        "guard: conflict test": _conflict,
        "mixture: trust 0.95": _thompson(trust=0.95, rival_share=0.0, is_capped=False),
        "mixture: trust 0.8": _thompson(trust=0.8, rival_share=0.0, is_capped=False),
        "mixture: trust 0.5": _thompson(trust=0.5, rival_share=0.0, is_capped=False),
        "robust: trust 0.95": _thompson(trust=0.95),
        "robust: trust 0.8": _thompson(trust=0.8),
        "robust: trust 0.5": _thompson(trust=0.5),
        "gradient: trust 0.95": _gradient(trust=0.95, horizon=horizon),
        "gradient: trust 0.5": _gradient(trust=0.5, horizon=horizon),
        "gradient: 10 times the horizon": _gradient(horizon=10 * horizon),
        "relative: Anchor-TS": lambda world, log, rng: AnchorTS(world.summary, rng=rng),
        "relative: commensurate prior": lambda world, log, rng: Commensurate(world.summary, rng=rng),
        "relative: OtO": lambda world, log, rng: OtO(world.summary),
        DEFAULT: _gradient(horizon=horizon),
    }


def _cases() -> Iterator[Case]:
    for k, gap, n_log, horizon in product((2, 3, 5), (0.2, 0.5), (50, 100, 1000), HORIZONS):
        world = Synthetic(n_actions=k, n_log=n_log, step=gap)
        told = policies(horizon)
        setting = {"gap": gap, "K": k, "n_log": n_log, "T": horizon}
        yield Case(Biased(world, 0, 0.0), told, horizon, {**setting, "of": "none", "bias": 0.0})
        # The best action is the last; the inferior one is the next best, where a bias does the most harm.
        for (of, action), bias in product((("best", k - 1), ("inferior", k - 2)), BIASES):
            yield Case(Biased(world, action, bias), told, horizon, {**setting, "of": of, "bias": bias})


def relative(results: Iterator[Result]) -> Iterator[Result]:
    """Each cell: regret relative to the cold Thompson that met the same users, as a curve of one point.

    The points are r + (x_i - r c_i) / mean(c) for r = mean(x) / mean(c): their mean is the ratio, and their spread
    gives its standard error (delta method).
    """
    for _, group in groupby(results, key=lambda result: str(result.setting)):
        cell = list(group)
        base = next(result.curve.regrets[:, -1] for result in cell if result.series == COLD)
        for result in cell:
            regrets = result.curve.regrets[:, -1]
            ratio = regrets.mean() / base.mean()
            points = ratio + (regrets - ratio * base) / base.mean()
            curve = Curve(result.curve.rounds[-1:], points[:, None], result.curve.seconds)
            yield Result(result.experiment, result.series, result.setting, curve)


def _kind(setting: Setting) -> str | None:
    if setting["of"] == "none":
        return "good" if setting["n_log"] >= 100 else None
    helps = (setting["of"] == "best") == (setting["bias"] > 0.0)
    return "harmless bias" if helps else "deflated best" if setting["of"] == "best" else "inflated inferior"


def worst(cells: Iterator[Result]) -> Iterator[Result]:
    """Per gap, horizon and kind of log, the largest ratio of each series over K, rows and biases, and where it is.

    A good log counts from 100 rows on.
    """
    largest: dict[_Cell, Result] = {}
    for cell in cells:
        kind = _kind(cell.setting)
        if kind is None or cell.series == COLD:
            continue
        key = (cell.setting["gap"], cell.setting["T"], kind, cell.series)
        if key not in largest or cell.curve.mean > largest[key].curve.mean:
            largest[key] = cell
    for (gap, horizon, kind, series), cell in sorted(largest.items(), key=lambda item: _rank(item[0])):
        s = cell.setting
        where = f"K={s['K']}, N={s['n_log']}" + (f", bias {s['bias']:+g}" if s["bias"] else "")
        setting = {"gap": gap, "T": horizon, "log": kind, "at": where}
        yield Result(cell.experiment, series, setting, cell.curve)


def averages(cells: Iterator[Result]) -> Iterator[Result]:
    """Per gap, horizon and kind of log, the average ratio of each series over K, rows and biases.

    Run by run, so that its standard error is right for cells that share their seeds. A good log counts from 100 rows
    on.
    """
    alike: dict[_Cell, list[Result]] = defaultdict(list)
    for cell in cells:
        kind = _kind(cell.setting)
        if kind is not None and cell.series != COLD:
            alike[cell.setting["gap"], cell.setting["T"], kind, cell.series].append(cell)
    for (gap, horizon, kind, series), found in sorted(alike.items(), key=lambda item: _rank(item[0])):
        points = np.mean([cell.curve.regrets for cell in found], axis=0)
        seconds = sum(cell.curve.seconds for cell in found)
        setting = {"gap": gap, "T": horizon, "log": kind, "at": AVERAGE}
        yield Result(found[0].experiment, series, setting, Curve(found[0].curve.rounds, points, seconds))


def _rank(key: _Cell) -> tuple[float, int, int, int]:
    gap, horizon, kind, series = key
    kinds = ("good", "inflated inferior", "deflated best", "harmless bias")
    return gap, horizon, kinds.index(kind), list(policies(horizon)).index(series)


def _summarise(results: Iterator[Result]) -> Iterator[Result]:
    cells = list(relative(results))
    yield from worst(iter(cells))
    yield from averages(iter(cells))


def draw_frontier(results: Sequence[Result], path: Path) -> None:
    """Across: the average ratio on good logs; up: that on bad ones; a panel per gap, at the longest horizon."""
    with brought_by("plot"):
        import matplotlib.pyplot as plt

    points: dict[float, dict[str, dict[str, Curve]]] = defaultdict(lambda: defaultdict(dict))
    for result in results:
        if result.setting["T"] == max(HORIZONS) and result.setting["at"] == AVERAGE:
            points[result.setting["gap"]][result.series][result.setting["log"]] = result.curve
    figure, grid = plt.subplots(1, len(points), figsize=(5.6 * len(points), 4.8), layout="constrained", squeeze=False)
    for axes, (gap, series) in zip(grid.flat, sorted(points.items(), reverse=True), strict=True):
        for name, kinds in series.items():
            _draw_series(axes, name, kinds)
        axes.axhline(1.0, color="#555555", linewidth=0.8)
        axes.axvline(1.0, color="#555555", linewidth=0.8)
        _scale(axes)
        axes.set_title(f"gap {gap:g}", loc="left", fontsize=9)
        axes.set_xlabel("regret on good logs of 100 rows or more")
        axes.spines[["top", "right"]].set_visible(False)
    handles, names = grid[0, 0].get_legend_handles_labels()
    families = dict(zip(names, handles, strict=True))  # one of each
    figure.legend(
        families.values(), families, loc="outside lower center", ncols=len(families), fontsize=8, frameon=False
    )
    grid[0, 0].set_ylabel("regret on logs with an inflated or a deflated action")
    runs = results[0].curve.runs
    note = f"relative to a cold Thompson (1.0); {max(HORIZONS)} users, averages over K, rows and biases, {runs} runs"
    figure.suptitle(f"What a log gains and what it may cost: {note}", fontsize=9, x=0.01, ha="left")
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else {"Software": "headstart"})
    plt.close(figure)


def _draw_series(axes: Any, series: str, kinds: Mapping[str, Curve]) -> None:
    """A point with its standard errors, and its name."""
    family = series.split(":")[0]
    bad = (kinds["inflated inferior"].regrets + kinds["deflated best"].regrets)[:, -1] / 2.0
    x, y = kinds["good"].mean, bad.mean()
    errors = kinds["good"].se, bad.std(ddof=1) / np.sqrt(bad.size)
    colour, size = _COLOURS.get(family, "#000000"), 13.0 if family == DEFAULT else 6.0
    style = {"color": colour, "marker": _MARKERS[family], "ms": size, "lw": 0.0, "elinewidth": 0.6, "zorder": 3}
    axes.errorbar(x, y, xerr=errors[0], yerr=errors[1], label=family, **style)
    label = series.split(": ")[-1]
    axes.annotate(label, (x, y), textcoords="offset points", xytext=(6, 3), fontsize=6, color=colour)


def _scale(axes: Any) -> None:
    """Logarithms both ways, with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())


EXPERIMENT = Experiment(
    name="biased-logs",
    shows="Regret relative to a cold Thompson sampler, on good logs and on logs with one action's outcomes shifted",
    source="not in the paper; section 4.4 carried on",
    claim="A biased log hurts (Theorem 5, Figure 31).",
    reading=(
        "It does, by up to 140 times a cold start. Over all cells the default has 0.24 to 0.29 of a cold start's "
        "regret on good logs. Where an action is inflated or the best one deflated it has 0.73 to 0.92 of it at gap "
        "0.5, and 1.2 to 1.8 times it at gap 0.2, where such a log looks right to everybody who does not try. The "
        "worst cell of each kind is shown too (4.3 ± 0.9 at gap 0.2, 2.1 ± 0.9 at 0.5): one run in a hundred that "
        "settles on the wrong action costs 2,500, and shows as a large standard error. Every series that gains more "
        "on good logs loses more on bad ones: that is the frontier, and a bound (bounds.safety_lower)."
    ),
    runs=100,
    seconds=240,
    cases=lambda: list(_cases()),
    measure="regret relative to a cold Thompson, at worst and on average",
    summarise=_summarise,
    draw=draw_frontier,
)
