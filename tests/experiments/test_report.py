"""The report folder: JSON lines, figures, a page; interrupted and taken up again; looked at in a real browser."""

import json
import shutil

import pytest

from headstart.errors import OptionError
from headstart.experiments.running.catalogue import get_experiment
from headstart.experiments.running.experiment import run_experiment
from headstart.experiments.running.report import ResultsFolder

NAMES = ("ucb-ipsw", "batch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    report = ResultsFolder(folder, seed=3, runs=4)
    for name in NAMES:
        experiment = get_experiment(name)
        report.add(experiment, list(run_experiment(experiment, runs=4, seed=3)))
    report.write_page([get_experiment(name) for name in (*NAMES, "intro")])
    return folder


def test_an_experiment_leaves_rows_and_both_figures(folder):
    rows = [json.loads(line) for line in (folder / "ucb-ipsw.jsonl").read_text().splitlines()]
    assert [row["series"] for row in rows] == ["offline+online", "only online", "only offline"]
    assert (folder / "ucb-ipsw.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "ucb-ipsw.svg").read_text().lstrip().startswith("<?xml")


def test_only_what_is_finished_is_on_the_page(folder):
    page = (folder / "index.html").read_text()
    assert 'id="ucb-ipsw"' in page
    assert 'id="batch"' in page
    assert 'id="intro"' not in page
    assert get_experiment("batch").reading in page


def test_a_finished_experiment_is_kept_and_an_interrupted_one_is_not_taken_for_finished(folder, tmp_path):
    twin = tmp_path / "again"
    shutil.copytree(folder, twin)
    (twin / "batch.jsonl").rename(twin / "batch.jsonl.partial")  # as if stopped while it was written
    report = ResultsFolder(twin, seed=3, runs=4)
    assert report.is_finished(get_experiment("ucb-ipsw"))
    assert not report.is_finished(get_experiment("batch"))


def test_the_same_seed_gives_the_same_files_but_for_seconds(folder, tmp_path):
    report = ResultsFolder(tmp_path / "twin", seed=3, runs=4)
    report.add(get_experiment("batch"), list(run_experiment(get_experiment("batch"), runs=4, seed=3, n_jobs=2)))
    first, second = (
        [{**json.loads(line), "seconds": 0} for line in (place / "batch.jsonl").read_text().splitlines()]
        for place in (folder, tmp_path / "twin")
    )
    assert first == second
    assert (folder / "batch.svg").read_bytes() == (tmp_path / "twin" / "batch.svg").read_bytes()


def test_a_folder_belongs_to_one_seed_and_number_of_runs(folder):
    with pytest.raises(OptionError, match=r"holds results for .*'seed': 3.*give the same --seed and --runs"):
        ResultsFolder(folder, seed=4, runs=4)


def test_a_broken_file_is_named(folder, tmp_path):
    twin = tmp_path / "broken"
    shutil.copytree(folder, twin)
    (twin / "batch.jsonl").write_text('{"experiment": "ba')
    with pytest.raises(OptionError, match=r"batch\.jsonl is broken; delete it to run batch again"):
        ResultsFolder(twin, seed=3, runs=4).is_finished(get_experiment("batch"))
    (twin / "settings.json").write_text("{")
    with pytest.raises(OptionError, match=r"settings\.json is broken"):
        ResultsFolder(twin, seed=3, runs=4)


def test_a_place_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="cannot be made"):
        ResultsFolder(tmp_path / "file" / "below", seed=1, runs=1)


def test_every_figure_loads_in_a_real_browser(folder, browser):
    """Chromium opens the page; every image has pixels, nothing is wider than the page, no request leaves the host."""
    browser.get((folder / "index.html").as_uri())
    sizes = browser.execute_script("return [...document.images].map(i => [i.complete, i.naturalWidth])")
    assert len(sizes) == len(NAMES)
    assert all(is_complete and width > 300 for is_complete, width in sizes)
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    addresses = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert all(address.startswith("file:") for address in addresses)
