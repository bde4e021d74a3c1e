"""A log on the command line: where it is and what its columns are, the same for every command that reads one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from headstart.cli.terminal import print_error, split_names
from headstart.cli.wording import as_options
from headstart.errors import HeadstartError

if TYPE_CHECKING:
    from headstart.logs.log import Log
    from headstart.logs.tables.table import LogTable

_PANEL = "The log"


def _option(help: str, takes: str | None = None) -> Any:  # what typer makes of an option has no type
    return typer.Option(help=help, metavar=None if takes is None else f"<{takes}>", rich_help_panel=_PANEL)


@dataclass(frozen=True)
class LogOptions:
    """The options of a log, as they are given."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="A file, a folder or a quoted pattern (CSV, Parquet, JSON lines, Vowpal Wabbit ...), or a table of "
            "a database: [bold]log.duckdb::clicks[/bold], [bold]log.sqlite::clicks[/bold], "
            "[bold]postgresql://me@host/db::clicks[/bold].",
        ),
    ]
    action: Annotated[str | None, _option("The column of the action taken.", "column")] = None
    outcome: Annotated[str | None, _option("The column of what happened.", "column")] = None
    contexts: Annotated[
        str | None,
        _option(
            "Columns to decide on, known before the decision: [bold]age,city[/bold]; if not given, all.", "columns"
        ),
    ] = None
    confounders: Annotated[
        str | None,
        _option("Columns to adjust for that decisions may not look at: [bold]agent,shop[/bold].", "columns"),
    ] = None
    propensity: Annotated[
        str | None,
        _option("The column of the chance of the action taken; [bold]none[/bold] to estimate it anyway.", "column"),
    ] = None
    unit: Annotated[
        str | None,
        _option(
            "The column that says whose a row is (user_id): rows of one unit are not independent; "
            "[bold]none[/bold] if all are.",
            "column",
        ),
    ] = None
    timestamp: Annotated[
        str | None, _option("The column of the time of the decision; [bold]none[/bold] if there is none.", "column")
    ] = None
    id: Annotated[
        str | None,
        _option(
            "The column that names a row: one that comes again is dropped; [bold]none[/bold] to keep all.", "column"
        ),
    ] = None
    where: Annotated[
        list[str] | None,
        _option("Only rows with this value, [bold]position=1[/bold]; may be given several times.", "column=value"),
    ] = None
    missing: Annotated[
        str,
        _option(
            help="What becomes of missing contexts: [bold]fill[/bold] (the mean and a mark; a category of its own), "
            "[bold]drop[/bold] (the rows) or [bold]error[/bold]."
        ),
    ] = "fill"
    format: Annotated[
        str | None, _option(help="Where the name does not tell: csv, tsv, parquet, jsonl, vw, dsjson ...")
    ] = None
    query: Annotated[
        str | None,
        _option(help='For a database, instead of a table: [bold]"SELECT * FROM clicks WHERE day > 3"[/bold].'),
    ] = None

    def scan(self) -> LogTable:
        """The log where it lies."""
        from headstart.logs.tables import scan_log

        return scan_log(self.source, **self._as_call())

    def read(self) -> Log:
        """The log in memory, in the order of time."""
        from headstart.logs.tables import read_log

        return read_log(self.source, **self._as_call())

    def _as_call(self) -> dict[str, Any]:  # of scan_log, which checks it
        return {
            "action": self.action,
            "outcome": self.outcome,
            "contexts": split_names(self.contexts),
            "confounders": split_names(self.confounders),
            "propensity": _column_or_none(self.propensity),
            "unit": _column_or_none(self.unit),
            "timestamp": _column_or_none(self.timestamp),
            "id": _column_or_none(self.id),
            "where": _as_where(self.where or []),
            "missing": self.missing,
            "format": self.format,
            "query": self.query,
        }


def takes_log(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose first parameter is LogOptions, with all of them as options of its own.

    What is wrong with the log is said in their words: `--format`, not `format=`.
    """
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]  # one of them may have no default
    hints = get_type_hints(LogOptions, include_extras=True)
    taken = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if field.name == "source" else field.default,
            annotation=hints[field.name],
        )
        for field in fields(LogOptions)
    ]

    @functools.wraps(command)
    def run(**given: object) -> None:
        options = {field.name: given.pop(field.name) for field in fields(LogOptions)}
        try:
            command(LogOptions(**options), **given)  # type: ignore[arg-type]  # typer has checked them
        except HeadstartError as error:
            print_error(as_options(str(error)))
            raise typer.Exit(1) from None

    parameters = [*taken, *own]
    signature = inspect.Signature(parameters)
    return _with_signature(run, signature, {each.name: each.annotation for each in parameters})


def _with_signature(
    run: Callable[..., None], signature: inspect.Signature, annotations: Mapping[str, Any]
) -> Callable[..., None]:
    vars(run).pop("__wrapped__")
    vars(run)["__signature__"] = signature
    run.__annotations__ = dict(annotations)
    return run


def _column_or_none(name: str | None) -> str | Literal[False] | None:
    """The column that an option names; "none" is an answer too."""
    return False if name == "none" else name


def _as_where(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for (column, mark, _), text in zip(pairs, given, strict=True):
        if not mark or not column:
            raise typer.BadParameter(f"--where must be column=value, got {text!r}")
    return {column.strip(): value for column, _, value in pairs}
