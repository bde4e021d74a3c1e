"""The site's source: docs/ as it is, the root's documents as chapters, references from the program, tutorials run."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.programs import run_program
from tools.site.chapters import split_chapters
from tools.site.command_line import write_command_line
from tools.site.links import Links
from tools.site.public_names import write_names
from tools.site.result_pages import write_results
from tools.site.service import write_configuration, write_http

ROOT = Path(__file__).parent.parent.parent
RUN = ("tutorials", "start")  # folders of docs/ whose pages are programs
_PLACES = {
    "README.md": "index.md",
    "METHODS.md": "methods/index.md",
    "RESULTS.md": "results/index.md",
    "RELIABILITY.md": "reliability.md",
    "ARCHITECTURE.md": "development/architecture.md",
    "CONTRIBUTING.md": "development/contributing.md",
    "CHANGELOG.md": "development/changelog.md",
}


def assemble(out: Path) -> None:
    """Write every page of the site into `out`."""
    shutil.copytree(ROOT / "docs", out)
    chapters = _write_methods(out)
    links = Links({**_PLACES, **{f"METHODS.md#{name}": f"methods/{name}.md" for name in chapters}})
    for name in ("RELIABILITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        _write(out / _PLACES[name], (ROOT / name).read_text())
    _write_all(out / "reference" / "api", write_names())
    _write(out / "reference" / "command-line.md", write_command_line())
    _write(out / "reference" / "configuration.md", write_configuration())
    _write(out / "reference" / "http.md", write_http())
    (out / "results").mkdir()
    _write_all(out / "results", write_results(ROOT / "results", out / "results"))
    run_tutorials([page for folder in RUN for page in sorted((out / folder).glob("*.md"))])
    _relink(out, links)


def run_tutorials(pages: Iterable[Path]) -> None:
    """Run each page in a process of its own, two at a time; it then holds what its code gave."""
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(_run_tutorial, pages))
    failed = [told for told in done if told]
    if failed:
        raise SystemExit("\n".join(failed))


def _run_tutorial(page: Path) -> str:
    done = run_program(f"from tools.site.tutorials import run_page; run_page({str(page)!r}, {str(page)!r})")
    return f"{page.name} does not run:\n{done.stderr}" if done.returncode else ""


def _write_methods(out: Path) -> list[str]:
    first, chapters = split_chapters((ROOT / "METHODS.md").read_text())
    names = [chapter.name for chapter in chapters]
    contents = "\n".join(["```{toctree}", ":maxdepth: 1", "", *names, "```", ""])
    _write(out / "methods" / "index.md", f"{first}\n{contents}")
    for chapter in chapters:
        _write(out / "methods" / f"{chapter.name}.md", chapter.text)
    return names


def _relink(out: Path, links: Links) -> None:
    """Links of every page that came from the repository, as they must be on the site."""
    origins = {place: name for name, place in _PLACES.items() if name != "README.md"}
    for page in out.rglob("*.md"):
        place = page.relative_to(out).as_posix()
        if place.startswith("methods/"):
            origin = "METHODS.md"
        elif place.startswith(("results/", "reference/")) and not (ROOT / "docs" / place).exists():
            continue  # written here, for their places
        else:
            origin = origins.get(place, f"docs/{place}")
        page.write_text(links.rewrite(page.read_text(), origin, place))


def _write_all(folder: Path, pages: Iterable[tuple[str, str]]) -> None:
    for name, text in pages:
        _write(folder / name, text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
