"""UCB alone (Auer et al. 2002, Theorem 1) and with inverse propensity score weighting (Theorem 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.bounds.conditions import RARE_PLAYS, check_gaps, check_rounds, check_sizes


def enough_plays(gaps: ArrayLike, n_plays: float) -> Floats:
    """8 ln n / Delta_a^2: plays of a worse action after which UCB leaves it alone, (K,); 0 for the best ones.

    The paper's threshold, with n = T + the virtual plays: from so many virtual plays on, the log saves nothing more.
    """
    missed = np.asarray(gaps, dtype=np.float64)
    with np.errstate(over="ignore"):
        roots = np.divide(np.sqrt(8.0 * np.log(n_plays)), missed, out=np.zeros_like(missed), where=missed > 0.0)
        enough: Floats = roots**2
    return enough


def ucb_regret(gaps: ArrayLike, horizon: int) -> float:
    """Without a log: sum over worse actions of 8 ln T / Delta_a + (1 + pi^2 / 3) Delta_a.

    For outcomes in [0, 1] and `UCB` with beta = 1.
    """
    missed, rounds = check_gaps(gaps), check_rounds(horizon)
    return float(missed @ (enough_plays(missed, rounds) + RARE_PLAYS))


def ips_weighting_upper(gaps: ArrayLike, horizon: int, effective_sizes: ArrayLike) -> float:
    """Theorem 4: sum of Delta_a (1 + pi^2/3 + max{0, 8 ln(T + sum of ceil N_a) / Delta_a^2 - floor N_a}).

    N_a = (sum 1/p)^2 / sum 1/p^2 over the rows of a: `IPSWeighting(log).effective_sizes`. For outcomes in [0, 1],
    propensities bounded away from 0 and `UCB` with beta = 1.

    Notes
    -----
    As printed, and not proved: the paper takes N_a for a sample size given the weights, but which contexts
    were drawn is random too, and with them the weights. Where the logging policy is the same for
    everyone, N_a is the number of rows and the theorem holds. Elsewhere it is optimistic, and it fails outright when
    rows that ought to have been logged once or twice carry much of a mean: without them the mean is wrong and N_a
    is large, because the weights of the rows that are there are equal. No function of N_a alone can be a bound.
    """
    missed, rounds = check_gaps(gaps), check_rounds(horizon)
    sizes = check_sizes("effective_sizes", effective_sizes, missed.size)
    return float(missed @ weighting_plays(missed, rounds, sizes))


def weighting_plays(gaps: Floats, horizon: int, sizes: Floats) -> Floats:
    """Theorem 4's expected online plays of each action, (K,), in the form it has for a worse one."""
    enough = enough_plays(gaps, horizon + np.ceil(sizes).sum())
    return RARE_PLAYS + np.maximum(0.0, enough - np.floor(sizes))
