"""`headstart store`: verifying, exporting, backing up and restoring what the decision service has recorded."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from headstart.cli.terminal import app, out
from headstart.errors import OptionError
from headstart.extras import brought_by

if TYPE_CHECKING:
    from headstart.serve.engine.anchor import Anchored
    from headstart.serve.store.store import Query, Store

store = typer.Typer(
    help="What the decision service has recorded: verify it, export it, back it up.", no_args_is_help=True
)
app.add_typer(store, name="store")

_FORMATS = ("jsonl", "dsjson", "parquet")
Place = Annotated[str, typer.Argument(help="The service's TOML, a SQLite file, or postgresql://...", metavar="STORE")]


def _address(place: str) -> tuple[str, Path | None]:
    """The address of a store, and where its anchor would be."""
    with brought_by("serve"):
        from headstart.serve.config import load_config
    if place.endswith(".toml"):
        config = load_config(place)
        return config.store, None if config.anchor is None else Path(config.anchor)
    return place, None if "://" in place else Path(f"{place}.anchor")


def _reading(address: str) -> AbstractContextManager[Query]:
    from headstart.serve.store.read_only import reading

    return reading(address)


def open_reading(place: str) -> AbstractContextManager[Query]:
    """A store to look at, by its configuration or its address."""
    return _reading(_address(place)[0])


@store.command()
def verify(
    place: Place,
    anchor: Annotated[
        Path | None, typer.Option(help="The anchor to compare with; the configuration's or the file's by default.")
    ] = None,
    archive: Annotated[Path | None, typer.Option(help="Where the archive's files are, if they were moved.")] = None,
) -> None:
    """Fold every event again from the first and compare: decisions, outcomes, snapshots, bit for bit.

    The store is only read. Its anchor, a small file outside it, says how far it had come: a store behind it has lost
    events. Exit code 0 if the store is sound, 1 if not. It may run beside the service.
    """
    address, beside = _address(place)
    with _reading(address) as query:
        from headstart.serve.engine.verification import verify_store

        verdict = verify_store(query, anchored=_read_anchor(anchor, beside), archive_folder=archive)
    for fault in verdict.faults:
        out.print(f"[red]fault[/red] {escape(str(fault))}", highlight=False)
    for name, head in verdict.heads.items():
        out.print(f"{name}: event {head.sequence:,}, hash {head.hash}", highlight=False)
    out.print(
        f"{verdict.events:,} events: {verdict.decisions:,} decisions, {verdict.decided_again:,} of them made again; "
        f"{verdict.outcomes:,} outcomes; {verdict.snapshots:,} snapshots compared; {verdict.n_faults:,} faults.",
        highlight=False,
    )
    if verdict.archived:
        out.print(f"{verdict.archived:,} of the events are in archives, which are what was written.", highlight=False)
    for lack in verdict.away:
        out.print(f"[yellow]away[/yellow] {escape(lack)}", highlight=False, soft_wrap=True)
    if verdict.redacted:
        out.print(
            f"{verdict.redacted:,} decisions were erased, as events of the chain say; {verdict.clouded:,} others "
            "were made by a policy that had learnt from them, and only their draws are checked.",
            highlight=False,
        )
    if not verdict.is_sound:
        raise typer.Exit(1)


def _read_anchor(given: Path | None, beside: Path | None) -> Anchored | None:
    from headstart.serve.engine.anchor import read_anchor

    if given is not None and not given.is_file():
        raise OptionError(f"there is no anchor at {given}")
    place = given or beside
    return None if place is None else read_anchor(place)


@store.command()
def diff(
    place: Annotated[Path, typer.Argument(help="The service's TOML.", metavar="CONFIG")],
) -> None:
    """Say what a start or a reload with this configuration would change; nothing is written.

    Logs are read and audited as they would be. Exit code 1 if the configuration cannot be taken.
    """
    address, _ = _address(str(place))
    _check_there(address)
    with _reading(address) as query:
        from headstart.serve.config import load_config
        from headstart.serve.engine.alterations import find_alterations

        found = find_alterations(query, load_config(place))
    for each in found:
        out.print(f"{escape(each.experiment)}: {escape(each.says)}", highlight=False, soft_wrap=True)
        for change in each.changes:
            out.print(f"  {escape(change)}", highlight=False, soft_wrap=True)
    if any(each.is_refused for each in found):
        raise typer.Exit(1)


@store.command()
def accept(
    place: Place,
    reason: Annotated[str, typer.Option(help="Why; it is kept in every experiment's events.")],
) -> None:
    """Go on with a store that lacks events it once had: every server folds it anew.

    Use it when the service says that its store has gone back (an old copy, a standby that lagged, a lost write-ahead
    log) and the missing events cannot be brought back.
    """
    import getpass

    from headstart.serve.engine.acceptance import accept_history
    from headstart.serve.engine.opening import open_store

    address, _ = _address(place)
    _check_there(address)
    with closing(open_store(address)) as opened:
        accepted = accept_history(opened, reason, by=getpass.getuser())
    for name, sequence in accepted.items():
        out.print(f"{name}: goes on from event {sequence:,}.", highlight=False)


@store.command()
def backup(
    place: Place,
    file: Annotated[Path, typer.Argument(help="A new SQLite file.", metavar="FILE")],
) -> None:
    """Copy a store into a new SQLite file while the service runs; the copy is checked before it has its name."""
    from headstart.serve.store.backup import back_up

    address, _ = _address(place)
    n = back_up(address, file)
    out.print(f"{n:,} events are in {file}, and each follows the one before it.", highlight=False)


@store.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A backup.", metavar="FILE")],
    place: Annotated[str, typer.Argument(help="The service's TOML, a path, or postgresql://...", metavar="STORE")],
) -> None:
    """Make a store of a backup. It never writes over one: move the old store away first.

    What was recorded after the backup is not in it, so a new epoch begins: servers fold anew instead of refusing.
    """
    from headstart.serve.store.backup import restore as restore_store

    address, _ = _address(place)
    n = restore_store(file, address)
    out.print(f"{n:,} events were restored.", highlight=False)


@store.command()
def archive(
    place: Place,
    folder: Annotated[Path, typer.Option("--out", help="Where the Parquet files go; they must stay readable there.")],
    experiment: Annotated[str | None, typer.Argument(help="One of them; all, if none is named.")] = None,
    before: Annotated[str | None, typer.Option(help="A date or time (UTC): what is older goes.")] = None,
    keep: Annotated[float | None, typer.Option(help="Or the number of days that stay.")] = None,
) -> None:
    """Move old events into Parquet files; the service goes on from a checkpoint, and asks the files where it must.

    It may run beside the service. An archived decision is over: its event id is free, an outcome that is reported for
    it is kept as dangling. A unit keeps its action. [bold]verify[/bold] and [bold]export[/bold] read the files.
    """
    import getpass

    from headstart.serve.engine.archiving import archive_events
    from headstart.serve.store.questions import READ_NAMES

    limit, (address, _) = _read_limit(before, keep), _address(place)
    _check_there(address)
    with closing(_open_patiently(address)) as opened:
        names = [name for (name,) in opened.query(READ_NAMES)] if experiment is None else [experiment]
        for name in names:
            files = archive_events(opened, name, limit, folder.resolve(), {"by": getpass.getuser()})
            n = sum(file.through - file.after for file in files)
            out.print(f"{name}: {n:,} events are in {len(files)} new files.", highlight=False)
        opened.shrink()


def _read_limit(before: str | None, keep: float | None) -> int:
    """Microseconds since 1970."""
    from datetime import UTC, datetime, timedelta

    if (before is None) == (keep is None):
        raise typer.BadParameter("give either --before or --keep: which events are old?")
    if keep is not None:
        return round((datetime.now(UTC) - timedelta(days=keep)).timestamp() * 1e6)
    try:
        moment = datetime.fromisoformat(before or "")
    except ValueError:
        raise typer.BadParameter(f"--before must be a date or a time, such as 2026-12-01, got {before}") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e6)


def _open_patiently(address: str) -> Store:
    from headstart.serve.engine.opening import open_store

    return open_store(address, 60.0)  # seconds that PostgreSQL may take for a stretch: no user waits for it


@store.command()
def erase(
    place: Place,
    experiment: Annotated[str, typer.Argument(help="Whose decisions.")],
    unit: Annotated[str | None, typer.Option(help="The person: every decision of this unit.")] = None,
    event_id: Annotated[str | None, typer.Option(help="Or one decision; a unit's, if it has one.")] = None,
    reason: Annotated[str, typer.Option(help="Why; it is kept, so it must not say who.")] = "",
) -> None:
    """Forget a person: contexts and the unit's name are overwritten; propensities, actions and outcomes stay.

    It may run beside the service, whose policy is then built anew without these contexts. The store is written anew
    at the end, so that nothing is left between its pages. Backups made before still hold what they hold.
    """
    import getpass

    from headstart.serve.engine.asks import check_event_id
    from headstart.serve.engine.erasing import erase_person
    from headstart.serve.engine.opening import open_store
    from headstart.serve.units import Unit, check_unit

    if (unit is None) == (event_id is None):
        raise typer.BadParameter("give either --unit or --event-id: whose contexts are meant?")
    of = check_event_id(event_id) if unit is None else Unit(check_unit(unit))
    address, _ = _address(place)
    _check_there(address)
    with closing(open_store(address)) as opened:
        n = erase_person(opened, experiment, of, {"reason": reason, "by": getpass.getuser()})
        if n:
            opened.shrink()
    out.print(f"{n:,} decisions of {experiment} have no context any more.", highlight=False)


def _check_there(address: str) -> None:
    if "://" not in address and not Path(address).is_file():
        raise OptionError(f"there is no store at {address}")


@store.command()
def export(
    place: Place,
    experiment: Annotated[str, typer.Argument(help="Whose decisions.")],
    file: Annotated[Path, typer.Option("--out", help="The file to write.")],
    format: Annotated[str, typer.Option(help="jsonl, dsjson or parquet.")] = "jsonl",
) -> None:
    """Write decisions joined to their outcomes: the next log, which [bold]headstart audit[/bold] reads.

    In dsjson, the format of Vowpal Wabbit, an action is a number: [dim]headstart audit FILE --action tag[/dim] reads
    the names.
    """
    if format not in _FORMATS:
        raise typer.BadParameter(f"--format must be one of {', '.join(_FORMATS)}, got {format}")
    address, _ = _address(place)
    with _reading(address) as query:
        from headstart.serve.engine.export import Export
        from headstart.serve.telling.formats import as_dsjson, as_jsonl, write_parquet

        rows = Export(query, experiment)
        with file.open("wb") as stream:
            if format == "parquet":
                write_parquet(rows, stream)
            else:
                stream.writelines((as_jsonl if format == "jsonl" else as_dsjson)(rows))
        left_out = ", those without an outcome left out" if format == "dsjson" else ""
        out.print(
            f"{rows.n_read:,} decisions of {escape(experiment)}, {rows.n_outcomes:,} of them with an outcome, are in "
            f"[bold]{escape(str(file))}[/bold]{left_out}.",
            highlight=False,
        )
