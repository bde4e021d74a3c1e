"""The light core: what works without any extra, and what is said where one is needed."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import headstart
from headstart.errors import MissingExtraError
from headstart.extras import EXTRAS, brought_by, check_extra

ROOT = Path(__file__).parents[1]
ALL = sorted({module for modules in EXTRAS.values() for module in modules})
OUTER = ("headstart.__main__", "headstart.cli", "headstart.serve", "headstart.reports")  # the rooms of the extras


def run_without(modules: list[str], code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """This code in a process in which these modules cannot be imported, as where they are not installed."""
    lacking = f"import sys; sys.modules |= dict.fromkeys({modules!r}); "
    command = [sys.executable, "-c", lacking + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=300)


def _package(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


def test_every_package_of_an_extra_is_explained_by_the_module_that_it_brings():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    modules: dict[str, set[str]] = {}
    for module, packages in packages_distributions().items():
        for package in packages:
            modules.setdefault(_package(package), set()).add(module)
    for extra, named in EXTRAS.items():
        packages = [_package(each) for each in declared[extra] if "sys_platform" not in each]
        packages = [each for each in packages if each != "headstart"]
        assert len(packages) == len(named), (extra, packages, named)
        for package, module in zip(packages, named, strict=True):  # in the same order
            assert module in modules[package], (extra, package)
    of_the_product = set(declared) - {"all", "test", "docs", "benchmark"}
    assert set(EXTRAS) == of_the_product
    assert set(re.search(r"\[(.+)\]", declared["all"][0])[1].split(",")) == of_the_product


def test_every_room_of_the_core_can_be_imported_without_any_extra(tmp_path: Path):
    rooms = [
        module.name
        for module in pkgutil.walk_packages(headstart.__path__, "headstart.")
        if not module.name.startswith(OUTER)
    ]
    assert len(rooms) > 300
    code = f"import importlib\nfor each in {rooms!r}: importlib.import_module(each)"
    done = run_without(ALL, code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


_CORE = """
import numpy as np
import headstart as hs

rng = np.random.default_rng(1)
ads, cities = rng.choice(["video", "text"], 400), rng.choice(["Rome", "Oslo"], 400)
clicks = (rng.random(400) < np.where((ads == "video") == (cities == "Rome"), 0.4, 0.1)).astype(float)
log = hs.Log(ads, clicks, {"city": cities}, np.full(400, 0.5))
found = hs.audit(log)
policy = hs.start(log, rng=1)
policy.update({"city": "Rome"}, policy.play({"city": "Rome"}), 1.0)
policy.save("policy.hs")
assert hs.load("policy.hs").n_actions == 2
print(found.verdict.decision)


def told(call):
    try:
        call()
    except hs.errors.MissingExtraError as error:
        print(error)


told(lambda: hs.read_log({"action": [0, 1], "outcome": [1, 0]}))
told(lambda: hs.scan_log("log.csv"))
told(lambda: policy.decide([{"city": "Rome"}]))
told(lambda: policy.learn([{"id": 1, "outcome": 1.0}], [{"id": 1}]))
told(found.to_frame)
told(found.plot)
told(lambda: hs.OutcomeModel.boosted(log))
"""


def test_the_core_audits_starts_decides_and_saves_and_says_what_the_rest_needs(tmp_path: Path):
    (tmp_path / "log.csv").write_text("action,outcome\na,1\nb,0\n")
    done = run_without(ALL, _CORE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] in ("use it", "use it with a cap", "do not use it")
    needs = [re.fullmatch(r"(\w+) is not installed: pip install 'headstart\[(\w+)\]'", line) for line in lines[1:]]
    assert [found and found[2] for found in needs] == ["logs"] * 5 + ["plot", "xgboost"]


def test_the_command_without_its_extra_says_what_to_type(tmp_path: Path):
    done = run_without(
        ALL, "from headstart.__main__ import run_command_line as run; run()", "audit", "log.csv", cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(
        r"Error: the command line is an extra, and \w+ is not installed: pip install 'headstart\[cli\]'\n",
        done.stderr,
    )


_WORDS = {"pyarrow": "logs", "matplotlib": "plot", "httpx": "serve"}


@pytest.mark.parametrize(
    ("lacking", "arguments"),
    [
        ("pyarrow", ["audit", "log.csv"]),
        ("matplotlib", ["audit", "log.csv", "--html", "page.html"]),
        ("matplotlib", ["demo", "--figure", "here.png"]),
        ("matplotlib", ["reproduce", "ucb-ipsw", "--out", "results"]),
        ("httpx", ["reload", "http://127.0.0.1:1"]),
    ],
)
def test_a_command_that_lacks_an_extra_names_it_in_one_line(lacking: str, arguments: list[str], tmp_path: Path):
    (tmp_path / "log.csv").write_text("action,outcome\na,1\nb,0\n")
    done = run_without(
        [lacking], "from headstart.__main__ import run_command_line as run; run()", *arguments, cwd=tmp_path
    )
    assert done.returncode == 1
    assert " ".join(done.stderr.split()) == (
        f"Error: {lacking} is not installed: pip install 'headstart[{_WORDS[lacking]}]'"
    )


def test_the_demo_without_the_plotting_library_tells_its_story_and_draws_nothing(tmp_path: Path):
    done = run_without(["matplotlib"], "from headstart.cli import main; main()", "demo", "--runs", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The curves are not drawn: matplotlib is not installed" in " ".join(done.stdout.split())
    assert not (tmp_path / "demo.png").exists()


def test_a_module_that_no_extra_brings_is_not_explained():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), brought_by("logs"):
        import no_such_module  # noqa: F401


def test_an_extra_that_is_not_there_is_missed_before_the_work(monkeypatch: pytest.MonkeyPatch):
    check_extra("plot")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"matplotlib is not installed: pip install 'headstart\[plot\]'"):
        check_extra("plot")
