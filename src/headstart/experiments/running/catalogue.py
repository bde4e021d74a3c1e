"""Every experiment, found by its name: a module of `paper` or `leagues` that has an EXPERIMENT."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from headstart.errors import OptionError
from headstart.experiments import leagues, paper
from headstart.experiments.paper.yahoo import YAHOO_EXPERIMENTS
from headstart.experiments.running.experiment import Experiment


@cache
def all_experiments() -> dict[str, Experiment]:
    """Every experiment by name."""
    found: dict[str, Experiment] = {}
    for room in (paper, leagues):
        for module in pkgutil.iter_modules(room.__path__):
            experiment = vars(importlib.import_module(f"{room.__name__}.{module.name}")).get("EXPERIMENT")
            if experiment is not None:
                found[experiment.name] = experiment
    return dict(sorted(found.items()))


def get_experiment(name: str) -> Experiment:
    """The experiment of this name."""
    known = all_experiments()
    if name not in known:
        raise OptionError(f"unknown experiment {name!r}; known: {', '.join((*known, *YAHOO_EXPERIMENTS))}")
    return known[name]
