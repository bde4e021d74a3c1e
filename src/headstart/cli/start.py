"""headstart start: no command does that; who types it is told which ones do."""

from __future__ import annotations

import typer

from headstart.cli.terminal import app
from headstart.errors import OptionError

_ANY = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command("start", hidden=True, context_settings=_ANY)
def refuse_start(context: typer.Context) -> None:
    """Which commands start from a log."""
    raise OptionError(
        "start is a function, hs.start(log), in Python; from the command line, headstart decide LOG USERS --out FILE "
        "starts from a log and decides for a table of users, and headstart serve CONFIG does for one user at a time"
    )
