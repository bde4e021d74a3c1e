"""The console script, and `python -m headstart`: the command line, or what to type where it is not installed."""

from __future__ import annotations

import sys

from headstart.errors import MissingExtraError
from headstart.extras import brought_by


def run_command_line() -> None:
    """The command line is an extra, so its absence is told without it."""
    try:
        with brought_by("cli"):
            from headstart.cli import main
    except MissingExtraError as error:
        sys.exit(f"Error: the command line is an extra, and {error}")
    main()


if __name__ == "__main__":
    run_command_line()
