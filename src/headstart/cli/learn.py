"""`headstart learn`: outcomes have come; the policy learns them and is a new file."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from headstart.cli.decide import load_policy
from headstart.cli.terminal import AsJson, app, out, print_error
from headstart.cli.wording import as_options
from headstart.errors import HeadstartError


@app.command("learn")
def learn_outcomes(
    source: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy that decided.")],
    outcomes: Annotated[
        str, typer.Argument(metavar="OUTCOMES", help="A table of ids and outcomes: CSV, Parquet or JSON lines.")
    ],
    decisions: Annotated[str, typer.Option(help="The decisions, as headstart decide wrote them.")],
    target: Annotated[Path, typer.Option("--out", help="Where the policy goes that has learnt.")],
    id: Annotated[str | None, typer.Option(help="The column that names a user, in both tables.")] = None,
    outcome: Annotated[str, typer.Option(help="The column of the outcome.")] = "outcome",
    default: Annotated[
        float | None,
        typer.Option(help="The outcome of users of whom none came: 0 for clicks; if not given, they are not learnt."),
    ] = None,
    time: Annotated[str | None, typer.Option(help="The column of an outcome's time, for --until.")] = None,
    until: Annotated[str | None, typer.Option(help="The end of the window: what came later is late.")] = None,
    log: Annotated[
        Path | None, typer.Option(help="Also write the decisions with their outcomes: a log for headstart audit.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn what came of decisions, joined by id; each is learnt once, and everything else is counted.

    [dim]headstart learn offer.policy clicks.csv --decisions tonight.parquet --default 0 --out offer-2.policy[/dim]

    The rules are the service's: the first outcome of an id counts, repeated ones change nothing, conflicting, late
    and unknown ones are counted and not learnt. To add outcomes that came later, learn from the first policy again.
    """
    try:
        policy = load_policy(source)
        learnt = policy.learn(
            outcomes, decisions, id=id, outcome=outcome, default=default, time=time, until=until, log=log
        )
        policy.save(target)
    except HeadstartError as error:
        print_error(as_options(str(error)))
        raise typer.Exit(1) from None
    if as_json:
        sys.stdout.write(json.dumps(asdict(learnt)) + "\n")
        return
    out.print(escape(str(learnt)), highlight=False)
    out.print(f"The policy is [bold]{escape(str(target))}[/bold].", highlight=False)
    if log is not None:
        out.print(f"The log is [bold]{escape(str(log))}[/bold].", highlight=False)
