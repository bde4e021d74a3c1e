"""Missing outcomes: is one action answered less than another, and have reports stopped coming?

An action's share of decisions with an outcome is compared with that of all decisions made at about the same time
(Mantel and Haenszel 1959, a table for each bucket of the timeline): an action that is shown more of late has more
outcomes still to come, and would seem to lack them. Decisions that have no outcome are then not at random, and means
of those that have one are of people who answer.
"""

from __future__ import annotations

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.sequences import boundary
from headstart.serve.telling.outcomes import tell_share
from headstart.serve.telling.timeline import Timeline

_LEVEL = 1e-4  # about the chance that equal shares ever raise an alarm
_LEAST = 0.02  # a difference of shares that matters
_SILENCE = 200  # decisions without a report, at least
_EXPECTED = 20.0  # reports that should have come by then: without cause, a chance of exp(-20)


def find_uneven(line: Timeline) -> tuple[Floats, Floats]:
    """How far each action's share of outcomes is from that of all, (K,), and by how many standard errors."""
    shown, heard = line.shown, line.heard
    n, answered = shown.sum(axis=1, keepdims=True), heard.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(n > 0, heard - shown * answered / n, 0.0).sum(axis=0)
        left = np.maximum(n - answered, 0.0)
        each = np.where(n > 1, shown * (n - shown) * answered * left / (n * n * (n - 1.0)), 0.0)
        variances = each.sum(axis=0)
        return apart / shown.sum(axis=0), np.where(variances > 0, apart / np.sqrt(variances), 0.0)


def tell_missing(line: Timeline, names: list[str], silence: int, reports: int, decisions: int) -> list[str]:
    """Alarms. `silence` is the number of decisions since the last of `reports`."""
    return [*_tell_uneven(line, names), *_tell_silence(silence, reports, decisions)]


def _tell_uneven(line: Timeline, names: list[str]) -> list[str]:
    apart, errors = find_uneven(line)
    shares = line.heard.sum(axis=0) / np.maximum(line.shown.sum(axis=0), 1.0)
    limit = boundary(line.shown.sum(axis=0), _LEVEL / max(1, len(names)))
    return [
        f"{tell_share(shares[a])} of the decisions for {names[a]} have an outcome, {tell_share(abs(apart[a]), 1)} "
        f"{'less' if apart[a] < 0.0 else 'more'} than others of the same time: is it reported when nothing happens?"
        for a in np.flatnonzero((np.abs(errors) > limit) & (np.abs(apart) > _LEAST))
    ]


def _tell_silence(silence: int, reports: int, decisions: int) -> list[str]:
    before = decisions - silence
    if silence < _SILENCE or before <= 0 or silence * reports / before < _EXPECTED:
        return []
    return [
        f"No outcome was reported since {silence:,} decisions; before, {reports:,} came of {before:,}: do reports "
        "still reach the service?"
    ]
