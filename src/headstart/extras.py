"""Extras: which optional part of headstart brings a module, and what to type where it is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from headstart.errors import MissingExtraError

EXTRAS: dict[str, tuple[str, ...]] = {  # by the names that are imported; pyproject.toml has the packages
    "logs": ("pyarrow", "duckdb", "ibis"),
    "plot": ("matplotlib",),
    "cli": ("typer", "rich"),
    "serve": (
        "starlette", "uvicorn", "httptools", "h11", "orjson", "jinja2", "anyio", "plotly", "prometheus_client",
        "httpx",
    ),
    "postgres": ("psycopg",),
    "databases": ("psycopg", "pandas"),
    "openfeature": ("openfeature",),
    "xgboost": ("xgboost",),
    "trials": ("lifelines", "causaldata", "causallib", "pandas"),
}  # fmt: skip


def find_extra(module: str, likely: str | None = None) -> str | None:
    """The extra that brings this module: `likely` where it does, else the first that does; None if none does.

    Examples
    --------
    >>> from headstart.extras import find_extra
    >>> find_extra("matplotlib.pyplot"), find_extra("pandas"), find_extra("pandas", likely="trials"), find_extra("os")
    ('plot', 'databases', 'trials', None)
    """
    package = module.partition(".")[0]
    bringing = [extra for extra, modules in EXTRAS.items() if package in modules]
    return likely if likely in bringing else next(iter(bringing), None)


@contextmanager
def brought_by(extra: str | None = None) -> Iterator[None]:
    """Around the import of an optional module, or around all that makes one: where it is missing, what to type.

    A module that stands in several extras is of `extra`. One that stands in none is not ours to explain.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = error.name or ""
        named = find_extra(module, extra)
        if named is None:
            raise
        raise MissingExtraError(module.partition(".")[0], named) from None


def check_extra(extra: str) -> None:
    """Fail before the work, not after it, where what it ends with is not installed."""
    for module in EXTRAS[extra]:
        if find_spec(module) is None:
            raise MissingExtraError(module, extra)
