"""A stranger's first hour: the mistakes that everybody makes, and what the terminal says to them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.calling import call_headstart
from typer.main import get_command

from headstart.cli import app, main, terminal
from headstart.cli.flags import reflow
from headstart.numerals import more, signed

ADS = ("red", "green", "blue")


def write_log(path: Path, outcome: str = "{:.2f}", *, ads: tuple[str, ...] = ADS, n: int = 60) -> None:
    rows = [",".join((ads[i % len(ads)], outcome.format(5.0 + i % 7), str(20 + i % 13))) for i in range(n)]
    path.write_text("\n".join(["ad,revenue,age", *rows]) + "\n")


def words(text: str) -> str:
    return " ".join(re.sub(r"[╭╮╰╯│─]", " ", text).split())


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("{}%", "write the number without the percent sign, 5.0"),
        ("${:,.2f}", "write the number alone, without currency, unit or thousands separators"),
        ("{:.2f} EUR", "write the number alone, without currency, unit or thousands separators"),
        ("yes{:.0f}", "write numbers in its place, such as 1 for yes and 0 for no"),
        ("20{:02.0f}-01-02", "the outcome must be a number, it is date"),
    ],
)
def test_an_outcome_that_is_no_number_says_what_to_write(outcome: str, said: str, tmp_path: Path):
    write_log(tmp_path / "log.csv", outcome, n=14)
    done = call_headstart("audit", "log.csv", "--action", "ad", "--outcome", "revenue", cwd=tmp_path)
    assert done.returncode == 1
    assert said in words(done.stderr)


def test_a_decimal_comma_is_named(tmp_path: Path):
    rows = "\n".join(f"{ADS[i % 3]};{i},5;{20 + i}" for i in range(20))
    (tmp_path / "log.csv").write_text(f"ad;revenue;age\n{rows}\n")
    done = call_headstart("audit", "log.csv", "--action", "ad", "--outcome", "revenue", cwd=tmp_path)
    assert "write a decimal point where it has a comma, 0.5" in words(done.stderr)


def test_a_log_too_small_to_count_says_so_and_not_that_it_counts_for_0_users(tmp_path: Path):
    write_log(tmp_path / "log.csv", "1")
    done = call_headstart("audit", "log.csv", "--action", "ad", "--outcome", "revenue", cwd=tmp_path)
    assert "too small, or too noisy, to count for even one user's outcome" in words(done.stdout)
    assert "no more than 0 users" not in words(done.stdout)
    write_log(tmp_path / "log.csv", n=5)
    done = call_headstart(
        "rehearse", "log.csv", "--action", "ad", "--outcome", "revenue", "--users-per-day", "5", cwd=tmp_path
    )
    assert "a log of 5 rows is too small to draw worlds from" in words(done.stderr)


def test_one_action_is_nothing_to_compare(tmp_path: Path):
    write_log(tmp_path / "log.csv", ads=("red",))
    done = call_headstart("compare", "log.csv", "--action", "ad", "--outcome", "revenue", cwd=tmp_path)
    assert done.returncode == 1
    assert "only one action, red: there is nothing to compare" in words(done.stderr)


def test_no_word_of_a_table_is_cut_at_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ads = ("free shipping", "nothing", "ten percent")
    write_log(tmp_path / "log.csv", ads=ads, n=120)
    monkeypatch.setenv("COLUMNS", "80")
    done = call_headstart("audit", "log.csv", "--action", "ad", "--outcome", "revenue", cwd=tmp_path)
    for word in ("effective", "adjusted", "virtual", "interval"):
        assert re.search(rf"\b{word}\b", done.stdout), word


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rehearse", "log.csv", "--users-per-day", "5", "--decide-on", "town"), "--decide-on names 'town'"),
        (("audit", "log.csv", "--missing", "no"), "--missing must be 'fill', 'drop' or 'error'"),
        (("compare", "log.csv", "--split", "when"), "--split must be 'random' or 'time'"),
    ],
)
def test_an_option_is_called_as_it_was_typed(arguments: tuple[str, ...], said: str, tmp_path: Path):
    write_log(tmp_path / "log.csv")
    done = call_headstart(*arguments, "--action", "ad", "--outcome", "revenue", cwd=tmp_path)
    assert done.returncode == 1
    assert said in words(done.stderr)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("explain", "nofile"), "nofile: no such file"),
        (("learn", "log.csv", "log.csv", "--decisions", "log.csv", "--out", "x.policy"), "headstart learn write one"),
    ],
)
def test_what_is_no_policy_is_told_without_python(arguments: tuple[str, ...], said: str, tmp_path: Path):
    write_log(tmp_path / "log.csv")
    done = call_headstart(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert said in words(done.stderr)
    assert "policy.save" not in done.stderr


def test_a_failure_of_our_own_is_a_sentence_and_the_details_are_in_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    def fail() -> None:
        raise RuntimeError("the floor gave way")

    monkeypatch.setattr("headstart.cli.app", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(terminal.err, "_width", 400)
    with pytest.raises(SystemExit):
        main()
    told = capsys.readouterr().err
    assert "failed where it should not have: the floor gave way" in told
    assert "Traceback" not in told
    (file,) = tmp_path.glob("headstart-failure-*.txt")
    assert "RuntimeError" in file.read_text()


def commands(group: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = getattr(group, "commands", None)
    return [path] if inner is None else [each for name, sub in inner.items() for each in commands(sub, (*path, name))]


@pytest.mark.parametrize("path", commands(get_command(app)), ids=" ".join)
def test_help_is_in_words(path: tuple[str, ...], tmp_path: Path):
    """-h works, no type of Python's is shown, and arguments stand as they are typed."""
    done = call_headstart(*path, "-h", cwd=tmp_path)
    assert done.returncode == 0
    for python in ("<str>", "<int", "<float", "<path>", "<bool>", "list[", "x>=", "{", "policy.save"):
        if python == "{" and path == ("explain",):
            continue  # a user, as JSON
        assert python not in done.stdout, python


def test_paragraphs_flow_and_examples_stand_alone():
    text = "What it does,\nand why.\n\n[dim]headstart a[/dim] is short;\n[dim]headstart b[/dim] is\nlonger."
    assert reflow(text) == (
        "What it does, and why.\n\n[dim]headstart a[/dim] is short;\n[dim]headstart b[/dim] is longer."
    )


def test_gains_in_words():
    assert [signed(value) for value in (3.2, -3.2, 3e-15, -3e-15, 12_345.0)] == ["+3.2", "-3.2", "0", "0", "+12,345"]
    assert [more(value) for value in (3.2, -3.2, -3e-15)] == ["3.2 more", "3.2 less", "as much"]
