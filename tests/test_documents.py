"""What the documents say is true: snippets run, commands exist, links lead somewhere."""

import importlib
import re
from functools import cache
from pathlib import Path

import pytest
from tools.calling import call_headstart
from tools.programs import run_program

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("**/*.md"))
SNIPPETS = [
    (path.relative_to(ROOT), number, code)
    for path in DOCUMENTS
    if path.name not in ("ARCHITECTURE.md", "METHODS.md")  # theirs are signatures, not programs
    and path.parent.name not in ("tutorials", "start")  # the site runs each as one program: tests/test_site.py
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


run = cache(run_program)  # a snippet is a program of its own, and runs once


@pytest.mark.parametrize(("path", "number", "code"), SNIPPETS, ids=[f"{p}-{n}" for p, n, _ in SNIPPETS])
def test_snippet_runs(path, number, code):
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_the_readme_shows_what_its_snippet_prints():
    """Word for word; lines are broken to fit."""
    pattern = r"```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```"
    ((code, shown),) = re.findall(pattern, (ROOT / "README.md").read_text(), re.DOTALL)
    assert run(code).stdout.split() == shown.split()


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_the_readme_has_snippets():
    assert sum(path.name == "README.md" for path, _, _ in SNIPPETS) >= 2


@pytest.mark.parametrize("path", DOCUMENTS, ids=[p.name for p in DOCUMENTS])
def test_links_lead_to_files(path):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target


NAMED = [*DOCUMENTS, *(path for room in ("src", "benchmarks", "tools") for path in (ROOT / room).rglob("*.py"))]
# The recipes' trial files, which tests/test_recipes.py writes, and what a benchmark and the service write themselves.
NOT_KEPT = {"boltzmann.py", "recent_average.py", "coins.py", "pairs.py", "no_store.py", "peer.py", "headstart.sqlite"}


def _is_there(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    found: object = None
    parts = name.split(".")
    for i, part in enumerate(parts):
        try:
            found = importlib.import_module(".".join(parts[: i + 1]))
        except ImportError:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
    return True


def test_files_that_are_named_exist():
    """Whatever looks like a Python file, in a document, a docstring or a comment, is one of ours."""
    kept = {
        "/".join(parts[i:])
        for room in ("src", "tests", "benchmarks", "tools", "examples", "docs", "deploy")
        for parts in (path.relative_to(ROOT).parts for path in (ROOT / room).rglob("*.py"))
        for i in range(len(parts))
    }
    stale = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in NAMED
        for name in re.findall(r"(?<![\w*/])\w[\w/]*\.py\b", path.read_text())
        if Path(name).name not in NOT_KEPT and name not in kept
    ]
    assert stale == []


def test_modules_that_are_named_exist():
    """Every `headstart.x.y` in a document, a docstring or a comment can be imported or looked up."""
    stale = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in NAMED
        for name in re.findall(r"(?<![\w./])headstart(?:\.[A-Za-z_]\w*)+", path.read_text())
        if name not in NOT_KEPT and not name.endswith((".py", ".md")) and not _is_there(name)
    ]
    assert stale == []


def test_commands_in_the_readme_exist():
    """Every `headstart ...` line names a command and an experiment that are there."""
    from headstart.experiments.running.catalogue import all_experiments

    for line in re.findall(r"^\$ headstart (.*)$", (ROOT / "README.md").read_text(), re.MULTILINE):
        command, *rest = line.split()
        assert call_headstart(command, "--help", cwd=ROOT).returncode == 0, line
        if command == "reproduce" and rest and not rest[0].startswith("-"):
            assert rest[0] in {"all", *all_experiments()}, line


def test_every_public_name_stands_in_methods_or_architecture():
    import headstart as hs

    text = (ROOT / "METHODS.md").read_text() + (ROOT / "ARCHITECTURE.md").read_text()
    missing = [name for name in hs.__all__ if name not in text and not name.islower()]
    assert missing == []
