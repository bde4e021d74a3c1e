"""Tutorials run: what a page's code prints, draws and shows stands below it, as in a notebook.

All blocks of a page that begin with ```python are one program, run in order in a scratch folder with warnings as
errors; those that begin with ```console run are commands. `python -m tools.site.tutorials PAGE OUT` runs one.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import os
import re
import shlex
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from tools.calling import call_headstart

_BLOCK = re.compile(r"^```(python|console run)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_COLUMNS = 84  # of the terminal that commands print to


class Page:
    """A tutorial while it runs: its names, its figures."""

    def __init__(self, path: Path, out: Path) -> None:
        self._path, self._out = path, out
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._n_figures = 0

    def run(self) -> str:
        """The page's text with what its blocks gave."""
        return _BLOCK.sub(self._run_block, self._path.read_text())

    def _run_block(self, block: re.Match[str]) -> str:
        kind, code = block.groups()
        if kind != "python":
            return f"```console\n{code}```\n{_show_text(_run_commands(code), 'terminal')}"
        printed, value = self._execute(code, self._path.read_text()[: block.start()].count("\n") + 1)
        return block.group() + _show_text(printed) + self._show_value(value) + self._show_figures()

    def _execute(self, code: str, line: int) -> tuple[str, object]:
        """What it prints, and the value of its last line if that is an expression."""
        tree = ast.parse("\n" * line + code, str(self._path))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, str(self._path), "exec"), self._names)
            value = None
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), str(self._path), "eval"), self._names)
        return printed.getvalue(), value

    def _show_value(self, value: object) -> str:
        if value is None or type(value).__module__.startswith("matplotlib"):
            return ""
        shown = getattr(value, "_repr_html_", None)
        return _show_text(f"{value!r}\n") if shown is None else _show(shown())

    def _show_figures(self) -> str:
        plt = sys.modules.get("matplotlib.pyplot")
        if plt is None:  # nothing has drawn
            return ""
        shown = ""
        for number in plt.get_fignums():
            self._n_figures += 1
            name = f"{self._path.stem}-{self._n_figures}.svg"
            plt.figure(number).savefig(self._out.parent / name, metadata={"Date": None})
            shown += f"\n![A figure that the code above drew]({name})\n"
        plt.close("all")
        return shown


def _run_commands(lines: str) -> str:
    """What the commands after each $ print."""
    printed = ""
    os.environ |= {"COLUMNS": str(_COLUMNS), "NO_COLOR": "1"}
    for command in re.findall(r"^\$ headstart (.*(?:(?<=\\)\n.*)*)", lines, re.MULTILINE):
        done = call_headstart(*shlex.split(command.replace("\\\n", " ")), cwd=Path.cwd())
        if done.returncode:
            raise SystemExit(f"headstart {command}: {done.stderr}")
        printed += done.stdout
    return printed


def _show_text(text: str, kind: str = "printed") -> str:
    return _show(f'<pre class="{kind}">{html.escape(text.rstrip())}</pre>') if text.strip() else ""


def _show(content: str) -> str:
    """HTML below a block; blank lines would end it for a Markdown reader, so they are kept from it."""
    return f'\n```{{raw}} html\n<div class="shown">{content}</div>\n```\n'


def run_page(page: str, out: str) -> None:
    """Run a page in a folder of its own, and write it with what it gave."""
    warnings.simplefilter("error")
    import matplotlib

    matplotlib.use("Agg")
    source, target = Path(page).resolve(), Path(out).resolve()
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        text = Page(source, target).run()
    target.write_text(text)


if __name__ == "__main__":
    run_page(sys.argv[1], sys.argv[2])
