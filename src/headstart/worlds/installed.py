"""Data that came with an installed package: found without importing the package, read without the network."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from pathlib import Path

from headstart.errors import LogError, MissingExtraError


def installed_file(package: str, path: str) -> Path:
    """The file `path` inside an installed package of the extra `trials`."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(package, "trials")
    file = Path(spec.submodule_search_locations[0], path)
    if not file.is_file():
        raise LogError(f"{package} is installed but does not hold {path}: pip install --upgrade 'headstart[trials]'")
    return file


def read_columns(file: Path) -> dict[str, list[str]]:
    """The columns of a CSV file with a header line, as text."""
    with file.open(newline="", encoding="utf-8") as lines:
        rows = csv.reader(lines)
        header = next(rows)
        columns = list(zip(*rows, strict=True))
    return {name: list(column) for name, column in zip(header, columns, strict=True)}
