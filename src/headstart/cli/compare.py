"""`headstart compare`: which way of using this log would have earned most?"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headstart.cli.log_options import LogOptions, takes_log
from headstart.cli.terminal import CORES, AsJson, Jobs, Seed, app, check_writable, out, progress_bar, split_names
from headstart.cli.wording import as_options
from headstart.numerals import number, signed

if TYPE_CHECKING:
    from headstart.judgement.compare.compare import Split
    from headstart.judgement.compare.comparison import Comparison, Difference, Earning
    from headstart.logs.any_log import AnyLog


@app.command("compare")
@takes_log
def compare_policies(
    log: LogOptions,
    policies: Annotated[
        str | None, typer.Option(help="Names, as the table prints them: [bold]ucb + ips,ucb cold[/bold].")
    ] = None,
    shuffles: Annotated[int, typer.Option(help="Ways of cutting and ordering the rows.", min=2)] = 20,
    rounds: Annotated[int | None, typer.Option(help="Users to compare over; if not given, all.", min=1)] = None,
    split: Annotated[
        str, typer.Option(help="[bold]random[/bold], or [bold]time[/bold]: the first rows are the log.")
    ] = "random",
    share: Annotated[float, typer.Option(help="Of the rows, for the log that policies start from.")] = 0.2,
    seed: Seed = 0,
    jobs: Jobs = CORES,
    as_json: AsJson = False,
    figure: Annotated[Path | None, typer.Option(help="Also draw the curves here (.png or .svg).")] = None,
) -> None:
    """Which way of using this log would have earned most, and is the difference more than noise?

    Policies start from a fifth of the rows and live through the others as if they had met those users: a row counts
    when its action is the policy's own choice. First stand [bold]start[/bold], which the service would run, and
    today's policy, which made the log; beside them a cold start (no log) and a naive one (the raw log).

    [dim]headstart compare clicks.parquet[/dim] recognises common column names and says which;
    [dim]headstart compare clicks.csv --action ad --outcome click --contexts age,city --figure out.png[/dim] is told.

    The exit code is 0 whatever wins, and 1 if the log cannot be read or compared.
    """
    from headstart.judgement.compare.compare import as_split

    if figure is not None:
        check_writable(figure)
    source = log.read() if split == "time" else log.scan()  # a table has no order of rows
    run = _Run(split_names(policies), shuffles, rounds, as_split(split), share, seed, jobs)
    _tell(run.on(source), as_options(str(source.reading)), as_json=as_json, figure=figure)


@dataclass(frozen=True)
class _Run:
    """How the policies are to be compared."""

    names: list[str] | None
    shuffles: int
    rounds: int | None
    split: Split
    share: float
    seed: int
    jobs: int

    def on(self, log: AnyLog) -> Comparison:
        """The comparison, under a progress bar."""
        from headstart.judgement.compare.compare import compare, count_comparison_steps

        reading = log.reading
        decide_on = list(reading.decide_on) if reading is not None and reading.confounders else None
        with progress_bar(
            "compare", count_comparison_steps(self._n_policies(log, decide_on), self.shuffles)
        ) as advance:
            return compare(
                log,
                self.names,
                shuffles=self.shuffles,
                rounds=self.rounds,
                split=self.split,
                share=self.share,
                decide_on=decide_on,
                seed=self.seed,
                n_jobs=self.jobs,
                progress=advance,
            )

    def _n_policies(self, log: AnyLog, decide_on: list[str] | None) -> int:
        from headstart.judgement.compare.policies import COLD, CONTEXT_FREE, CONTEXTUAL, NAIVE

        if self.names is not None:
            return len({COLD, NAIVE, *self.names})
        return len(CONTEXT_FREE) + (len(CONTEXTUAL) if log.n_features > 0 and decide_on != [] else 0)


def _tell(found: Comparison, reading: str, *, as_json: bool, figure: Path | None) -> None:
    if figure is not None:
        from headstart.reports.compare_figure import draw_comparison

        draw_comparison(found, figure)
    if as_json:
        sys.stdout.write(json.dumps({"reading": reading.splitlines(), **found.as_dict()}) + "\n")
        return
    out.print(f"[dim]{escape(reading)}[/dim]\n", highlight=False)
    _print(found)
    if figure is not None:
        out.print(f"\nThe curves are in [bold]{escape(str(figure))}[/bold].")


WIDE = 112  # characters of a terminal that has room for every column


def _print(found: Comparison) -> None:
    from headstart.judgement.compare.policies import START, TODAY

    out.print(escape(found.counts()), highlight=False)
    columns = _columns(found)
    table = Table(title=f"mean {escape(found.outcome)} per user", title_justify="left")
    table.add_column("policy", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    first = [earning for earning in found.earnings if earning.name in (START, TODAY)]
    for earning in [*first, *(each for each in found.earnings if each not in first)]:
        cells = (tell(earning) for tell in columns.values())
        table.add_row(escape(earning.name), *cells, end_section=bool(first) and earning is first[-1])
    out.print(table)
    out.print(
        f"[dim]± is a {found.level:.0%} interval of that number alone; 'noise' to the best allows for comparing "
        f"{len(found.to_best)} with it.[/dim]",
        highlight=False,
    )
    out.print(f"[dim]{escape(_explain_names(found))}[/dim]", highlight=False)
    for sentence in found.verdict():
        out.print(escape(sentence), highlight=False)
    for note in found.notes:
        out.print(f"[dim]Note: {escape(note)}.[/dim]", highlight=False)


def _explain_names(found: Comparison) -> str:
    """What the names of the policies mean, of those that are there."""
    meanings = {
        "start": "what headstart would run",
        "cold": "learns from users alone, without the log",
        "naive": "takes the log's raw averages as they are",
    }
    names = {earning.name for earning in found.earnings}
    told = [f"{name} {meaning}" for name, meaning in meanings.items() if name in names]
    if any(" + " in name for name in names):
        told.append("a + b is the way of deciding a, started from the log as adjusted by b")
    return f"Of the policies, {'; '.join(told)}." if told else ""


def _columns(found: Comparison) -> dict[str, Callable[[Earning], str]]:
    """What the table tells of each policy, by its heading; a narrow terminal gets what matters most."""
    from headstart.judgement.compare.policies import COLD, TODAY

    to_best = {difference.policy: difference for difference in found.to_best}

    def tell_best(earning: Earning) -> str:
        best = to_best.get(earning.name)
        return "[bold]best[/bold]" if best is None else "noise" if best.is_noise else signed(best.value)

    def tell_rounds(earning: Earning) -> str:
        return "" if earning.name == TODAY else f"{earning.n_accepted:,.0f}"

    def tell_borrowed(earning: Earning) -> str:
        return "" if earning.name == TODAY else f"{earning.n_lent / earning.n_accepted:.0%}"

    columns: dict[str, Callable[[Earning], str]] = {
        "per user": lambda earning: f"{number(earning.mean, 4)} ± {number(_reach(earning.mean, earning), 2)}",
        "more than today": lambda earning: _gap(found, earning.name, TODAY),
        "to the best": tell_best,
    }
    if out.width >= WIDE:
        columns |= {"more than cold": lambda earning: _gap(found, earning.name, COLD), "rounds": tell_rounds}
        if any(earning.n_lent for earning in found.earnings):
            columns["borrowed"] = tell_borrowed
    return columns


def _gap(found: Comparison, policy: str, other: str) -> str:
    if policy == other:
        return ""
    gap = found.difference(policy, other)
    return f"{signed(gap.value)} ± {number(_reach(gap.value, gap), 2)}"


def _reach(value: float, interval: Earning | Difference) -> float:
    """The longer side of an interval."""
    return max(interval.high - value, value - interval.low)
