"""Sphinx, called once: the assembled pages become HTML, and a warning ends the build."""

from __future__ import annotations

import shutil
from pathlib import Path

from sphinx.cmd.build import build_main


def build(source: Path, out: Path) -> None:
    """Build the pages of `source` into `out`, which is made anew."""
    if out.exists():
        shutil.rmtree(out)
    status = build_main(
        ["-b", "html", "-q", "-W", "--keep-going", "-d", str(source / ".doctrees"), str(source), str(out)]
    )
    if status:
        raise SystemExit(status)
