"""The documentation site builds without a warning, its links lead somewhere, and a real browser can read it.

Building it runs the tutorials, so this is their test too.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tools.site.assemble import ROOT
from tools.site.chapters import split_chapters
from tools.site.links import Links

PAGES = (
    "index.html",
    "start/ten-minutes.html",
    "tutorials/marketing-log.html",
    "methods/oracles.html",
    "results/bias.html",
    "reference/api/start-function.html",
)
PHONE = 390  # pixels


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


class _Targets(HTMLParser):
    """What a page leads to and loads, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if told.get("id"):
            self.anchors.add(told["id"] or "")
        if tag == "a" and told.get("href"):
            self.links.add(told["href"] or "")
        if tag in ("img", "script") and told.get("src"):
            self.loads.add(told["src"] or "")
        if tag == "link" and told.get("href") and told.get("rel") in ("stylesheet", "preload", "icon"):
            self.loads.add(told["href"] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "tools.site", "--out", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr  # a warning is an error
    return out


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def targets(site: Path) -> dict[Path, _Targets]:
    found = {}
    for page in site.rglob("*.html"):
        if "_static" in page.relative_to(site).parts:
            continue  # the theme's own template
        found[page] = _Targets()
        found[page].feed(page.read_text())
    return found


def test_every_internal_link_leads_to_a_page_and_a_place_on_it(site: Path, targets: dict[Path, _Targets]):
    broken = []
    for page, told in targets.items():
        for link in told.links | told.loads:
            url = urlsplit(link)
            if url.scheme or not (url.path or url.fragment):
                continue
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            is_there = target.exists() and (
                not url.fragment or target not in targets or _has(targets[target], url.fragment)
            )
            if not is_there:
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


def _has(told: _Targets, fragment: str) -> bool:
    return unquote(fragment) in told.anchors


def test_no_page_loads_anything_from_an_outside_host(targets: dict[Path, _Targets]):
    assert [link for told in targets.values() for link in told.loads if urlsplit(link).netloc] == []


def test_nothing_of_methods_is_lost():
    text = (ROOT / "METHODS.md").read_text()
    first, chapters = split_chapters(text)
    kept = first + "".join(chapter.text for chapter in chapters)
    assert kept.replace("#", "").split() == text.replace("#", "").split()


def test_a_link_is_led_to_the_page_of_its_file():
    links = Links({"METHODS.md": "methods/index.md", "METHODS.md#regret": "methods/regret.md"})
    text = "[a](../METHODS.md#regret) [b](../METHODS.md) [c](../tests/) [d](audit.md#x)\n```\n[e](f.md)\n```"
    told = links.rewrite(text, "docs/guide.md", "guide.md")
    assert told == "[a](methods/regret.md) [b](methods/index.md) c [d](audit.md#x)\n```\n[e](f.md)\n```"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_read_on_a_phone_and_asks_nobody_else(address: str, browser, page: str):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": PHONE, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        browser.get(f"{address}/{page}")
        width, shown = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= shown == PHONE
        images = browser.execute_script(
            "return [...document.images].map(i => [i.src, i.complete && i.naturalWidth > 0])"
        )
        assert [src for src, is_loaded in images if not is_loaded] == []
        asked = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
        assert [url for url in asked if not url.startswith((address, "data:"))] == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_search_finds_propensity(address: str, browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{address}/search.html?q=propensity")
    found = WebDriverWait(browser, 20).until(lambda b: b.find_elements(By.CSS_SELECTOR, "#search-results li a"))
    assert any("propensit" in link.get_attribute("href").lower() for link in found)


def test_figures_of_a_tutorial_are_its_own(site: Path):
    text = (site / "tutorials" / "marketing-log.html").read_text()
    assert "marketing-log-1.svg" in text
