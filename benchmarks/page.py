"""The page of benchmarks: what was measured, by which command, when and on what; what was not, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypedDict

from benchmarks.catalogue import BENCHMARKS, Benchmark

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "results" / "benchmarks.json"
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- python -m benchmarks writes from here -->", "<!-- to here -->"


class Record(TypedDict, total=False):
    """What a benchmark printed, and the circumstances."""

    output: str
    when: str  # a day, or words where nobody wrote it down
    on: str  # the machine and the versions
    problem: str  # why the last attempt failed; "output", if there is one, is of an earlier one


def read_records(path: Path = RECORDS) -> dict[str, Record]:
    """What is known of each benchmark, by its name."""
    found: dict[str, Record] = json.loads(path.read_text()) if path.exists() else {}
    return found


def write_records(records: Mapping[str, Record], path: Path = RECORDS) -> None:
    """In the order of the catalogue, so that a benchmark that is run again changes its own lines."""
    kept = {each.name: records[each.name] for each in BENCHMARKS if each.name in records}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def write_page(records: Mapping[str, Record], path: Path = PAGE) -> None:
    """Put the tables between the two marks; the rest of the page is written by hand."""
    text = path.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    told = "\n".join(line for each in BENCHMARKS for line in _tell(each, records.get(each.name)))
    path.write_text(f"{before}{BEGIN}\n\n{told}\n{END}{after}")


def _tell(benchmark: Benchmark, record: Record | None) -> Iterator[str]:
    yield from (f"### {benchmark.title}", "", benchmark.says, "", f"`python -m {benchmark.command}`", "")
    if record is not None and "output" in record:
        yield from (as_markdown(record["output"]), "", f"Run {record['when']}, {record['on']}.", "")
    if record is None:
        yield from (f"**Not run yet.** It takes about {benchmark.minutes:g} min.", "")
    elif "problem" in record:
        yield from (f"**Not run again:** {record['problem']}.", "")


def as_markdown(output: str) -> str:
    """What a benchmark printed: tables as they are, columns of text word for word."""
    text = output.strip("\n")
    return text if "\n|---" in text else f"```text\n{text}\n```"
