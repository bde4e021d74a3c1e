"""A browser that looks at pages: what it reads, how wide it is, which colours it prefers, what axe-core finds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"  # `make test` has npm bring it


def wait(is_so: Callable[[], bool], seconds: float = 30, every: float = 0.05) -> None:
    """Until it is so; it is looked at every so many seconds."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(every)


def open_page(browser: Any, address: str) -> None:
    """A page, when it is drawn; one that is open already goes on, for it follows what happens."""
    if browser.current_url != address:
        browser.get(address)
    wait(lambda: bool(browser.execute_script("return document.body.dataset.drawn") == "yes"))


def text(page: Any, selector: str) -> str:
    """What stands there."""
    found: str = page.execute_script("return document.querySelector(arguments[0]).textContent", selector)
    return found


@contextmanager
def phone(page: Any) -> Iterator[None]:
    """390 pixels wide, as long as the block."""
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    )
    yield
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def prefer(page: Any, scheme: str) -> None:
    """Light or dark."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def find_serious(page: Any) -> list[list[str]]:
    """What axe-core finds that keeps somebody out."""
    page.execute_script(AXE.read_text(encoding="utf-8"))
    found = page.execute_async_script(
        "const done = arguments[0];"
        "axe.run().then(r => done(r.violations.map(v => [v.impact, v.id, v.nodes[0].html])))"
    )
    return [each for each in found if each[0] in ("serious", "critical")]
