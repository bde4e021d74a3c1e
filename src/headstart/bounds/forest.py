"""Theorem 7: how fast the regret of the epsilon-decreasing multi-action forest grows, without a log."""

from __future__ import annotations

import math

from headstart.bounds.conditions import check_positive
from headstart.checks import check_whole
from headstart.errors import OptionError


def forest_exponent(n_features: int, alpha: float = 0.2, pi: float = 1.0) -> float:
    """(1 + beta) / 2: regret is o(T^(this + omega)) for every omega > 0.

    beta = 1 - 2A / (2 + 3A), A = (pi / d) ln(1 / (1 - alpha)) / ln(1 / alpha).

    Parameters
    ----------
    n_features
        d, contexts in [0, 1]^d.
    alpha
        The smallest share of a node's rows on either side of a split, at most 0.2.
    pi
        Every feature is split with chance at least pi / d (Wager and Athey 2018, Definition 3).

    Notes
    -----
    The trees are honest, alpha-regular and symmetric; mean and second moment of the outcomes are Lipschitz in x; the
    forest explores with chance t^-`forest_exploration`. pi = 0, which the paper admits, gives exponent 1: it is then
    not sublinear as claimed. Already for d = 10 the exponent is 0.993, so the theorem promises little in practice.
    """
    return 1.0 - forest_exploration(n_features, alpha, pi)


def forest_exploration(n_features: int, alpha: float = 0.2, pi: float = 1.0) -> float:
    """(1 - beta) / 2 = A / (2 + 3A): the theorem is for exploration with chance t^-this; as `forest_exponent`."""
    d = check_whole("n_features", n_features)
    share, chance = check_positive("alpha", alpha), check_positive("pi", pi)
    if share > 0.2:
        raise OptionError(f"alpha must be at most 0.2 for alpha-regular trees, got {share:g}")
    if chance > 1.0:
        raise OptionError(f"pi must be in (0, 1], got {chance:g}")
    a = chance / d * math.log1p(-share) / math.log(share)
    return a / (2.0 + 3.0 * a)
