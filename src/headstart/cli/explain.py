"""`headstart explain`: why a user gets an action, by a policy's file or by a decision of the service."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from headstart.cli.decide import is_policy, load_policy
from headstart.cli.store import open_reading
from headstart.cli.terminal import AsJson, app, out, print_error
from headstart.cli.wording import as_options
from headstart.errors import ContextError, HeadstartError, OptionError
from headstart.extras import brought_by

if TYPE_CHECKING:
    from headstart.parts.explanation import Explanation
    from headstart.serve.telling.one_decision import OneDecision

_SERVICES = ("http://", "https://")


@app.command("explain")
def explain_action(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A policy's file; or where a decision is recorded: the service's TOML, its store (a SQLite file, "
            "postgresql://...) or the address of a running service, http://...",
        ),
    ],
    event_id: Annotated[
        str | None, typer.Argument(metavar="EVENT_ID", help="The decision's event id, as the service answered it.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Of a policy's file: the user as JSON, such as '{\"age\": 31}'.")
    ] = None,
    action: Annotated[
        str | None, typer.Option(help="Of a policy's file: the action to explain; the likeliest by default.")
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(help="The experiment that decided; all are asked by default.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="A key with the scope read, for a running service.", envvar="HEADSTART_KEY")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say why a user gets an action: what the log says, what users said since, what is still worth finding out.

    [dim]headstart explain offer.policy --user '{"age": 31}'[/dim]
    asks a policy that [bold]headstart decide --save[/bold] or [bold]headstart learn[/bold] wrote.

    [dim]headstart explain ads.toml 6f0c2e[/dim]
    asks about a decision of the service, as its page says it: the chances are those of the time, the reasons are as
    of now. A store is only read; [dim]headstart explain http://127.0.0.1:8000 6f0c2e[/dim] asks the service itself.
    """
    try:
        if is_policy(source):
            _print_policy(_explain_policy(source, user, action, event_id), as_json=as_json)
        else:
            _print_decision(_explain_decision(source, event_id, experiment, key), as_json=as_json)
    except HeadstartError as error:
        print_error(as_options(str(error)))
        raise typer.Exit(1) from None


def _explain_policy(source: str, user: str | None, action: str | None, event_id: str | None) -> Explanation:
    if event_id is not None:
        raise OptionError(f"{source} is a policy and records no decisions: give --user, not an event id")
    try:
        return load_policy(source).explain(_read_user(user), action=action)
    except ContextError as error:
        if user is not None:
            raise
        raise OptionError(f"which user? give --user, such as '{{\"age\": 31}}' ({error})") from None


def _read_user(user: str | None) -> dict[str, Any] | None:
    if user is None:
        return None
    try:
        read = json.loads(user)
    except json.JSONDecodeError as error:
        raise OptionError(f"--user must be JSON, e.g. '{{\"age\": 31}}', got {user!r:.80}: {error.msg}") from None
    if not isinstance(read, dict):
        raise OptionError(f"--user must be an object of columns, e.g. '{{\"age\": 31}}', got {user!r:.80}")
    return read


def _explain_decision(source: str, event_id: str | None, experiment: str | None, key: str | None) -> OneDecision:
    if event_id is None and "://" not in source and not Path(source).exists():
        raise OptionError(f"{source}: no such file")
    if event_id is None:
        raise OptionError(
            f"which decision? give its event id, as the service answered it ({source} is not a policy's file, which "
            "would need none)"
        )
    with brought_by("serve"):
        from headstart.serve.client import ask_about_decision
        from headstart.serve.telling.stored_decision import tell_stored
    if source.startswith(_SERVICES):
        return ask_about_decision(source, event_id, experiment=experiment, key=key)
    with open_reading(source) as query:
        return tell_stored(query, event_id, experiment)


def _print_policy(told: Explanation, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({**asdict(told), "cases": [case._asdict() for case in told.cases]}) + "\n")
        return
    out.print(escape(repr(told)), highlight=False, soft_wrap=True)


def _print_decision(told: OneDecision, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(told) + "\n")
        return
    headline = f"Decision {told['event_id']} of {told['experiment']}, {told['time_text']}"
    out.print(escape(headline), style="bold", highlight=False)
    for line in [told["sentence"], *told["why"]]:
        out.print(escape(line), highlight=False, soft_wrap=True)
    shown = Table(box=None, pad_edge=False)
    names = {
        "name": "action", "chance_text": "chance then", "log_text": "by the log", "users_text": "users since",
        "believed_text": f"{told['outcome_name']} expected", "worth_text": "a try is worth",
    }  # fmt: skip
    for name, head in names.items():
        shown.add_column(escape(head), justify="left" if name == "name" else "right")
    for each in told["actions"]:
        shown.add_row(*(escape(str(value)) for name, value in each.items() if name in names))
    out.print(shown)
    for line in told["events"]:
        out.print(escape(line), highlight=False, soft_wrap=True)
