"""`headstart serve` and `headstart keys`: the decision service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from headstart.cli.terminal import app, err, out
from headstart.extras import brought_by

if TYPE_CHECKING:
    from headstart.serve.engine.starting import StartState


@app.command()
def serve(
    config: Annotated[Path, typer.Argument(help="A TOML file that declares the experiments: see docs/serve.md.")],
    host: Annotated[
        str | None, typer.Option(help="Instead of the configuration's; 0.0.0.0 is everyone, and needs keys.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Instead of the configuration's; 0 takes a free one.")] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error; JSON lines on stderr.")] = "info",
) -> None:
    """Decide for live users over HTTP, starting from a log. A reply is sent after its event is on the disk.

    [dim]headstart serve ads.toml[/dim] prints the address; open it in a browser to watch.
    """
    with brought_by("serve"):
        from headstart.serve.http.server import run_service
        from headstart.serve.options import ServerOptions
    from headstart.addresses import mask_secrets
    from headstart.kernels.keeping import find_code_folder
    from headstart.serve.config import load_config

    if log_level not in ("debug", "info", "warning", "error"):
        raise typer.BadParameter(f"--log-level must be debug, info, warning or error, got {log_level}")
    service = load_config(config)
    options = ServerOptions.read(service.server)
    if host is not None:
        options = replace(options, host=host)
    if port is not None:
        options = replace(options, port=port)

    names = ", ".join(service.experiments)
    is_cold = not any(path.is_dir() for path in find_code_folder().folder.iterdir())
    compiling = ", and code is compiled: a minute, once on this machine" if is_cold else ""
    opening = err.status(escape(f"Opening {names}: logs are read and audited, events folded{compiling} ..."))

    def tell(listening: int, starts: Mapping[str, StartState | None]) -> None:
        opening.stop()
        store = escape(mask_secrets(service.store))
        out.print(f"Deciding for {names} at [bold]http://{options.host}:{listening}[/bold] (store: {store}).")
        for name, start in starts.items():
            _print_start(name, start)

    with opening:  # on a terminal; silent elsewhere, where standard error is JSON lines
        run_service(service, options, read_config=lambda: load_config(config), log_level=log_level, on_ready=tell)


def _print_start(name: str, start: StartState | None) -> None:
    """What an experiment starts from; what somebody must look at in red."""
    from headstart.serve.engine.starting import is_loud, tell_start

    lines = ["starts without a log"] if start is None else tell_start(start)
    told = escape("\n  ".join([f"{name}: {lines[0]}", *lines[1:-1]]))
    out.print(told, highlight=False, soft_wrap=True)
    if start is not None:
        style = "bold red" if is_loud(start) else "bold"
        out.print(f"  {lines[-1]}", style=style, highlight=False, markup=False, soft_wrap=True)


@app.command()
def reload(
    url: Annotated[str, typer.Argument(help="Where the service is, as [bold]headstart serve[/bold] prints it.")],
    key: Annotated[str | None, typer.Option(help="A key with the scope admin.", envvar="HEADSTART_KEY")] = None,
) -> None:
    """Have a running service read its configuration again: keys, limits, experiments. So does SIGHUP.

    An error in the file changes nothing.
    """
    with brought_by("serve"):
        from headstart.serve.client import reload_service

    for name, what in reload_service(url, key=key).items():
        out.print(f"{name}: {what}", highlight=False, markup=False)


@app.command()
def resume(
    url: Annotated[str, typer.Argument(help="Where the service is, as [bold]headstart serve[/bold] prints it.")],
    experiment: Annotated[str, typer.Argument(help="The experiment.")],
    guardrail: Annotated[str, typer.Argument(help="The guardrail that has tripped.")],
    reason: Annotated[str, typer.Option(help="Why: it is recorded, and stands on the page.")] = "",
    key: Annotated[str | None, typer.Option(help="A key with the scope admin.", envvar="HEADSTART_KEY")] = None,
) -> None:
    """Have a policy decide again after a guardrail has tripped. The guardrail begins anew."""
    with brought_by("serve"):
        from headstart.serve.client import resume_guardrail

    sequence = resume_guardrail(url, experiment, guardrail, reason, key=key)
    told = f"resumed, event {sequence}" if sequence else f"the guardrail {guardrail} had not tripped"
    out.print(f"{experiment}: {told}", highlight=False, markup=False)


keys = typer.Typer(help="API keys for the decision service.", no_args_is_help=True)
app.add_typer(keys, name="keys")


@keys.command("new")
def new_key(
    name: Annotated[str, typer.Argument(help="Who will use it: letters, digits and -.")],
    scopes: Annotated[str, typer.Option(help="Comma-separated: decide, outcome, read, admin.")] = "decide,outcome",
) -> None:
    """Make an API key. The secret is shown once; the configuration keeps its hash."""
    with brought_by("serve"):
        from headstart.serve.http.access import draw_key

    secret, key = draw_key(name, tuple(scope.strip() for scope in scopes.split(",") if scope.strip()))
    split_names = ", ".join(f'"{scope}"' for scope in sorted(key.scopes))
    out.print(f"The key, shown only now:\n\n  {secret}\n", soft_wrap=True, highlight=False, markup=False)
    out.print("For the configuration:\n", highlight=False)
    line = f'  [keys]\n  {name} = {{ sha256 = "{key.sha256}", scopes = [{split_names}] }}'
    out.print(line, soft_wrap=True, highlight=False, markup=False)
