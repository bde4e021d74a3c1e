"""Settings that all tests share."""

import os
import shutil
import sys

import pytest
from hypothesis import settings

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # what Spark's executors run

# The first example of a test may compile for seconds; and a test that fails must fail again tomorrow.
settings.register_profile("headstart", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("headstart")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With NUMBA_DISABLE_JIT=1 kernels run interpreted, where words that wrap around warn of it."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    from selenium import webdriver

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert chromium, "chromium is not installed: make test installs it (apt-get install chromium chromium-driver)"
    assert driver, "chromedriver is not installed: make test installs it (apt-get install chromium chromium-driver)"
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--window-size=1200,900",
        f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    yield browser
    browser.quit()
