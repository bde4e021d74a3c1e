"""The pages: a list of experiments, one page each, one for a decision. They carry their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import orjson

from headstart import __version__

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("headstart.serve.telling.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )


def render_index(reports: Sequence[Mapping[str, object]]) -> str:
    """The list of experiments."""
    return _environment().get_template("index.html").render(reports=reports, version=__version__)


def render_experiment(report: Mapping[str, object]) -> str:
    """One experiment."""
    text = orjson.dumps(report).decode().replace("<", "\\u003c")  # no text can end the script element
    return _environment().get_template("experiment.html").render(report=report, report_json=text, version=__version__)


def render_decision(told: Mapping[str, object]) -> str:
    """One decision."""
    return _environment().get_template("decision.html").render(told=told, version=__version__)
