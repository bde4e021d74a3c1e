"""What a log's summary is to relatives that know an outcome's variance: means, sizes and a scale."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.summary import Summary
from headstart.priors.logged import check_known


class KnownMeans(NamedTuple):
    """Of each action; a size of 0: the log says nothing of it."""

    means: Floats  # (K,)
    sizes: Floats  # (K,) plays that would know the mean as well
    scale: float  # an outcome's standard deviation


def as_known(summary: Summary, n_actions: int) -> KnownMeans:
    """Means, effective sizes, and the pooled deviation of an outcome, 1 if the log cannot tell."""
    means, sizes, variances, _ = check_known(summary, n_actions)
    pooled = float((sizes * variances).sum() / sizes.sum()) if sizes.any() else 0.0
    return KnownMeans(np.array(means), np.array(sizes), math.sqrt(pooled) if pooled > 0.0 else 1.0)
