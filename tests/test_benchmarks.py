"""The page of benchmarks is what their records say, and what was not run is said not to be."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from benchmarks.__main__ import run
from benchmarks.catalogue import BENCHMARKS, Benchmark
from benchmarks.page import BEGIN, END, PAGE, Record, as_markdown, read_records, write_page, write_records


def test_the_page_is_written_from_the_records(tmp_path: Path):
    copy = tmp_path / "performance.md"
    copy.write_text(PAGE.read_text())
    write_page(read_records(), copy)
    assert copy.read_text() == PAGE.read_text(), "python -m benchmarks --page"


def test_every_benchmark_is_a_command():
    assert len({each.name for each in BENCHMARKS}) == len(BENCHMARKS)
    for each in BENCHMARKS:
        assert find_spec(each.command.split()[0]) is not None


def test_what_was_not_run_says_so_and_what_failed_keeps_its_tables(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nyesterday\n{END}\nafter\n")
    core: Record = {"output": "| a |\n|---|\n| 1 |\n", "when": "2026-01-02", "on": "2 cores", "problem": "no wrk"}
    write_page({"core": core}, page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "yesterday" not in text
    assert "| a |\n|---|\n| 1 |\n\nRun 2026-01-02, 2 cores.\n\n**Not run again:** no wrk.\n" in text
    assert text.count("**Not run yet.**") == len(BENCHMARKS) - 1


def test_a_benchmark_that_fails_is_recorded_with_its_last_words():
    broken = Benchmark("broken", "Broken", "benchmarks.no_such_module", "", 0.0)
    record = run(broken, {"output": "of before\n", "when": "then", "on": "there"})
    assert record["output"] == "of before\n"
    assert "No module named benchmarks.no_such_module" in record["problem"]


def test_columns_of_text_are_told_word_for_word():
    assert as_markdown("\na   b\n1   2\n") == "```text\na   b\n1   2\n```"
    assert as_markdown("\ntitle\n\n| a |\n|---|\n") == "title\n\n| a |\n|---|"


def test_records_are_kept_in_the_order_of_the_page(tmp_path: Path):
    path = tmp_path / "records.json"
    kept: dict[str, Record] = {name: {"problem": name} for name in ("serve", "core", "no longer there")}
    write_records(kept, path)
    assert list(read_records(path)) == ["core", "serve"]
