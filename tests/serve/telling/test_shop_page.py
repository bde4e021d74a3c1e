"""The page of a shop with a declared value, two outcomes, a guardrail that trips and a retired action.

`HEADSTART_SCREENSHOTS=docs` has the pictures of the documentation taken on the way.
"""

import base64
import os
import random
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from headstart.cli import app
from tests.serve.in_process import served
from tests.serve.telling.browsing import AXE, find_serious, open_page, phone, prefer, text, wait

N_USERS, GROUP = 3000, 300
SHOP = {
    "actions": ["no message", "mail", "banner", "leaflet"],
    "oracle": {"name": "EpsilonGreedy", "epsilon": 0.1},
    "holdout": 0.2,
    "outcome_window": 1.0,
    "value": 'revenue - 0.15 * shown("mail")',
    "outcomes": {"revenue": {"default": 0, "range": [0, 500]}, "complaint": {"default": 0, "range": [0, 1]}},
    "safe_action": "no message",
    "guardrails": {
        "complaints": {
            "outcome": "complaint",
            "worse": "higher",
            "than": "holdout",
            "margin": 0.01,
            "then": "fall back",
        },
        "sales": {"outcome": "revenue", "worse": "lower", "than": 0.2},
    },
}
REVENUE = {"no message": 0.4, "mail": 2.0, "banner": 0.8, "leaflet": 0.5}
COMPLAINTS = {"no message": 0.02, "mail": 0.3, "banner": 0.03, "leaflet": 0.03}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    rng = random.Random(4)
    with served(tmp_path_factory.mktemp("shop") / "shop.sqlite", {"shop": SHOP}) as client:
        for first in range(0, N_USERS, GROUP):
            if first == 2 * GROUP:
                client.post("/v1/shop/retire", json={"action": "leaflet", "reason": "sold out"})
            asked = [{"event_id": f"visit-{first + i}"} for i in range(GROUP)]
            decided = client.post("/v1/shop/decide/batch", json={"decisions": asked}).json()["decisions"]
            reports = [{"event_id": each["event_id"], "outcomes": draw(rng, each["action"])} for each in decided]
            client.post("/v1/shop/outcome/batch", json={"outcomes": reports})
            settled = first + GROUP
            wait(lambda settled=settled: client.get("/v1/shop/report").json()["counted"] == settled, every=0.2)
        wait(lambda: client.get("/v1/shop/report").json()["guardrails"][0]["is_tripped"])
        yield client


def draw(rng, action):
    revenue = rng.lognormvariate(3.0, 0.6) if rng.random() < REVENUE[action] / 24.0 else 0.0
    return {"revenue": round(revenue, 2), "complaint": float(rng.random() < COMPLAINTS[action])}


@pytest.fixture
def page(shop, browser):
    browser.set_window_size(1280, 900)
    open_page(browser, f"{shop.base_url}/experiments/shop")
    return browser


def rows_of(page, table):
    script = "return [...document.querySelectorAll(arguments[0])].map(r => [...r.cells].map(c => c.textContent))"
    return page.execute_script(script, f"#{table} tbody tr")


def keep(page, name):
    """A picture of the whole page, where somebody asked for them."""
    if "HEADSTART_SCREENSHOTS" in os.environ:
        size = page.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        asked = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        picture = page.execute_cdp_cmd("Page.captureScreenshot", asked)["data"]
        place = Path(os.environ["HEADSTART_SCREENSHOTS"]) / name
        Image.open(BytesIO(base64.b64decode(picture))).quantize(128).save(place, optimize=True)


def test_the_guardrail_comes_first_in_the_interface_s_words(page, shop):
    report = shop.get("/v1/shop/report").json()
    alarms = page.execute_script("return [...document.querySelectorAll('.alarm')].map(e => e.textContent)")
    assert alarms == [each["message"] for each in report["alarms"]]
    assert alarms[0].startswith("The guardrail complaints has tripped: complaint is ")
    assert "above the hold-out's" in alarms[0]
    assert text(page, "#sentence") == report["sentence"]
    assert report["sentence"].startswith("Shown now: no message to all who are not held out")
    rows, told = rows_of(page, "guardrails"), ("watches", "level_text", "text", "status")
    assert rows == [
        [f"{each['name']}{' (tripped)' if each['is_tripped'] else ''}", *(each[name] for name in told)]
        for each in report["guardrails"]
    ]
    assert [row[0] for row in rows] == ["complaints (tripped)", "sales"]
    state = shop.get("/v1/shop/state").json()
    assert state["tripped"][0]["guardrail"] == "complaints"
    keep(page, "serve.png")


def test_actions_and_outcomes_are_the_interface_s(page, shop):
    report, state = shop.get("/v1/shop/report").json(), shop.get("/v1/shop/state").json()
    rows = rows_of(page, "actions")
    assert [row[0] for row in rows] == SHOP["actions"]
    assert [row[5] for row in rows] == ["100.0 %", "0.0 %", "0.0 %", "retired"]
    assert [row[3] for row in rows] == [action["mean_text"] for action in report["actions"]]
    assert len(rows[0]) == 7  # nothing of a log, where there is none
    named = rows_of(page, "named")
    for row, action, known in zip(named, report["actions"], state["actions"], strict=True):
        assert row == [
            action["name"],
            f"{action['outcomes'][0]['n']:,}",
            *(each["text"] for each in action["outcomes"]),
        ]
        for each in action["outcomes"]:
            assert (each["n"], each["mean"]) == (
                known["outcomes"][each["name"]]["n"],
                pytest.approx(known["outcomes"][each["name"]]["sum"] / each["n"]),
            )


def test_it_fits_a_phone_and_the_dark(page):
    with phone(page):
        wait(lambda: page.execute_script("return document.documentElement.scrollWidth") <= 390)
        keep(page, "serve-phone.png")
    prefer(page, "dark")
    wait(lambda: page.execute_script("return document.getElementById('means').layout.paper_bgcolor") == "#12161b")
    keep(page, "serve-dark.png")
    prefer(page, "light")


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there: npm install --prefix VENV/axe axe-core@4")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_check_finds_nothing_serious(browser, shop, scheme):
    decided = shop.post("/v1/shop/decide", json={}).json()["event_id"]
    browser.set_window_size(1280, 900)
    prefer(browser, scheme)
    for path in ("/", "/experiments/shop", f"/experiments/shop/decisions/{decided}"):
        browser.get(f"{shop.base_url}{path}")
        assert find_serious(browser) == []
    prefer(browser, "light")


def test_the_monitor_sees_it(shop):
    told = shop.get("/metrics").text
    assert 'headstart_guardrail_tripped{experiment="shop",guardrail="complaints"} 1.0' in told
    assert 'headstart_guardrail_tripped{experiment="shop",guardrail="sales"} 0.0' in told


def test_somebody_resumes_and_the_policy_decides_again(shop):
    assert shop.post("/v1/shop/resume", json={"guardrail": "refunds"}).status_code == 422
    assert shop.post("/v1/shop/resume", json={"guardrail": 3}).status_code == 422
    command = ["resume", str(shop.base_url), "shop", "complaints", "--reason", "the mail is mended"]
    told, again = (CliRunner().invoke(app, command).output for _ in range(2))
    assert told.startswith("shop: resumed, event ")
    assert again == "shop: the guardrail complaints had not tripped\n"
    assert shop.post("/v1/shop/resume", json={"guardrail": "complaints"}).json() == {"sequence": 0}
    assert shop.get("/v1/shop/state").json()["tripped"] == []
    wait(lambda: not shop.get("/v1/shop/report").json()["guardrails"][0]["is_tripped"])
    assert shop.get("/v1/shop/report").json()["deeds"][0]["what"] == "resumed after the guardrail complaints"
