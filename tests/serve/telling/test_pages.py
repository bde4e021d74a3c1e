"""The pages in a real browser."""

import pytest

from headstart.experiments.demo import example_log
from headstart.serve.demo import send_users
from headstart.serve.engine.engine import Engine
from headstart.serve.http.app import App
from tests.serve.in_process import configure, running, served
from tests.serve.logs import write_leaked
from tests.serve.telling.browsing import AXE, find_serious, open_page, phone, prefer, text, wait

CHARTS = ("means", "plays", "allocation", "gain")


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
    open_page(browser, f"{ads.base_url}/experiments/ads")
    return browser


def test_every_chart_appears(page):
    for chart in CHARTS:
        drawn = page.execute_script(
            "return document.querySelectorAll(`#${arguments[0]} .main-svg`).length > 0"
            " && document.querySelectorAll(`#${arguments[0]} .trace`).length > 0",
            chart,
        )
        assert drawn, chart


def test_the_numbers_are_the_interface_s(page, ads):
    page.refresh()
    open_page(page, page.current_url)
    report = ads.get("/v1/ads/report").json()
    assert text(page, "#decisions") == f"{report['decisions']:,}" == "600"
    assert text(page, "#value") == report["value"]["text"]
    assert text(page, "#holdout") == report["holdout"]["text"]
    assert text(page, "#sentence") == report["sentence"]
    assert text(page, "#stopping") == report["stopping"]["text"]
    assert text(page, "#gain-text") == report["gain"]["text"]
    assert text(page, "#policy") == report["policy"]["text"]
    assert text(page, "#outcomes") == f"{report['counted']:,}"
    assert report["next_log"]["text"] in text(page, "#next-log")
    rows = page.execute_script(
        "return [...document.querySelectorAll('#actions tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    for row, action in zip(rows, report["actions"], strict=True):
        assert row == [
            action["name"],
            f"{action['shown']:,}",
            f"{action['online_plays']:,}",
            action["mean_text"],
            action["interval_text"],
            action["chance_text"],
            action["believed_text"],
            action["log_text"],
            action["trust_text"],
            f"{action['virtual_plays']:,}",
        ]
    plotted = page.execute_script("return document.getElementById('means').data[0].x")
    assert plotted == [action["mean"] for action in report["actions"]]


def test_no_request_leaves_the_host(page, ads):
    asked = page.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert any("plotly" in name for name in asked)
    assert all(name.startswith(str(ads.base_url)) for name in asked)


def test_it_is_alive(page, ads):
    before = text(page, "#decisions")
    ads.post("/v1/ads/decide", json={"context": {"likes_videos": "no"}})
    wait(lambda: text(page, "#decisions") != before)
    ads.get("/v1/ads/state")


def test_it_fits_a_phone_and_works_without_a_mouse(page):
    from selenium.webdriver.common.keys import Keys

    page.refresh()  # the first key on it
    open_page(page, page.current_url)
    with phone(page):
        wait(lambda: page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"))
        hidden = page.execute_script(
            "const seen = (cell) => { const box = cell.getBoundingClientRect();"
            " return box.width > 0 && box.left >= 0 && box.right <= window.innerWidth; };"
            "const cells = [...document.querySelectorAll('#actions tbody th, #actions tbody td')];"
            "return cells.filter((cell) => !seen(cell)).length"
        )
        assert hidden == 0
        labels = page.execute_script(
            "const cell = document.querySelector('#actions tbody td[data-label=\"holds at every look\"]');"
            "return getComputedStyle(cell, '::before').content"
        )
        assert labels == '"holds at every look"'
        page.find_element("tag name", "body").send_keys(Keys.TAB)
        assert page.execute_script("return document.activeElement.textContent") == "Skip to the numbers"


def test_it_follows_the_system_s_dark_mode_with_its_charts(page):
    def grounds():
        return page.execute_script(
            "return [getComputedStyle(document.body).backgroundColor,"
            " document.getElementById('means').layout.paper_bgcolor]"
        )

    assert grounds() == ["rgb(255, 255, 255)", "#ffffff"]
    prefer(page, "dark")
    wait(lambda: grounds() == ["rgb(18, 22, 27)", "#12161b"])
    prefer(page, "light")
    wait(lambda: grounds() == ["rgb(255, 255, 255)", "#ffffff"])


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there: npm install --prefix VENV/axe axe-core@4")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_check_finds_nothing_serious(browser, ads, scheme):
    event_id = ads.post("/v1/ads/decide", json={"context": {"likes_videos": "no"}}).json()["event_id"]
    browser.set_window_size(1200, 900)
    prefer(browser, scheme)
    for path in ("/", "/experiments/ads", f"/experiments/ads/decisions/{event_id}"):
        browser.get(f"{ads.base_url}{path}")
        assert find_serious(browser) == []
    prefer(browser, "light")


def test_one_decision_says_why_and_what_came(page, ads):
    asked = {"context": {"likes_videos": "yes"}, "event_id": "order/4711 <b>"}
    decision = ads.post("/v1/ads/decide", json=asked).json()
    ads.post("/v1/ads/outcome", json={"event_id": decision["event_id"], "outcome": 1})
    page.find_element("id", "event-id").send_keys(decision["event_id"])
    page.find_element("css selector", "form button").click()
    wait(lambda: "/decisions" in page.current_url and page.execute_script("return document.readyState") == "complete")
    told = ads.get("/v1/ads/decisions/order%2F4711%20%3Cb%3E").json()
    assert told["action"] == decision["action"]
    assert told["propensity"] == decision["propensity"]
    assert {each["name"]: each["chance"] for each in told["actions"]} == decision["probabilities"]
    assert (told["outcome"], told["is_set_aside"], told["context"]) == (1.0, False, {"likes_videos": "yes"})
    assert text(page, "h1") == "Decision order/4711 <b>"
    assert text(page, "#sentence") == told["sentence"]
    assert told["action"] in told["sentence"]
    assert [each.text for each in page.find_elements("css selector", "#why li")] == told["why"]
    drawn = [row[0] for row in _cells(page, "chances") if row[2] == "yes"]
    assert drawn == [decision["action"]]
    unknown = ads.get("/v1/ads/decisions/nobody")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "unknown_decision")
    assert ads.get("/experiments/ads/decisions").status_code == 404


def test_the_list_of_experiments_links_to_each(browser, ads):
    browser.get(str(ads.base_url))
    link = browser.find_element("link text", "ads")
    link.click()
    wait(lambda: browser.current_url.endswith("/experiments/ads"))


def test_text_from_outside_cannot_become_a_script(tmp_path, browser):
    name = "</script><img src=x onerror=document.title='hacked'>"
    with served(tmp_path / "s.sqlite", {"odd": {"actions": [name, "b"], "oracle": "UCB"}}) as client:
        browser.get(f"{client.base_url}/experiments/odd")
        wait(lambda: browser.execute_script("return document.body.dataset.drawn") == "yes")
        assert browser.title == "odd · headstart"


def _cells(page, table):
    return page.execute_script(
        "const rows = [...document.querySelectorAll(`#${arguments[0]} tbody tr`)];"
        "return rows.map(r => [...r.cells].map(c => c.textContent))",
        table,
    )


def test_who_did_what_stands_on_the_page_and_comes_without_a_reload(page, ads):
    assert _cells(page, "deeds")[-1][1] == "configuration with 2 actions"
    ads.post("/v1/ads/freeze", json={"reason": "<b>a test</b>"})
    wait(lambda: _cells(page, "deeds")[0][1] == "froze learning")
    _, _, who, why = _cells(page, "deeds")[0]
    assert who == "anonymous (127.0.0.1)"
    assert why == "<b>a test</b>"
    assert "Learning was frozen by anonymous (127.0.0.1)" in text(page, "#alarms")
    ads.post("/v1/ads/unfreeze", json={})
    wait(lambda: _cells(page, "deeds")[0][1] == "unfroze learning" and not text(page, "#alarms").strip())


def test_what_health_knows_is_a_banner(tmp_path, browser):
    """Lost events, seen while somebody looks; on the list of experiments too."""
    app = App(Engine.open(configure(tmp_path / "s.sqlite", {"ads": {"actions": ["a", "b"]}})))
    with running(app) as client:
        for _ in range(5):
            client.post("/v1/ads/decide", json={})
        browser.get(f"{client.base_url}/experiments/ads")
        wait(lambda: browser.execute_script("return document.body.dataset.drawn") == "yes")
        assert not text(browser, "#failures").strip()
        with app.engine._store.writing("ads") as turn:
            turn.execute("DELETE FROM events WHERE sequence > 3")
        wait(lambda: "Acknowledged events are lost" in text(browser, "#failures"))
        assert text(browser, "#decisions") == "5"
        browser.get(str(client.base_url))
        assert "Acknowledged events are lost" in text(browser, ".failure")


def test_a_log_that_is_not_to_be_used_stands_first(tmp_path):
    """Before the sentence, the figures and the charts; the outcome has its column's name."""
    log = {"path": str(write_leaked(tmp_path / "leaked.csv")), "action": "ad", "outcome": "click"}
    ads = {"actions": ["A", "B"], "contexts": {"age": "number"}, "log": log}
    with served(tmp_path / "s.sqlite", {"ads": ads}) as client:
        text = client.get("/experiments/ads").text
        report = client.get("/v1/ads/report").json()
    assert "THE LOG IS NOT USED" in report["alarms"][0]["message"]
    places = [text.index(part) for part in ("THE LOG IS NOT USED", 'id="sentence"', "May I stop?", 'id="means"')]
    assert places == sorted(places)
    assert report["outcome"] == "click"
    assert "mean click a user" in text


def test_an_experiment_that_cannot_be_opened_has_a_page_that_says_why(tmp_path):
    lost = {"actions": ["a", "b"], "log": {"path": str(tmp_path / "gone.csv"), "action": "a", "outcome": "y"}}
    with served(tmp_path / "s.sqlite", {"ads": {"actions": ["a", "b"]}, "lost": lost}) as client:
        for path in ("/", "/experiments/lost"):
            answer = client.get(path)
            assert answer.status_code == 200
            assert "cannot be folded" in answer.text
            assert "gone.csv" in answer.text
        assert client.get("/experiments/ads").status_code == 200
        assert client.get("/v1/lost/report").status_code == 503
        assert 'headstart_experiment_broken{experiment="lost"} 1.0' in client.get("/metrics").text


def test_a_page_that_is_open_follows_a_change_of_configuration(postgres, browser):
    address = postgres.new_store()
    with served(address, {"ads": {"actions": ["a", "b"]}}) as old:
        browser.get(f"{old.base_url}/experiments/ads")
        wait(lambda: browser.execute_script("return document.body.dataset.drawn") == "yes")
        with served(address, {"ads": {"actions": ["c", "b", "a"]}}) as new:
            new.post("/v1/ads/decide", json={})
            wait(lambda: [row[0] for row in _cells(browser, "actions")] == ["c", "b", "a"])
