"""ACIC 2016: real pregnancies, invented treatments; both potential outcomes are known.

The Atlantic Causal Inference Conference's challenge of 2016 (Dorie, Hill, Shalit, Scott and Cervone 2019,
Statistical Science 34, 43-68): 4,802 rows of 58 covariates from the Collaborative Perinatal Project, with
treatments and outcomes drawn from 77 data-generating processes. One draw from each of ten of them comes with
the Python package causallib (Apache-2.0), which names no separate licence for the data.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.errors import OptionError
from headstart.logs.log import Log
from headstart.randomness import as_words
from headstart.worlds.drawn import DrawnWorld, TruePopulation, freeze
from headstart.worlds.installed import installed_file, read_columns
from headstart.worlds.table import TableState

ACTION_NAMES = ("control", "treatment")
N_INSTANCES = 10
UNIT = 10.0  # makes an outcome's standard deviation 0.44 to 0.58
_FOLDER = "datasets/data/acic_challenge_2016"


@cache
def _read_contexts() -> tuple[Floats, tuple[str, ...]]:
    """The covariates (n, d) and their names; categories are 0/1 columns, the first left out."""
    numbers, names = [], []
    for name, column in read_columns(installed_file("causallib", f"{_FOLDER}/x.csv")).items():
        try:
            numbers.append(np.array(column, dtype=np.float64))
            names.append(name)
        except ValueError:
            categories = np.array(column)
            for category in np.unique(categories)[1:]:
                numbers.append((categories == category).astype(np.float64))
                names.append(f"{name}={category}")
    return freeze(np.stack(numbers, axis=1)), tuple(names)


@cache
def _read_instance(instance: int) -> tuple[Integers, Floats]:
    """Actions (n,) and potential outcomes (n, 2)."""
    columns = read_columns(installed_file("causallib", f"{_FOLDER}/zymu_{instance}.csv"))
    outcomes = np.ascontiguousarray(np.array([columns["y0"], columns["y1"]], dtype=np.float64).T)
    return freeze(np.array(columns["z"], dtype=np.int64)), freeze((outcomes - outcomes.mean()) / UNIT)


class ACIC2016:
    """A table of potential outcomes with a log by its own treatment. Needs the extra `trials`.

    Users are rows, drawn with replacement; the outcome of an action is the row's (noise included), measured from
    the instance's average in units of 10; the truth is the column's mean. A row of the log has the action that the
    challenge's own treatment gave it. The challenge kept the propensities to itself, so the log has none: estimate
    them. In all ten instances treatment is better and the raw averages agree, most of them too strongly.

    Parameters
    ----------
    instance
        1 to 10, one data-generating process; by default each run draws one.
    n_log
        Rows of the log, drawn with replacement.
    """

    n_actions = len(ACTION_NAMES)

    def __init__(self, instance: int | None = None, n_log: int = 500) -> None:
        if instance is not None and not 1 <= instance <= N_INSTANCES:
            raise OptionError(f"instance must be in 1..{N_INSTANCES}, got {instance}")
        if n_log < 1:
            raise OptionError(f"n_log must be at least 1, got {n_log}")
        self.instance, self.n_log = instance, n_log
        _read_contexts()  # a missing package is found out here and not in the first run

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A log by the challenge's own treatment and a stream of users."""
        chosen = int(rng.integers(1, N_INSTANCES + 1)) if self.instance is None else self.instance
        contexts, names = _read_contexts()
        actions, outcomes = _read_instance(chosen)
        rows = rng.integers(len(actions), size=self.n_log)
        taken = actions[rows]
        log = Log(taken, outcomes[rows, taken], contexts[rows], n_actions=self.n_actions, context_names=names)
        state = TableState(
            outcomes, contexts, outcomes.mean(axis=0), False, np.zeros(1, dtype=np.int64), as_words(rng)
        )
        elsewhere = state._replace(present=np.zeros(1, dtype=np.int64), rng=as_words(rng))
        population = TruePopulation(elsewhere, contexts.shape[1])
        return DrawnWorld(log, contexts.shape[1], state, population)
