"""The pages: a list of experiments and one page each. They carry their numbers; the charts read them."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from headstart import __version__


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("headstart.serve.telling.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )


def render_index(reports: list[dict[str, Any]]) -> str:
    """The list of experiments."""
    page: str = _environment().get_template("index.html").render(reports=reports, version=__version__)
    return page


def render_experiment(report: dict[str, Any]) -> str:
    """One experiment."""
    text = orjson.dumps(report).decode().replace("<", "\\u003c")  # no text can end the script element
    page: str = (
        _environment().get_template("experiment.html").render(report=report, report_json=text, version=__version__)
    )
    return page
