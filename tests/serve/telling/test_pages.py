"""The pages in a real browser."""

import time

import pytest

from headstart.experiments.demo import example_log
from headstart.serve.demo import send_users
from tests.serve.in_process import served

CHARTS = ("means", "plays", "allocation", "gain", "regret")


@pytest.fixture(scope="module")
def ads(tmp_path_factory):
    log = example_log(7)
    experiment = {
        "actions": list(log.action_names),
        "contexts": {"likes_videos": ["yes", "no"]},
        "oracle": "ThompsonBeta",
        "evaluator": "IPSWeighting",
        "log": log,
        "holdout": 0.1,
    }
    with served(tmp_path_factory.mktemp("pages") / "ads.sqlite", {"ads": experiment}) as client:
        send_users(str(client.base_url), 600, seed=1, progress=lambda n: None)
        yield client


@pytest.fixture
def page(ads, browser):
    browser.set_window_size(1200, 900)
    browser.get(f"{ads.base_url}/experiments/ads")
    _wait(lambda: browser.execute_script("return document.body.dataset.drawn") == "yes")
    return browser


def _wait(is_so, seconds=30):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def _text(page, selector):
    return page.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def test_every_chart_appears(page):
    for chart in CHARTS:
        drawn = page.execute_script(
            "return document.querySelectorAll(`#${arguments[0]} .main-svg`).length > 0"
            " && document.querySelectorAll(`#${arguments[0]} .trace`).length > 0",
            chart,
        )
        assert drawn, chart


def test_the_numbers_are_the_interface_s(page, ads):
    report = ads.get("/v1/ads/report").json()
    assert _text(page, "#decisions") == f"{report['decisions']:,}" == "600"
    assert _text(page, "#value") == report["value"]["text"]
    assert _text(page, "#holdout") == report["holdout"]["text"]
    assert _text(page, "#sentence") == report["sentence"]
    rows = page.execute_script(
        "return [...document.querySelectorAll('#actions tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    for row, action in zip(rows, report["actions"], strict=True):
        assert row == [
            action["name"],
            f"{action['shown']:,}",
            f"{action['online_plays']:,}",
            f"{action['virtual_plays']:,}",
            action["mean_text"],
            action["interval_text"],
            action["log_text"],
            action["chance_text"],
        ]
    plotted = page.execute_script("return document.getElementById('means').data[0].x")
    assert plotted == [action["mean"] for action in report["actions"]]


def test_no_request_leaves_the_host(page, ads):
    asked = page.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert any("plotly" in name for name in asked)
    assert all(name.startswith(str(ads.base_url)) for name in asked)


def test_it_is_alive(page, ads):
    before = _text(page, "#decisions")
    ads.post("/v1/ads/decide", json={"context": {"likes_videos": "no"}})
    _wait(lambda: _text(page, "#decisions") != before)
    ads.get("/v1/ads/state")


def test_it_fits_a_phone_and_works_without_a_mouse(page):
    from selenium.webdriver.common.keys import Keys

    page.set_window_size(500, 900)  # chromium's narrowest window
    page.execute_script("document.documentElement.style.width = '360px'; window.dispatchEvent(new Event('resize'))")
    _wait(lambda: page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"))
    page.find_element("tag name", "body").send_keys(Keys.TAB)
    assert page.execute_script("return document.activeElement.textContent") == "Skip to the numbers"


def test_the_list_of_experiments_links_to_each(browser, ads):
    browser.get(str(ads.base_url))
    link = browser.find_element("link text", "ads")
    link.click()
    _wait(lambda: browser.current_url.endswith("/experiments/ads"))


def test_text_from_outside_cannot_become_a_script(tmp_path, browser):
    name = "</script><img src=x onerror=document.title='hacked'>"
    with served(tmp_path / "s.sqlite", {"odd": {"actions": [name, "b"], "oracle": "UCB"}}) as client:
        browser.get(f"{client.base_url}/experiments/odd")
        _wait(lambda: browser.execute_script("return document.body.dataset.drawn") == "yes")
        assert browser.title == "odd · headstart"
