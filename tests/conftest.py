"""Settings that all tests share."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.durations import QUICK, Measurement, name_of, read_durations

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # what Spark's executors run
# There are workers for every core: threads of OpenMP and BLAS beside it would only spin, and wait for each other.
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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """A file stays with one worker, and so do all that need Spark."""
    from tests.sharing import Together

    return Together(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long ones begin first, so that no core is idle at the end while another has one of them.

    With NUMBA_DISABLE_JIT=1 kernels run interpreted, where words that wrap around warn of it.
    """
    if hasattr(config, "workerinput"):
        from tests.sharing import group_of

        group = {path: group_of(name_of(path)) for path in {item.path for item in items}}
        durations, seconds = read_durations(), Counter[str]()
        for path, name in group.items():
            seconds[name] += durations.get(name_of(path), 0.0)
        items.sort(key=lambda item: (-seconds[group[item.path]], group[item.path]))
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


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Spark for all tests that need a real one: local mode, quiet, two threads; needs Java 17."""
    from pyspark.sql import SparkSession

    folder: Path = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("headstart tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        # Queries of a few hundred rows: interpreted, and planned once.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        # A machine that lives for a minute is not worth its second compiler, nor a collector with threads of its own.
        .config(
            "spark.driver.extraJavaOptions",
            f"-Dderby.system.home={folder} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        )
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
