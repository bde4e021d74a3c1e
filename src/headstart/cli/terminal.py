"""What every command shares: the app, the consoles, common options, the progress bar."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from headstart.addresses import mask_secrets
from headstart.extras import check_extra

app = typer.Typer(
    name="headstart",
    help="A bandit that starts with what the log already knows.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
CORES = os.cpu_count() or 1
out = Console()
err = Console(stderr=True)

Seed = Annotated[int, typer.Option(help="Every number printed follows from it.", min=0)]
Jobs = Annotated[int, typer.Option(help="Threads. The numbers do not depend on it.", min=1)]

AsJson = Annotated[bool, typer.Option("--json", help="Everything as one JSON object, nothing else.")]


def print_error(text: str) -> None:
    """In one line, word for word: brackets are no markup, and passwords are nobody's business."""
    err.print(f"[bold red]Error:[/bold red] {escape(mask_secrets(text))}", highlight=False)


def print_failure(error: Exception) -> None:
    """A mistake of this program's own, or of something below it: one sentence, and the details in a file."""
    handle, name = tempfile.mkstemp(prefix="headstart-failure-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(mask_secrets("".join(traceback.format_exception(error))))
    said = (str(error).strip().splitlines() or ["it did not say why"])[0]
    print_error(
        f"headstart failed where it should not have: {said}. What a programmer needs to mend it is in {name}."
    )


def split_names(names: str | None) -> list[str] | None:
    """A list as one writes it in an option: a, b."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


_TOLD_EVERY = 15.0  # seconds, where there is no terminal


@contextmanager
def progress_bar(what: str, steps: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error: gone when done; where nobody watches, a line now and then."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=steps)
        done, told = 0, time.monotonic()

        def advance(n: int) -> None:
            nonlocal done, told
            bar.advance(task, n)
            done += n
            if not err.is_terminal and time.monotonic() - told > _TOLD_EVERY:
                told = time.monotonic()
                err.print(f"{what}: {done:,} of {steps:,}", highlight=False, markup=False)

        yield advance


def check_writable(path: Path) -> None:
    """Fail before the work, not after it, where a figure cannot be drawn or written."""
    check_extra("plot")
    if path.suffix not in (".png", ".svg"):
        raise typer.BadParameter(f"{path} must end in .png or .svg")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"the folder {path.parent} does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written")


def check_page(path: Path) -> None:
    """Fail before the work, not after it, where a page cannot be drawn or written."""
    check_extra("plot")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"the folder {path.parent} does not exist")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written")
