"""`headstart decide`: an action for each user of a table, tonight, with the propensity it was drawn with."""

from __future__ import annotations

import json
import sys
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.markup import escape
from rich.table import Table

from headstart.cli.log_options import LogOptions
from headstart.cli.terminal import AsJson, Seed, app, out, print_error, progress_bar, split_names
from headstart.cli.wording import as_options
from headstart.errors import HeadstartError, OptionError

if TYPE_CHECKING:
    from headstart.judgement.start.gain import Gain
    from headstart.logs.tables.users import UserTable
    from headstart.parts.policy import Policy
    from headstart.parts.tables.account import DecisionAccount

_LOG = "If it is a log"
_MOST_ACTIONS = 20  # of the table that is printed: those that most users get


def _of_log(help: str, takes: str | None = "<column>") -> Any:  # what typer makes of an option has no type
    return typer.Option(help=help, metavar=takes, rich_help_panel=_LOG)


_Source = Annotated[
    str,
    typer.Argument(metavar="POLICY_OR_LOG", help="A policy's file, which --save or headstart learn wrote, or a log."),
]
_Unseen = Annotated[
    str,
    typer.Option(
        help="What to do about a category that the log never showed: [bold]warn[/bold] or [bold]error[/bold]."
    ),
]
_Save = Annotated[
    Path | None,
    typer.Option(
        help="Where to write the policy, which remembers that the outcomes of these decisions are still to come: for "
        "headstart learn, or more users."
    ),
]
_Available = Annotated[
    str | None, typer.Option(help="The column of the actions that a user may get: a list, or text like a|b.")
]
_Keep = Annotated[str | None, typer.Option(help="Columns to hand on; if not given, those that are decided on.")]
_Floor = Annotated[
    float,
    typer.Option(help="The share of users who get an action by lot, for the next log's sake.", min=0.0, max=1.0),
]
_Salt = Annotated[
    str | None, typer.Option(help="What draws depend on besides the id; if not given, the policy's digest.")
]
_DecideOn = Annotated[str | None, _of_log("Columns to decide on; if not given, one rule for all users.", "<columns>")]
_Contexts = Annotated[str | None, _of_log("Columns known before the decision; if not given, all.", "<columns>")]
_Confounders = Annotated[str | None, _of_log("Columns to adjust for that decisions may not look at.", "<columns>")]
_Where = Annotated[
    list[str] | None, _of_log("Only rows with this value; may be given several times.", "<column=value>")
]


@app.command("decide")
def decide_table(
    source: _Source,
    users: Annotated[str, typer.Argument(metavar="USERS", help="A table of users: CSV, Parquet or JSON lines.")],
    target: Annotated[Path, typer.Option("--out", help="Where the decisions go: .parquet, .csv or .jsonl.")],
    id: Annotated[str | None, typer.Option(help="The column that names a user; [bold]id[/bold] by default.")] = None,
    available: _Available = None,
    keep: _Keep = None,
    vector: Annotated[bool, typer.Option("--vector", help="Also write the chance of every action.")] = False,
    floor: _Floor = 0.0,
    salt: _Salt = None,
    unseen: _Unseen = "warn",
    save: _Save = None,
    decide_on: _DecideOn = None,
    action: Annotated[str | None, _of_log("The column of the action taken.")] = None,
    outcome: Annotated[str | None, _of_log("The column of what happened.")] = None,
    contexts: _Contexts = None,
    confounders: _Confounders = None,
    propensity: Annotated[str | None, _of_log("The column of the chance of the action taken.")] = None,
    unit: Annotated[str | None, _of_log("The column that says whose a row of the log is.")] = None,
    timestamp: Annotated[str | None, _of_log("The column of the time of the decision.")] = None,
    where: _Where = None,
    missing: Annotated[str, _of_log("What becomes of missing contexts: fill, drop or error.", None)] = "fill",
    format: Annotated[str | None, _of_log("Where the name does not tell: csv, parquet, jsonl ...", None)] = None,
    query: Annotated[str | None, _of_log("For a database, instead of a table.", None)] = None,
    horizon: Annotated[int | None, _of_log("Users to come; if not given, those of the table.", None)] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Decide for a table of users: action and propensity, one row for each, in their order.

    [dim]headstart decide yesterday.csv customers.parquet --out tonight.parquet --save offer.policy[/dim]
    starts from a log; [dim]headstart decide offer.policy customers.parquet --out tonight.parquet[/dim] goes on with a
    policy.

    The same id gets the same action, whatever the order of the table. All users are decided before any outcome has
    come: no more of them get an action in order to learn about it than is worth it, and the summary says how many and
    why. The file is there as a whole or not at all. When the outcomes have come, [dim]headstart learn[/dim] is next.
    """
    told = (contexts, confounders, propensity, unit, timestamp)
    log = LogOptions(source, action, outcome, *told, None, where, missing, format, query)
    asked = {"id": id, "available": available, "keep": split_names(keep), "vector": vector, "floor": floor}
    try:
        start = _Start(log, split_names(decide_on), horizon, seed, save)
        account, gain = _decide(start, users, target, {**asked, "salt": salt, "unseen": unseen})
    except HeadstartError as error:
        print_error(as_options(str(error)))
        raise typer.Exit(1) from None
    _print_json(account, gain) if as_json else _print(account, gain, target)


class _Start(NamedTuple):
    """How a policy begins, if it is not a file."""

    log: LogOptions
    decide_on: list[str] | None
    horizon: int | None
    seed: int
    save: Path | None


def _decide(start: _Start, users: str, target: Path, asked: dict[str, Any]) -> tuple[DecisionAccount, Gain | None]:
    from headstart.logs.tables.users import open_users
    from headstart.parts.tables.writing import check_target

    check_target(target)
    table = open_users(users)
    if not is_policy(start.log.source):
        policy = _begin(start, table)
    else:
        policy = load_policy(start.log.source)
    decisions = policy.decide(table, **asked)
    absent = [name for name in decisions.rule.names.asked.columns if name not in decisions.schema.names]
    if start.save is not None and absent:
        raise OptionError(f"--save needs the columns that are decided on; add {', '.join(absent)} to --keep")
    gain = _gain(policy, decisions)
    with progress_bar("decide", decisions.n_users) as advance:
        account = decisions.write(target, progress=advance)
    if start.save is not None:
        policy.expect_outcomes(target, id=decisions.rule.asked.id)
        policy.save(start.save)
    return account, gain


def is_policy(source: str) -> bool:
    """Whether a file is a policy's: any other is a log."""
    path = Path(source)
    return path.suffix == ".policy" or (path.is_file() and zipfile.is_zipfile(path))


def load_policy(source: str | Path) -> Policy:
    """The policy of a file."""
    from headstart.parts.files import load
    from headstart.parts.policy import Policy

    policy = load(source)
    if not isinstance(policy, Policy):
        raise OptionError(f"{source}: a {type(policy).__name__} does not decide for tables")
    return policy


def _begin(asked: _Start, table: UserTable) -> Policy:
    from headstart.judgement.start.start import start

    with warnings.catch_warnings():  # the audit within says what they say
        warnings.filterwarnings("ignore", category=UserWarning, module="headstart")
        horizon = _horizon(asked.horizon, table)
        return start(asked.log.scan(), decide_on=asked.decide_on, horizon=horizon, rng=asked.seed)


def _horizon(horizon: int | None, table: UserTable) -> int | None:
    if horizon is not None or table.n_rows is not None:
        return horizon or table.n_rows or None
    return sum(rows.num_rows for rows in table.read(table.columns[:1])) or None


def _gain(policy: Policy, decisions: Any) -> Gain | None:
    from headstart.judgement.start.gain import expected_gain
    from headstart.judgement.start.started import Started

    return expected_gain(policy, decisions) if isinstance(policy, Started) else None


def _print(account: DecisionAccount, gain: Gain | None, target: Path) -> None:
    shown = Table(box=None, pad_edge=False)
    for name in ("action", "users", "share"):
        shown.add_column(name, justify="left" if name == "action" else "right")
    counted = list(zip(account.action_names, account.counts.tolist(), strict=True))
    many = len(counted) > _MOST_ACTIONS
    first = sorted(counted, key=lambda pair: -pair[1])[:_MOST_ACTIONS] if many else counted
    for label, n in first:
        shown.add_row(escape(str(label)), f"{n:,}", f"{n / max(account.n_users, 1):.1%}")
    if many:
        n = account.n_users - sum(n for _, n in first)
        shown.add_row(f"{len(counted) - len(first):,} others", f"{n:,}", f"{n / max(account.n_users, 1):.1%}")
    out.print(f"{account.n_users:,} users decided: [bold]{escape(str(target))}[/bold]\n", highlight=False)
    out.print(shown)
    out.print("")
    for line in [
        account.why,
        *([] if gain is None else [str(gain)]),
        f"Draws follow from each id and the salt {account.salt}: give it as --salt to draw the same again.",
    ]:
        out.print(escape(line), highlight=False)
    for line in account.warnings:
        out.print(f"[yellow]Warning:[/yellow] {escape(line)}", highlight=False)


def _print_json(account: DecisionAccount, gain: Gain | None) -> None:
    told = {
        "users": account.n_users,
        "actions": {str(k): n for k, n in zip(account.action_names, account.counts.tolist(), strict=True)},
        "exploring": account.n_exploring,
        "why": account.why,
        "gain": None if gain is None else gain._asdict(),
        "salt": account.salt,
        "warnings": list(account.warnings),
    }
    sys.stdout.write(json.dumps(told) + "\n")
