"""`headstart doctor`: what is installed, where compiled code is kept, and what to do about what is wrong."""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rich.markup import escape

from headstart import __version__
from headstart.cli.terminal import AsJson, app, out
from headstart.extras import EXTRAS

_WEIGHTY = ("numpy", "numba", "scipy", "scikit-learn", "duckdb", "pyarrow", "ibis-framework")


class Kept(NamedTuple):
    """The folder of compiled code: how many compositions it holds, how large they are."""

    folder: str
    compositions: int
    megabytes: float
    reason: str  # why it is not the usual folder; "": it is


@app.command("doctor")
def examine_installation(as_json: AsJson = False) -> None:
    """Print versions, the folder of compiled code and the optional parts, and what to do about what is wrong.

    [dim]headstart doctor[/dim]
    """
    from headstart.kernels import is_compiling

    kept, extras = _look_at_kept(), _missing_by_extra()
    advice = _advise(kept, is_compiling=is_compiling())
    if as_json:
        told = {
            "headstart": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cores": os.cpu_count(),
            "versions": _versions(),
            "kernels": kept._asdict(),
            "is_compiling": is_compiling(),
            "missing": {extra: modules for extra, modules in extras.items() if modules},
            "advice": advice,
        }
        sys.stdout.write(json.dumps(told) + "\n")
        return
    rows = [
        (
            "headstart",
            f"{__version__}, Python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} cores",
        ),
        ("versions", ", ".join(f"{name} {version}" for name, version in _versions().items())),
        ("compiled code", f"{kept.folder}: {kept.compositions} compositions, {kept.megabytes:.0f} MB"),
        *[(f"[{extra}]", _say_extra(extra, missing)) for extra, missing in extras.items()],
    ]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        out.print(f"{escape(name):{width + name.count('[')}}  {escape(text)}", highlight=False, soft_wrap=True)
    for line in advice or ["Nothing is wrong."]:
        out.print(escape(line), highlight=False, soft_wrap=True)


def _say_extra(extra: str, missing: list[str]) -> str:
    if not missing:
        return "is installed"
    return f"lacks {', '.join(missing)}: pip install 'headstart[{extra}]'"


def _look_at_kept() -> Kept:
    from headstart.kernels.keeping import find_code_folder

    found = find_code_folder()
    files = [path for path in Path(found.folder).rglob("*") if path.is_file()]
    compositions = {path.relative_to(found.folder).parts[0] for path in files if path.suffix == ".nbc"}
    return Kept(str(found.folder), len(compositions), sum(path.stat().st_size for path in files) / 1e6, found.reason)


def _missing_by_extra() -> dict[str, list[str]]:
    """The modules that each extra brings and that are not there."""
    return {extra: [name for name in modules if find_spec(name) is None] for extra, modules in EXTRAS.items()}


def _versions() -> dict[str, str]:
    """Of what the numbers come from; an extra's, where it is installed."""
    return {name: metadata.version(name) for name in _WEIGHTY if _is_installed(name)}


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _advise(kept: Kept, *, is_compiling: bool) -> list[str]:
    advice = []
    if kept.reason:
        advice.append(
            f"Compiled code is kept among temporary files: {kept.reason}. Name a folder that lasts, e.g. "
            "export NUMBA_CACHE_DIR=/var/cache/headstart"
        )
    if not is_compiling:
        advice.append("NUMBA_DISABLE_JIT is set: everything runs, a hundred times slower. Unset it.")
    elif not kept.compositions:
        advice.append("Nothing is compiled yet, so the first decision takes seconds: run headstart warm.")
    return advice
