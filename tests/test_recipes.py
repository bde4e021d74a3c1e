"""ARCHITECTURE.md's recipes, followed word for word: their files are added to a copy of the package and used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RECIPES = dict(
    re.findall(r"```python\n# (src/headstart/\S+)\n(.*?)```", (ROOT / "ARCHITECTURE.md").read_text(), re.DOTALL)
)

USES = {
    "src/headstart/oracles/boltzmann.py": """
import numpy as np
import headstart as hs
from headstart import oracles
from headstart.oracles.boltzmann import Boltzmann
from headstart.parts.catalogue import find_parts
from headstart.testing import check_oracle

assert find_parts(oracles, "play", "update", "probabilities")["Boltzmann"].needs == ("n_actions",)
check_oracle(lambda: Boltzmann(3, rng=1))
world = hs.worlds.Drifting(rates=(0.2, 0.8), period=1000)
policies = {"warm": lambda drawn, log, rng: hs.WarmStart(Boltzmann(2, rng=rng), hs.IPSWeighting(log), rng=rng),
            "cold": Boltzmann(2, rng=1)}
curves = hs.simulate(world, policies, rounds=200, runs=20, seed=1)
assert curves["warm"].mean < curves["cold"].mean < 0.6 * 200 / 2
""",
    "src/headstart/evaluators/recent_average.py": """
import numpy as np
import headstart as hs
from headstart import evaluators
from headstart.evaluators.recent_average import RecentAverage
from headstart.parts.catalogue import find_parts
from headstart.testing import check_evaluator

assert find_parts(evaluators, "get_outcome")["RecentAverage"].needs == ("log",)
log = hs.Log([0, 1, 0, 1], [9.0, 9.0, 1.0, 2.0])
assert RecentAverage(log, n_rows=2).means.tolist() == [1.0, 2.0]
check_evaluator(lambda: RecentAverage(log))
policy = hs.WarmStart(hs.UCB(2), RecentAverage(log), rng=1)
policy.play()
assert policy.virtual_plays.sum() > 0
""",
    "src/headstart/worlds/coins.py": """
import headstart as hs
from headstart.testing import check_world
from headstart.worlds.coins import Coins

check_world(Coins())
assert hs.simulate(Coins(), {"UCB": hs.UCB(2)}, rounds=50, runs=5, seed=1)["UCB"].mean > 0.0
""",
    "src/headstart/experiments/leagues/coins.py": """
from headstart.experiments.running.catalogue import get_experiment
from headstart.experiments.running.experiment import run_experiment

results = list(run_experiment(get_experiment("coins"), runs=5, seed=1))
assert len(results) == 3
""",
    "src/headstart/logs/tables/sources/pairs.py": """
import headstart as hs

log = hs.read_log([("a", 0.0), ("b", 1.0), ("a", 0.5)])
assert log.action_names == ("a", "b")
assert log.outcomes.tolist() == [0.0, 1.0, 0.5]
""",
}


def test_every_recipe_is_followed():
    assert set(RECIPES) == set(USES)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the recipes' files in it."""
    copy = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "src" / "headstart", copy / "src" / "headstart")
    for path, code in RECIPES.items():
        (copy / path).write_text(code)
    if (ROOT / ".mypy_cache").is_dir():  # of `make check`: mypy knows a file by its hash, wherever it lies
        shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")
    return copy


@pytest.mark.parametrize("path", USES)
def test_a_recipe_works_as_written(path: str, house: Path):
    environment = {**os.environ, "PYTHONPATH": str(house / "src")}  # machine code is kept by what it is made of
    command = [sys.executable, "-W", "error", "-c", USES[path]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_recipes_are_formatted_and_typed(house: Path):
    paths = [str(house / path) for path in RECIPES]
    for command in (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]):
        arguments = ["--config-file" if command[0] == "mypy" else "--config", str(ROOT / "pyproject.toml")]
        done = subprocess.run(
            [sys.executable, "-m", *command, *arguments, *paths],
            env={**os.environ, "MYPYPATH": str(house / "src")},
            cwd=house,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
