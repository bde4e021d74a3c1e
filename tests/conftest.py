"""Settings that all tests share."""

import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from tests.durations import QUICK, Measurement, name_of, read_durations

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # what Spark's executors run
# There is a worker for each core: threads of OpenMP and BLAS beside it would only spin, and wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The first example of a test may compile for seconds; and a test that fails must fail again tomorrow.
settings.register_profile("headstart", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("headstart")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two ways to run all tests."""
    parser.addoption("--quick", action="store_true", help=f"leave out files that take more than {QUICK:g} s")
    parser.addoption("--measure", action="store_true", help="write how long each file takes: tests/durations.json")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("measure") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Measurement())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The inner loop does not even import what it leaves out."""
    if config.getoption("quick") and read_durations().get(name_of(collection_path), 0.0) > QUICK:
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A file stays with one worker, and so do all files that need Spark: its machine costs a minute to begin.

    Long ones begin first, so that no core is idle at the end while another has one of them.
    With NUMBA_DISABLE_JIT=1 kernels run interpreted, where words that wrap around warn of it.
    """
    if hasattr(config, "workerinput"):
        with_spark = {item.path for item in items if "spark" in getattr(item, "fixturenames", ())}
        group = {path: "spark" if path in with_spark else name_of(path) for path in {item.path for item in items}}
        durations, seconds = read_durations(), Counter[str]()
        for path, name in group.items():
            seconds[name] += durations.get(name_of(path), 0.0)
        items.sort(key=lambda item: -seconds[group[item.path]])
        for item in items:
            item.add_marker(pytest.mark.xdist_group(group[item.path]))
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
