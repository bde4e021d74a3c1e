"""The paper's experiments. One file each: a module here with an EXPERIMENT is found by its name."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from headstart.errors import OptionError
from headstart.experiments.experiment import Case, Experiment, Result, count_steps, run_experiment
from headstart.experiments.yahoo import YAHOO_EXPERIMENTS


@cache
def all_experiments() -> dict[str, Experiment]:
    """Every experiment by name."""
    found: dict[str, Experiment] = {}
    for module in pkgutil.iter_modules(__path__):
        experiment = getattr(importlib.import_module(f"{__name__}.{module.name}"), "EXPERIMENT", None)
        if experiment is not None:
            found[experiment.name] = experiment
    return dict(sorted(found.items()))


def get_experiment(name: str) -> Experiment:
    """The experiment of this name."""
    known = all_experiments()
    if name not in known:
        raise OptionError(f"unknown experiment {name!r}; known: {', '.join((*known, *YAHOO_EXPERIMENTS))}")
    return known[name]


__all__ = [
    "YAHOO_EXPERIMENTS",
    "Case",
    "Experiment",
    "Result",
    "all_experiments",
    "count_steps",
    "get_experiment",
    "run_experiment",
]
