"""LaLonde: job training that an experiment found to help, and a log whose untreated are another population.

The National Supported Work demonstration (LaLonde 1986, American Economic Review 76, 604-620) gave training by
lot to some of the long unemployed; Dehejia and Wahba (1999, JASA 94, 1053-1062) published the sample used here,
185 trained and 260 not, and the 15,992 untrained people of the Current Population Survey (CPS-1). The files are
those of the Python package causaldata (MIT), which names the data "LaLonde 1986" and "public domain".
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.errors import OptionError
from headstart.extras import brought_by
from headstart.logs.log import Log
from headstart.worlds.drawn import DrawnWorld, freeze
from headstart.worlds.installed import installed_file
from headstart.worlds.trial import Trial

ACTION_NAMES = ("no training", "training")
CONTEXT_NAMES = ("age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75")
UNIT = 10_000.0  # dollars of 1978's earnings: makes an outcome's standard deviation 0.66


def _read_stata(file: Path) -> Any:
    with brought_by("trials"):
        pandas = import_module("pandas")
    return pandas.read_stata(file)


@cache
def _read(name: str) -> tuple[Integers, Floats, Floats]:
    """Actions (n,), outcomes (n,), contexts (n, d)."""
    frame = _read_stata(installed_file("causaldata", f"{name}/{name}.dta"))
    contexts = np.stack([frame[column].to_numpy(dtype=np.float64) for column in CONTEXT_NAMES], axis=1)
    actions, outcomes = frame["treat"].to_numpy(dtype=np.int64), frame["re78"].to_numpy(dtype=np.float64) / UNIT
    return freeze(actions.copy()), freeze(outcomes), freeze(np.ascontiguousarray(contexts))


class LaLonde:
    """Online: the experiment. Log: its trained people beside survey respondents. Needs the extra `trials`.

    The outcome is the earnings of 1978 in units of 10,000 dollars, so the truth is 0.455 without and 0.635 with
    training (1,794 dollars of effect). The users are the experiment's people and a user shown an action has the
    outcome of a random one of its arm. The log has the trained people of the same experiment, but its untrained
    are drawn from the survey: older, mostly married, with nearly seven times the earnings of 1974. What the log's
    people would have earned is not what the users will earn, whatever the weights; only an evaluator that is
    told who the users are (WarmStart's `contexts`) can answer for them. The log has no propensities: estimate
    them.

    Parameters
    ----------
    n_treated, n_controls
        Rows of the log from the experiment's trained people and from the survey, each drawn with replacement.
    """

    n_actions = len(ACTION_NAMES)

    def __init__(self, n_treated: int = 185, n_controls: int = 2000) -> None:
        for name, value in (("n_treated", n_treated), ("n_controls", n_controls)):
            if value < 1:
                raise OptionError(f"{name} must be at least 1, got {value}")
        self.n_treated, self.n_controls = n_treated, n_controls
        actions, outcomes, contexts = _read("nsw_mixtape")
        self.trial = Trial(actions, outcomes, contexts, context_names=CONTEXT_NAMES)
        self._treated = outcomes[actions == 1], contexts[actions == 1]
        self._controls = _read("cps_mixtape")[1:]

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A log of trained people and survey respondents, and a stream of the experiment's people."""
        treated = rng.integers(len(self._treated[0]), size=self.n_treated)
        controls = rng.integers(len(self._controls[0]), size=self.n_controls)
        outcomes, contexts = (
            np.concatenate([ours[treated], theirs[controls]])
            for ours, theirs in zip(self._treated, self._controls, strict=True)
        )
        actions = np.repeat([1, 0], [self.n_treated, self.n_controls])
        log = Log(actions, outcomes, contexts, n_actions=self.n_actions, context_names=CONTEXT_NAMES)
        return self.trial.draw_stream(log, rng)
