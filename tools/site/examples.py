"""Examples: every tutorial as a script and as a notebook, made from its page, so that they cannot drift.

`python -m tools.site.examples` writes them into examples/; tests/test_examples.py says when they are stale. The
page's words become comments or cells of text, its code stays as it is. What a notebook would show below a block, a
script prints, and a picture it keeps as a file.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
_BLOCK = re.compile(r"^```(python|console run)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
_DRAWS = ("plot", "legend")  # methods whose value is a picture, not something to print
_FROM = "Made from {page} by `python -m tools.site.examples`: change it there."
_SHELL = "$ "
_PYPLOT = "import matplotlib.pyplot as plt"


class Piece(NamedTuple):
    """A stretch of a page."""

    kind: str  # text, python or console
    text: str


def find_pages() -> list[Path]:
    """The pages that are programs: the first ten minutes and the tutorials, in the order of their index."""
    index = (ROOT / "docs" / "tutorials" / "index.md").read_text()
    names = re.search(r"```\{toctree\}\n(?::.*\n)*\n(.*?)```", index, re.DOTALL)
    assert names is not None, "the tutorials have a table of contents"
    listed = [ROOT / "docs" / "tutorials" / f"{name}.md" for name in names[1].split()]
    return [ROOT / "docs" / "start" / "ten-minutes.md", *(page.resolve() for page in listed)]


def write_examples() -> dict[str, str]:
    """The text of each file of examples/, by its name."""
    found = {}
    for page in find_pages():
        pieces = list(read_pieces(page))
        found[f"{page.stem}.py"] = write_script(page, pieces)
        found[f"{page.stem}.ipynb"] = write_notebook(page, pieces)
    return found


def read_pieces(page: Path) -> Iterator[Piece]:
    """Text and blocks of a page, in their order; links lead to where they led, seen from examples/."""
    text, end = page.read_text(), 0
    for block in _BLOCK.finditer(text):
        yield from _as_text(text[end : block.start()], page)
        yield Piece(block[1].removesuffix(" run"), block[2].strip("\n"))
        end = block.end()
    yield from _as_text(text[end:], page)


def _as_text(text: str, page: Path) -> Iterator[Piece]:
    def lead(link: re.Match[str]) -> str:
        target = os.path.relpath(page.parent / link[2], EXAMPLES)
        return f"{link[1]}{target}{link[3] or ''}{link[4]}"

    if text.strip():
        yield Piece("text", _LINK.sub(lead, text.strip("\n")))


def write_script(page: Path, pieces: list[Piece]) -> str:
    """A program to run as it is; its files and pictures go to the folder that it is run in."""
    title = _title(page)
    lines = [f'"""{title}.', "", _FROM.format(page=page.relative_to(ROOT).as_posix()), '"""', ""]
    if any(piece.kind == "console" for piece in pieces):
        lines += ["import subprocess", ""]
    n_pictures = 0
    for piece in pieces:
        if piece.kind == "text":
            told = piece.text.removeprefix(f"# {title}").strip("\n")
            lines += [f"# {line}".rstrip() for line in told.split("\n")]
        elif piece.kind == "console":
            lines += [
                f"subprocess.run({json.dumps(command)}, shell=True, check=True)" for command in _commands(piece)
            ]
        else:
            lines += _printing(piece.text).split("\n")
            if ".plot(" in piece.text or "plt.subplots" in piece.text:
                n_pictures += 1
                lines += [] if _PYPLOT in lines else [_PYPLOT]
                lines.append(f'plt.savefig("{page.stem}-{n_pictures}.png")')
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _printing(code: str) -> str:
    """The code with its last value printed, where a notebook would show it."""
    last = ast.parse(code).body[-1]
    if not isinstance(last, ast.Expr):
        return code
    called = last.value.func if isinstance(last.value, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    if name == "print" or name in _DRAWS:
        return code
    whole = code.split("\n")
    before, value = whole[: last.lineno - 1], "\n".join(whole[last.lineno - 1 : last.end_lineno])
    return "\n".join([*before, f"print({value})"])


def _commands(piece: Piece) -> list[str]:
    joined = piece.text.replace("\\\n", " ")
    return [line.removeprefix(_SHELL) for line in joined.split("\n") if line.startswith(_SHELL)]


def write_notebook(page: Path, pieces: list[Piece]) -> str:
    """The same as a notebook (nbformat 4.5) that has not been run."""
    origin = _FROM.format(page=page.relative_to(ROOT).as_posix())
    cells = [_cell(page, number, piece) for number, piece in enumerate([*pieces, Piece("text", f"*{origin}*")])]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _cell(page: Path, number: int, piece: Piece) -> dict[str, object]:
    text = "\n".join(f"!{command}" for command in _commands(piece)) if piece.kind == "console" else piece.text
    identity = hashlib.sha256(f"{page.stem} {number}".encode()).hexdigest()[:8]
    source = text.splitlines(keepends=True)
    if piece.kind == "text":
        return {"cell_type": "markdown", "id": identity, "metadata": {}, "source": source}
    return {
        "cell_type": "code", "execution_count": None, "id": identity, "metadata": {}, "outputs": [], "source": source,
    }  # fmt: skip


def _title(page: Path) -> str:
    return page.read_text().split("\n", 1)[0].removeprefix("# ").strip()


def main() -> None:
    EXAMPLES.mkdir(exist_ok=True)
    for name, text in write_examples().items():
        (EXAMPLES / name).write_text(text)
        print(f"examples/{name}")


if __name__ == "__main__":
    main()
