"""`headstart rehearse`: what will happen if I switch this on?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from headstart.addresses import mask_secrets
from headstart.cli.log_options import LogOptions, takes_log
from headstart.cli.terminal import CORES, AsJson, Jobs, Seed, app, check_page, out, progress_bar, split_names
from headstart.cli.wording import as_options


@app.command("rehearse")
@takes_log
def rehearse_log(
    log: LogOptions,
    users_per_day: Annotated[int, typer.Option(help="Users to come on a day.", min=1)],
    days: Annotated[int, typer.Option(help="Days to rehearse.", min=1)] = 28,
    decide_on: Annotated[
        str | None,
        typer.Option(help="Columns that decisions look at: [bold]age,city[/bold]; if not given, one action for all."),
    ] = None,
    worlds: Annotated[
        int | None,
        typer.Option(help="Worlds that are drawn for each scenario; if not given, 100, fewer for many users.", min=2),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = CORES,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Also write a page with figures; it needs no other file.")] = None,
) -> None:
    """What will happen if I switch this on? Expected gains in the outcome's units, days, the worst case, advice.

    It draws possible worlds from the log itself: worlds in which the log is right within its errors, all levels have
    moved, the log's winner looks better than it is, the best action looks worse than it is, or outcomes come a day
    late. An A/B test, a bandit without a log, the log's winner for all, today's policy and [bold]start[/bold], which
    believes the log more or less and gives more or fewer users an action by lot, live through all of them.

    [dim]headstart rehearse clicks.parquet --users-per-day 5000[/dim];
    [dim]headstart rehearse clicks.csv --users-per-day 800 --days 14 --decide-on age,city --html rehearsal.html[/dim].

    The exit code is 0 whatever comes out, and 1 if the log cannot be read or rehearsed.
    """
    from headstart.judgement.rehearsal.rehearse import count_rehearsal_steps, count_worlds, rehearse

    if html is not None:
        check_page(html)
    table = log.scan()
    runs = worlds or count_worlds(users_per_day * days)
    with progress_bar("rehearse", count_rehearsal_steps(runs)) as advance:
        found = rehearse(
            table,
            users_per_day=users_per_day,
            days=days,
            decide_on=split_names(decide_on),
            runs=runs,
            seed=seed,
            n_jobs=jobs,
            progress=advance,
        )
    reading = as_options(str(table.reading))
    if html is not None:
        from headstart.reports.rehearsal_page import write_rehearsal_page

        write_rehearsal_page(found, html, source=mask_secrets(log.source), reading=reading)
    if as_json:
        sys.stdout.write(json.dumps({"reading": reading.splitlines(), **found.to_dict()}) + "\n")
        return
    from headstart.reports.rehearsal_terminal import print_rehearsal

    out.print(f"[dim]{escape(reading)}[/dim]\n", highlight=False)
    print_rehearsal(found, out)
    if html is not None:
        out.print(f"\nThe page is [bold]{escape(str(html))}[/bold].")
