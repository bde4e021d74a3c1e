"""The help in words: flags stand alone, options say what they take, and paragraphs fit the terminal."""

from __future__ import annotations

import inspect
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

_WORDS = {  # typer would write <str>, <int range>, <list[str]>
    "<str>": "<text>",
    "<list[str]>": "<text>",
    "<path>": "<file>",
    "<int>": "<number>",
    "<int range>": "<number>",
    "<float>": "<number>",
    "<float range>": "<number>",
}


def _in_words(params: list[Any], ctx: Any) -> list[Any]:  # typer's own kinds of parameters
    for each in params:
        if isinstance(each, TyperArgument):
            each.metavar = (each.metavar or each.name or "").upper()
            # The name says what it is; typer would write {LOG} and <str>.
            each._usage_display_name = _usage_of(each)  # type: ignore[method-assign]
            each.display_type_rich = lambda ctx: ""  # type: ignore[method-assign]
        elif getattr(each, "is_flag", False):
            each.metavar = ""  # typer would write <bool>
        elif each.metavar is None:
            shown = each.display_type(ctx)
            each.metavar = _WORDS.get(shown, shown)
        if each.__dict__.get("min") is not None or each.__dict__.get("max") is not None:
            each._get_number_range_help_str = _range_of(each)
    return params


def _usage_of(argument: TyperArgument) -> Any:
    shown = argument.metavar if argument.required else f"[{argument.metavar}]"
    return lambda: shown


def _range_of(option: Any) -> Any:
    low, high = option.min, option.max
    shown = f"{low:g} or more" if high is None else f"{high:g} or less" if low is None else f"{low:g} to {high:g}"
    return lambda: shown


class PlainCommand(TyperCommand):
    """A command whose help speaks in words."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, help included."""
        return _in_words(super().get_params(ctx), ctx)


class PlainGroup(TyperGroup):
    """The same for a group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, help included."""
        return _in_words(super().get_params(ctx), ctx)


def reflow(text: str) -> str:
    """A docstring as the terminal can break it: one line a paragraph, and each example on a line of its own."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        lines: list[str] = []
        for line in paragraph.splitlines():
            is_example = line.startswith("[dim]headstart")
            lines = [*lines, line] if is_example or not lines else [*lines[:-1], f"{lines[-1]} {line}"]
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def make_plain(app: typer.Typer) -> None:
    """Have every command and group of this app speak in words, and take -h for --help."""
    app.info.cls = PlainGroup
    for command in app.registered_commands:
        command.cls = PlainCommand
        if command.help is None and command.callback is not None:
            command.help = reflow(inspect.getdoc(command.callback) or "")
    for group in app.registered_groups:
        group.cls = PlainGroup
        if group.typer_instance is not None:
            make_plain(group.typer_instance)
