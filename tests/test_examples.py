"""The examples are what the tutorials say, and can be opened and run."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tools.site.examples import EXAMPLES, find_pages, write_examples

FILES = write_examples()


def test_the_examples_are_those_of_the_tutorials():
    """If this fails: python -m tools.site.examples, and commit what it writes."""
    kept = {path.name: path.read_text() for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}
    assert sorted(kept) == sorted(FILES)
    assert [name for name, text in FILES.items() if kept[name] != text] == []


def test_there_is_a_script_and_a_notebook_for_every_tutorial():
    assert len(find_pages()) == 11
    assert sorted(FILES) == sorted(f"{page.stem}{kind}" for page in find_pages() for kind in (".py", ".ipynb"))


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".ipynb")])
def test_a_notebook_is_one(name: str):
    """What nbformat's schema of version 4.5 asks for: kinds of cells, their fields, ids that differ, lines."""
    notebook = json.loads(FILES[name])
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert {"cells", "metadata", "nbformat", "nbformat_minor"} == set(notebook)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        fields = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            fields |= {"execution_count", "outputs"}
            assert (cell["execution_count"], cell["outputs"]) == (None, [])
        else:
            assert cell["cell_type"] == "markdown"
        assert set(cell) == fields
        assert all(isinstance(line, str) and line.endswith("\n") for line in cell["source"][:-1])
    assert any(cell["cell_type"] == "code" for cell in notebook["cells"])


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".py")])
def test_a_script_is_a_program_with_its_own_code(name: str):
    """Every line of code of the notebook stands in the script, if only within print( )."""
    script = FILES[name]
    ast.parse(script)
    cells = json.loads(FILES[name.replace(".py", ".ipynb")])["cells"]
    code = "".join("".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code")
    for line in code.split("\n"):
        assert line.removeprefix("!") in script or f"print({line})" in script


def test_a_script_runs_as_it_is(tmp_path: Path):
    """One of them, the quickest; the code of all of them is run by tests/test_site.py."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "vowpal-wabbit.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Audit of" in done.stdout
