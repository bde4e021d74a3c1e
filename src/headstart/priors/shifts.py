"""Logs of other seasons: what one says of all actions alike above or below another.

d_a, the difference of two logs' means of action a, is l and noise of variance v_a where both are right, and noise of
variance v_a + 2 S^2 more where one is wrong. l is 0 with chance `still`, and N(0, (off S)^2) otherwise
(`LevelOptions`, as for users beside a log). Where l is likelier not to be 0, the log is moved by its mean, and its
errors take up its deviation: what it knows is how actions differ. It takes two actions that both logs show.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.summary import Summary
from headstart.priors.options import LevelOptions

_WINDOW = np.linspace(-6.0, 6.0, 49)  # deviations around each difference where l is looked for
_COARSE = 81  # places over the whole reach


class Shift(NamedTuple):
    """By how much a log's means of all actions are above another's, as far as it is known; 0: not at all."""

    size: float
    error: float  # its standard deviation

    def undo(self, summary: Summary) -> Summary:
        """What the log says at the other's level."""
        if self.size == 0.0:
            return summary
        errors = np.hypot(summary.standard_errors, self.error)
        return replace(summary, means=summary.means - self.size, standard_errors=errors)


NONE = Shift(0.0, 0.0)


def find_level_shift(log: Summary, other: Summary, trust: Floats, spread: float, options: LevelOptions) -> Shift:
    """How far a log's level is from another's; `trust`, (K,), the chance that both are right about an action."""
    apart, variances = log.means - other.means, log.standard_errors**2 + other.standard_errors**2
    is_shared = np.isfinite(apart) & np.isfinite(variances) & (variances > 0.0) & (trust > 0.0)
    if is_shared.sum() < 2 or spread <= 0.0 or options.still == 1.0:
        return NONE
    d, v, w = apart[is_shared], variances[is_shared], np.minimum(trust[is_shared], 1.0 - 1e-9)
    width = options.off * spread
    near = (d[:, None] + np.sqrt(v)[:, None] * _WINDOW).ravel()
    ends = max(options.reach * spread, float(np.abs(near).max()))
    places = np.unique(np.concatenate([np.linspace(-ends, ends, _COARSE), near]))
    likely = _evidence(places, d, v, w, spread) - 0.5 * (places / width) ** 2 - np.log(width * np.sqrt(2.0 * np.pi))
    same = float(_evidence(np.zeros(1), d, v, w, spread)[0])
    top = max(float(likely.max()), same)
    density = np.exp(likely - top)
    off = (1.0 - options.still) * _integrate(density, places)
    if off <= options.still * np.exp(same - top):
        return NONE
    density /= _integrate(density, places)
    mean = _integrate(density * places, places)
    return Shift(mean, float(np.sqrt(_integrate(density * (places - mean) ** 2, places))))


def _evidence(places: Floats, d: Floats, v: Floats, w: Floats, spread: float) -> Floats:
    """The logarithm of how likely the differences are at each l."""
    squares = (d - places[:, None]) ** 2
    right = np.log(w) - 0.5 * (squares / v + np.log(v))
    wide = v + 2.0 * spread**2
    wrong = np.log1p(-w) - 0.5 * (squares / wide + np.log(wide))
    told: Floats = np.logaddexp(right, wrong).sum(axis=1)
    return told


def _integrate(values: Floats, places: Floats) -> float:
    return float(np.sum(0.5 * (values[1:] + values[:-1]) * np.diff(places)))
