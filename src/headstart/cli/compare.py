"""`headstart compare`: which way of using this log would have earned most?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from headstart.cli.terminal import CORES, Jobs, Seed, app, check_writable, out, progress_bar


@app.command()
def compare(
    log: Annotated[
        str, typer.Argument(help="A file, a folder or a quoted pattern: CSV, Parquet, JSON lines, Vowpal Wabbit ...")
    ],
    action: Annotated[str | None, typer.Option(help="The column of the action taken.")] = None,
    outcome: Annotated[str | None, typer.Option(help="The column of what happened.")] = None,
    contexts: Annotated[
        str | None, typer.Option(help="Columns to decide on: [bold]age,city[/bold]; if not given, all.")
    ] = None,
    confounders: Annotated[
        str | None, typer.Option(help="Columns to adjust for that decisions may not look at.")
    ] = None,
    propensity: Annotated[
        str | None,
        typer.Option(help="The column of the chance of the action taken; [bold]none[/bold] to estimate it anyway."),
    ] = None,
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
    as_json: Annotated[bool, typer.Option("--json", help="Everything as one JSON object, nothing else.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Also draw the curves here (.png or .svg).")] = None,
) -> None:
    """Which way of using this log would have earned most, and is the difference more than noise?

    Policies start from a fifth of the rows and live through the others as if they had met those users: a row counts
    when its action is the policy's own choice. Beside them stand a cold start (no log) and a naive one (the raw log).

    [dim]headstart compare clicks.parquet[/dim] recognises common column names and says which;
    [dim]headstart compare clicks.csv --action ad --outcome click --contexts age,city --figure out.png[/dim] is told.

    The exit code is 0 whatever wins, and 1 if the log cannot be read or compared.
    """
    from headstart.judgement.compare.compare import compare as run_comparison
    from headstart.judgement.compare.compare import count_steps
    from headstart.judgement.compare.policies import CONTEXT_FREE, CONTEXTUAL
    from headstart.logs.tables import read_log, scan_log

    if figure is not None:
        check_writable(figure)
    read: Any = read_log if split == "time" else scan_log  # a table has no order of rows
    source = read(
        log,
        action=action,
        outcome=outcome,
        contexts=_listed(contexts),
        confounders=_listed(confounders),
        propensity=False if propensity == "none" else propensity,
    )
    names = _listed(policies)
    decide_on = list(source.reading.decide_on) if source.reading.confounders else None
    has_contexts = source.n_features > 0 and decide_on != []
    asked = (*CONTEXT_FREE, *(CONTEXTUAL if has_contexts else ())) if names is None else {*CONTEXT_FREE[:2], *names}
    with progress_bar("compare", count_steps(len(asked), shuffles)) as advance:
        found = run_comparison(
            source,
            names,
            shuffles=shuffles,
            rounds=rounds,
            split=split,  # type: ignore[arg-type]  # compare says which there are
            share=share,
            decide_on=decide_on,
            seed=seed,
            n_jobs=jobs,
            progress=advance,
        )
    if figure is not None:
        from headstart.reports.compare_figure import draw_comparison

        draw_comparison(found, figure)
    if as_json:
        sys.stdout.write(json.dumps({"reading": str(source.reading).splitlines(), **found.as_dict()}) + "\n")
        return
    out.print(f"[dim]{escape(str(source.reading))}[/dim]\n", highlight=False)
    _print(found)
    if figure is not None:
        out.print(f"\nThe curves are in [bold]{escape(str(figure))}[/bold].")


def _listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def _print(found: Any) -> None:
    rule = found.acceptance
    title = (
        f"{rule.method}: {rule.n_rounds:,} rounds a policy, {found.shuffles} shuffles of {found.n_log:,} rows to "
        f"start from and {found.n_stream:,} to live through"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("policy", no_wrap=True)
    for column in ("per user", "more than cold", "to the best"):
        table.add_column(column, justify="right", no_wrap=True)
    to_best = {difference.policy: difference for difference in found.to_best}
    to_cold = {difference.policy: difference for difference in found.to_cold}
    for earning in found.earnings:
        cold, best = to_cold.get(earning.name), to_best.get(earning.name)
        table.add_row(
            escape(earning.name),
            f"{earning.mean:.4g} ± {earning.high - earning.mean:.2g}",
            "" if cold is None else f"{cold.value:+.3g} ± {cold.high - cold.value:.2g}",
            "[bold]best[/bold]" if best is None else "noise" if best.is_noise else f"{best.value:+.3g}",
        )
    out.print(table)
    out.print(f"[dim]± is a {found.level:.0%} interval; those of differences hold together.[/dim]", highlight=False)
    for sentence in found.verdict():
        out.print(escape(sentence), highlight=False)
    for note in found.notes:
        out.print(f"[dim]Note: {escape(note)}.[/dim]", highlight=False)
