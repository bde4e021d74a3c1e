"""`headstart audit`: is this log worth anything, and can it be trusted?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from headstart.addresses import mask_secrets
from headstart.cli.log_options import LogOptions, takes_log
from headstart.cli.terminal import AsJson, Seed, app, check_page, out, progress_bar
from headstart.cli.wording import as_options


@app.command("audit")
@takes_log
def audit_log(
    log: LogOptions,
    population: Annotated[
        Path | None, typer.Option(help="A file of the users to come, with the same context columns.")
    ] = None,
    horizon: Annotated[int, typer.Option(help="Users to come, for the value of the log.", min=1)] = 10_000,
    sample: Annotated[int, typer.Option(help="Rows for what needs rows; sums are over all.", min=2)] = 50_000,
    seed: Seed = 0,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Also write a page with figures; it needs no other file.")] = None,
) -> None:
    """Is this log worth anything, and can it be trusted? A verdict with reasons, then the numbers.

    [dim]headstart audit clicks.parquet[/dim] recognises common column names and says which;
    [dim]headstart audit clicks.csv --action ad --outcome click --contexts age,city --html report.html[/dim] is told;
    [dim]headstart audit postgresql://me@host/shop::clicks[/dim] asks a database.

    The verdict is [bold]use it[/bold], [bold]use it with a cap[/bold] or [bold]do not use it[/bold]; the exit code is
    0 whatever it is, and 1 if the log cannot be read.
    """
    from headstart.judgement.audit.audit import STEPS, audit

    if html is not None:
        check_page(html)
    if population is not None and not population.exists():
        raise typer.BadParameter(f"--population {population} does not exist")
    with progress_bar("audit", STEPS + 1) as advance:
        table = log.scan()
        advance(1)
        found = audit(table, horizon=horizon, population=population, n_sample=sample, seed=seed, progress=advance)
    reading = as_options(str(table.reading))
    if html is not None:
        from headstart.reports.audit_page import write_page

        write_page(found, html, source=mask_secrets(log.source), reading=reading)
    if as_json:
        sys.stdout.write(json.dumps({"reading": reading.splitlines(), **found.as_dict()}) + "\n")
        return
    from headstart.reports.audit_terminal import print_audit

    out.print(f"[dim]{escape(reading)}[/dim]\n", highlight=False)
    print_audit(found, out)
    if html is not None:
        out.print(f"\nThe page is [bold]{escape(str(html))}[/bold].")
