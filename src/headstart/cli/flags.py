"""Flags in the help: an option that takes no value has none after its name."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def _without_values(params: list[Any]) -> list[Any]:  # typer's own kinds of parameters
    for each in params:
        if getattr(each, "is_flag", False):
            each.metavar = ""  # typer would write <bool>
    return params


class PlainCommand(TyperCommand):
    """A command whose flags stand alone."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, help included."""
        return _without_values(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """The same for a group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, help included."""
        return _without_values(super().get_params(ctx))


def make_plain(app: typer.Typer) -> None:
    """Have every command and group of this app write its flags alone, and take -h for --help."""
    app.info.cls = PlainGroup
    for command in app.registered_commands:
        command.cls = PlainCommand
    for group in app.registered_groups:
        group.cls = PlainGroup
        if group.typer_instance is not None:
            make_plain(group.typer_instance)
