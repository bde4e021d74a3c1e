"""What a table of decisions is expected to gain over today's policy, which the log shows at work.

The gain of a user is the average over a stated sample of users of sum over a of P(a | x) m_a(x), less the log's mean
outcome; m_a(x) is what the policy believes by now. Its error has three parts, added in squares: that of the beliefs,
taken as if they all erred together (which is the most they can), that of the sample, and that of the log's mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.judgement.start.started import Started
from headstart.numerals import number, signed
from headstart.parts.identity import identity_of
from headstart.parts.tables.decisions import DecisionTable

_NORMAL = 1.959963984540054


class Gain(NamedTuple):
    """A user's expected gain over today's policy, with a 95 % interval."""

    gain: float
    low: float
    high: float
    today: float  # the log's mean outcome
    n_sampled: int

    def __str__(self) -> str:
        return (
            f"The expected gain over today's policy is {signed(self.gain)} a user (95 % interval {signed(self.low)} "
            f"to {signed(self.high)}); today a user brings {number(self.today)}."
        )


def expected_gain(policy: Started, decisions: DecisionTable) -> Gain | None:
    """The gain of these decisions; None where nobody can say: a forest does not say what it expects, and a log that
    counts for nothing gives nothing to expect."""
    identity = identity_of(policy)
    if identity is None or identity.log is None or not policy.worth.any():
        return None
    sampled = decisions.sampled()
    believed = None if sampled is None else policy.expected_outcomes(sampled[0])
    if sampled is None or believed is None:
        return None
    _, chances = sampled
    means, errors = believed
    known = np.isfinite(means) & np.isfinite(errors)
    weights = np.where(known, chances, 0.0)
    values = _weighted(weights, means)
    today, doubt = identity.log.mean_outcome()
    doubts = (float(_weighted(weights, errors).mean()), float(values.std() / math.sqrt(values.size)), doubt)
    gain, error = float(values.mean()) - today, math.hypot(*doubts)
    return Gain(gain, gain - _NORMAL * error, gain + _NORMAL * error, today, values.size)


def _weighted(weights: Floats, values: Floats) -> Floats:
    """The average of each row, over the actions that anything is known of."""
    total = np.maximum(weights.sum(axis=1), 1e-300)
    averages: Floats = np.where(weights > 0.0, weights * np.nan_to_num(values), 0.0).sum(axis=1) / total
    return averages
