"""`headstart audit`, run as a user would."""

import json

import numpy as np
import pytest
from tools.calling import call_headstart

from tests.judgement.audit.planted import Making, scaled, shifted_users

NAMES = np.array(["banner", "video", "carousel"])


def headstart(*arguments, cwd):
    return call_headstart("audit", *arguments, cwd=cwd)


def write_csv(path, log, header="arm,reward,pscore,age,likes,visits,height"):
    columns = [NAMES[log.actions], log.outcomes, log.propensities, *log.contexts.T]
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([header, *lines]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    log, _ = Making(n=2000).draw(0)
    write_csv(folder / "healthy.csv", log)
    write_csv(folder / "half.csv", scaled(0, 0.5, Making(n=2000)))
    users = "\n".join(",".join(map(str, row)) for row in shifted_users(0, 1.5, n=500))
    (folder / "users.csv").write_text("age,likes,visits,height\n" + users + "\n")
    return folder


def words(done):
    return " ".join((done.stdout + done.stderr).replace("│", " ").split())


def test_the_verdict_comes_first_and_what_was_recognised_is_said(folder):
    done = headstart("healthy.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = words(done)
    for part in ("arm (recognised)", "reward (recognised)", "pscore (recognised)", "USE IT", "No check found"):
        assert part in text
    assert text.index("USE IT") < text.index("What the log knows of each action") < text.index("The tipping point")
    assert "carousel" in text


def test_a_bad_log_exits_with_0_and_says_why(folder):
    done = headstart("half.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "DO NOT USE IT" in done.stdout
    assert "2 times too small" in words(done)


def test_json_is_the_whole_audit_and_nothing_else(folder):
    done = headstart("healthy.csv", "--json", "--horizon", "500", "--seed", "3", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"]["decision"] == "use it"
    assert found["facts"]["n_rows"] == 2000
    assert (found["facts"]["horizon"], found["facts"]["seed"]) == (500, 3)
    assert found["facts"]["action_names"] == ["banner", "carousel", "video"]
    assert {"actions", "overlap", "propensities", "calibration", "balance", "refutations", "leakage"} <= found.keys()
    assert found["reading"][0].startswith("healthy.csv")


def test_columns_can_be_named_and_propensities_left_out(folder):
    arguments = ("--action", "arm", "--outcome", "reward", "--contexts", "age, likes", "--propensity", "none")
    found = json.loads(headstart("healthy.csv", *arguments, "--json", cwd=folder).stdout)
    assert found["facts"]["context_names"] == ["age", "likes"]
    assert found["facts"]["propensities"] == "estimated"


def test_the_population_is_compared(folder):
    found = json.loads(headstart("healthy.csv", "--population", "users.csv", "--json", cwd=folder).stdout)
    assert found["population"]["n_users"] == 500
    assert found["verdict"]["reasons"][0]["rule"] == "other users"


def test_the_page_needs_nothing_else_and_fits_a_phone(folder, browser):
    done = headstart("healthy.csv", "--population", "users.csv", "--html", "report.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "report.html" in done.stdout
    page = (folder / "report.html").read_text()
    assert "<script" not in page
    for outside in ("http://", "https://"):
        assert f'src="{outside}' not in page
        assert f'href="{outside}' not in page
    browser.set_window_size(400, 800)
    browser.get((folder / "report.html").as_uri())
    assert "Use it with a cap" in browser.find_element("css selector", ".verdict").text
    widths = browser.execute_script("return [...document.images].map(i => i.complete ? i.naturalWidth : 0)")
    assert len(widths) == 7
    assert min(widths) > 100
    scroll, window = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert scroll <= window
    browser.set_window_size(1200, 900)


def test_a_name_in_the_log_cannot_write_into_the_page(folder):
    log, _ = Making(n=300).draw(0)
    header = "arm,reward,pscore,<b>age</b>,likes,visits,height"
    write_csv(folder / "names.csv", log, header)
    done = headstart("names.csv", "--html", "names.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "<b>age</b>" not in (folder / "names.html").read_text()
    assert "<b>age</b>" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.csv",), "nowhere.csv"),
        (("empty.csv",), "empty.csv"),
        (("healthy.csv", "--action", "nonsense"), "nonsense"),
        (("healthy.csv", "--population", "nowhere.csv"), "nowhere.csv does not exist"),
        (("healthy.csv", "--population", "half.csv", "--contexts", "age,likes"), ""),
        (("healthy.csv", "--population", "other.csv"), "lacks the context column 'age'"),
        (("healthy.csv", "--html", "no/folder/report.html"), "does not exist"),
        (("healthy.csv", "--horizon", "0"), "horizon"),
    ],
)
def test_a_mistake_is_one_clear_error_and_no_traceback(arguments, message, folder):
    (folder / "empty.csv").write_text("")
    (folder / "other.csv").write_text("size\n1\n2\n")
    done = headstart(*arguments, cwd=folder)
    assert "Traceback" not in done.stderr
    if message:
        assert done.returncode != 0
        assert message in words(done)
    else:
        assert done.returncode == 0, done.stderr  # more columns than are needed do no harm


def test_help_teaches(folder):
    text = words(headstart("--help", cwd=folder))
    for part in ("Is this log worth anything", "--population", "--html", "exit code"):
        assert part in text
