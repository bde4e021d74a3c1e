"""The command line: `headstart --help`. One file a command; a new one is imported here."""

from __future__ import annotations

from typing import Annotated

import typer

from headstart import __version__
from headstart.cli import (
    audit,
    compare,
    decide,
    demo,
    doctor,
    explain,
    learn,
    rehearse,
    reproduce,
    serve,
    start,
    store,
    warm,
)
from headstart.cli.flags import make_plain
from headstart.cli.terminal import app, out, print_error, print_failure
from headstart.cli.wording import as_options
from headstart.errors import HeadstartError
from headstart.extras import brought_by

__all__ = [
    "app", "audit", "compare", "decide", "demo", "doctor", "explain", "learn", "main", "rehearse", "reproduce",
    "serve", "start", "store", "warm",
]  # fmt: skip


def _print_version(is_asked: bool) -> None:
    if is_asked:
        out.print(f"headstart {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


make_plain(app)


def main() -> None:
    """The console script: errors that users can mend are one line, not a traceback."""
    try:
        with brought_by():
            app()
    except HeadstartError as error:
        print_error(as_options(str(error)))
        raise SystemExit(1) from None
    except Exception as error:
        print_failure(error)
        raise SystemExit(1) from None
