"""ACTG 175: four HIV therapies, compared in a randomised trial; a log in which the sickest got the best one.

The trial (Hammer et al. 1996, New England Journal of Medicine 335, 1081-1090) gave 2,139 patients by lot
zidovudine alone, with didanosine, with zalcitabine, or didanosine alone. The data are those of the R package
speff2trial (GPL-2), in the copy that the Python package lifelines (MIT) carries; neither names a separate
licence for the data.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.worlds.drawn import DrawnWorld, freeze
from headstart.worlds.installed import installed_file, read_columns
from headstart.worlds.trial import Trial

ACTION_NAMES = ("zidovudine", "zidovudine + didanosine", "zidovudine + zalcitabine", "didanosine")
CONTEXT_NAMES = (
    *("age", "wtkg", "hemo", "homo", "drugs", "karnof", "oprior", "z30", "preanti", "race", "gender", "str2"),
    *("symptom", "cd40", "cd80"),
)
UNIT = 300.0  # CD4 cells per cubic millimetre: makes an outcome's standard deviation 0.48
ZERO = 350.0  # the average at the start of the trial
# By quarter of the CD4 count at the start, lowest first: who was worst off was given the strongest therapy.
POLICY = ((0.1, 0.6, 0.15, 0.15), (0.2, 0.5, 0.15, 0.15), (0.5, 0.2, 0.15, 0.15), (0.6, 0.1, 0.15, 0.15))


@cache
def _read() -> tuple[Integers, Floats, Floats, Integers, Integers]:
    """Actions (n,), outcomes (n,), contexts (n, d), quarters of the first CD4 count (n,), therapy before (n,)."""
    columns = read_columns(installed_file("lifelines", "datasets/ACTG175.csv"))
    contexts = np.array([columns[name] for name in CONTEXT_NAMES], dtype=np.float64).T
    start = contexts[:, CONTEXT_NAMES.index("cd40")]
    quarters = np.searchsorted(np.quantile(start, [0.25, 0.5, 0.75]), start, side="right")
    before = contexts[:, CONTEXT_NAMES.index("str2")].astype(np.int64)
    actions = np.array(columns["arms"], dtype=np.int64)
    outcomes = (np.array(columns["cd420"], dtype=np.float64) - ZERO) / UNIT
    rows = np.ascontiguousarray(contexts)
    return freeze(actions), freeze(outcomes), freeze(rows), freeze(quarters), freeze(before)


class ACTG175:
    """The four-arm trial as a `Trial`, with a log confounded by how ill a patient was. Needs the extra `trials`.

    The outcome is the CD4 count after 20 weeks, measured from 350 cells per cubic millimetre (the average at the
    start) in units of 300: about -0.06, 0.19, 0.07 and 0.09 for the four therapies. The cells are the quarters of
    the CD4 count at the start times whether the patient had been treated before (8). The log's policy depends on
    the quarter (`POLICY`), so its propensities are known, and its raw averages rank the worst therapy first.

    Parameters
    ----------
    n_log
        Rows of the log.
    is_contextual
        Regret against the best therapy of the patient's cell instead of the best for all.
    """

    n_actions = len(ACTION_NAMES)

    def __init__(self, n_log: int = 300, is_contextual: bool = False) -> None:
        actions, outcomes, contexts, quarters, before = _read()
        self.trial = Trial(
            actions,
            outcomes,
            contexts,
            cells=2 * quarters + before,
            policy=np.repeat(np.array(POLICY), 2, axis=0),
            n_log=n_log,
            is_contextual=is_contextual,
            context_names=CONTEXT_NAMES,
        )
        self.n_log = n_log

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A log with rows deleted by the stated policy and a stream of patients."""
        return self.trial.draw(rng)
