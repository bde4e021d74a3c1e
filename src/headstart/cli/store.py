"""`headstart store`: verifying and exporting what the decision service has recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headstart.cli.terminal import app, out
from headstart.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from headstart.serve.store.store import Store

store = typer.Typer(help="What the decision service has recorded: verify it, export it.", no_args_is_help=True)
app.add_typer(store, name="store")

_FORMATS = ("jsonl", "dsjson", "parquet")
Place = Annotated[str, typer.Argument(help="The service's TOML, a SQLite file, or postgresql://...", metavar="STORE")]


def _open(place: str) -> Store:
    try:
        from headstart.serve.config import load_config
        from headstart.serve.engine.opening import open_store
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "a part of the service", "serve") from None

    address = load_config(place).store if place.endswith(".toml") else place
    if "://" not in address and not Path(address).is_file():
        raise OptionError(f"there is no store at {address}")
    return open_store(address)


@store.command()
def verify(place: Place) -> None:
    """Fold every event again from the first and compare: decisions, outcomes, snapshots, bit for bit.

    Exit code 0 if the store is sound, 1 if not. It may run beside the service.
    """
    opened = _open(place)
    try:
        from headstart.serve.engine.verification import verify_store

        verdict = verify_store(opened)
    finally:
        opened.close()
    for fault in verdict.faults:
        out.print(f"[red]fault[/red] {fault}", highlight=False)
    out.print(
        f"{verdict.events:,} events: {verdict.decisions:,} decisions, {verdict.decided_again:,} of them made again; "
        f"{verdict.outcomes:,} outcomes; {verdict.snapshots:,} snapshots compared; {verdict.n_faults:,} faults.",
        highlight=False,
    )
    if not verdict.is_sound:
        raise typer.Exit(1)


@store.command()
def export(
    place: Place,
    experiment: Annotated[str, typer.Argument(help="Whose decisions.")],
    file: Annotated[Path, typer.Option("--out", help="Where to.")],
    format: Annotated[str, typer.Option(help="jsonl, dsjson or parquet.")] = "jsonl",
) -> None:
    """Write decisions joined to their outcomes: the next log, which [bold]headstart audit[/bold] reads."""
    if format not in _FORMATS:
        raise typer.BadParameter(f"--format must be one of {', '.join(_FORMATS)}, got {format}")
    opened = _open(place)
    try:
        from headstart.serve.engine.export import export_rows, read_fold
        from headstart.serve.store.reader import Reader
        from headstart.serve.telling.formats import as_dsjson, as_jsonl, write_parquet

        fold = read_fold(opened, experiment)
        rows = export_rows(Reader(opened.query), fold)
        with file.open("wb") as stream:
            if format == "parquet":
                write_parquet(rows, fold.config, stream)
            else:
                labels = [str(label) for label in fold.config.actions]
                stream.writelines((as_jsonl if format == "jsonl" else as_dsjson)(rows, labels))
    finally:
        opened.close()
