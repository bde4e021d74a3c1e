"""The command line's reference, read off the program itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from headstart.cli import app


def write_command_line() -> str:
    """One page: every command with its arguments, options and defaults."""
    root: Any = typer.main.get_command(app)
    lines = [
        "# The command line",
        "",
        f"{_plain(root.help)} This page is written from the program; `headstart COMMAND --help` prints the same.",
        "",
        "| command | what it answers |",
        "|---|---|",
    ]
    commands = list(_commands("headstart", root))
    lines += [
        f"| [`{name}`](#{name.replace(' ', '-')}) | {_first_sentence(command.help)} |" for name, command in commands
    ]
    for name, command in commands:
        lines += ["", *_write_command(name, command)]
    return "\n".join(lines) + "\n"


def _commands(prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if getattr(command, "commands", None):
            yield from _commands(f"{prefix} {name}", command)
        else:
            yield f"{prefix} {name}", command


def _write_command(name: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if not each.opts[0].startswith("-")]
    options = [each for each in command.params if each.opts[0].startswith("-") and not each.hidden]
    asked = " ".join(_metavar(each) for each in arguments)
    yield f"## {name}"
    yield ""
    yield from (f"```console\n$ {name} {asked}{' [OPTIONS]' if options else ''}\n```", "", _plain(command.help), "")
    if arguments:
        yield from ("| argument | what it is |", "|---|---|")
        yield from (f"| `{_metavar(each)}` | {_plain(each.help, in_table=True)} |" for each in arguments)
        yield ""
    if options:
        yield from ("| option | what it does | if not given |", "|---|---|---|")
        yield from (
            f"| `{_spelling(each)}` | {_plain(each.help, in_table=True)} | {_default(each)} |" for each in options
        )
        yield ""


def _metavar(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _spelling(option: Any) -> str:
    names = ", ".join(option.opts)
    if option.is_flag:
        return f"{names} / {option.secondary_opts[0]}" if option.secondary_opts else names
    return f"{names} {option.metavar or 'VALUE'}"


def _default(option: Any) -> str:
    value = option.default() if callable(option.default) else option.default
    if value in (None, "", [], ()) or (option.is_flag and not value):
        return "required" if option.required else ""
    return f"`{value}`" if option.name != "jobs" else "all cores"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?])\s", _plain(text, in_table=True))[0]


def _plain(text: str | None, *, in_table: bool = False) -> str:
    """Help in Markdown: the terminal's marks become code or bold type."""
    words = re.sub(r"\[dim\](.*?)\[/dim\]", r"`\1`", text or "", flags=re.DOTALL)
    words = re.sub(r"\[bold\](.*?)\[/bold\]", r"`\1`", words, flags=re.DOTALL)
    words = re.sub(r"<(?=\w)", "&lt;", words).replace("\b", "")
    return " ".join(words.split()).replace("|", r"\|") if in_table else words
