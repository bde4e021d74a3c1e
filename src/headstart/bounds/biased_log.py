"""Theorem 5: what a log costs that breaks the assumptions, in terms of the bias of its virtual outcomes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from headstart.bounds.conditions import RARE_PLAYS, check_biases, check_gaps, check_rounds, check_sizes
from headstart.bounds.ucb import enough_plays


def biased_log_upper(gaps: ArrayLike, horizon: int, sizes: ArrayLike, biases: ArrayLike) -> float:
    """Theorem 5, corrected: sum of Delta_a min{T, 1 + pi^2/3 + max{0, x_a - N_a}}.

    With b = max{0, -delta of the best action}, D_a = Delta_a - b and u = 8 ln(T + sum of N_a) / D_a^2:
    x_a = (sqrt(u) + sqrt(u + 4 N_a max{0, delta_a} / D_a))^2 / 4, and infinite if D_a <= 0.

    Parameters
    ----------
    gaps, horizon
        Delta_a, (K,), of outcomes in [0, 1]; T. The oracle is `UCB` with beta = 1.
    sizes
        N_a: virtual plays of each action, (K,).
    biases
        delta_a: the mean of the virtual outcomes of a minus E[y | a], (K,); ignored where N_a = 0.

    Notes
    -----
    x_a is the smallest x with x D_a - N_a delta_a >= sqrt(8 x ln n): where the widths of a worse action's bound
    have shrunk below what its diluted bias leaves of the gap. Only the best action's underestimate counts, and
    in full: the oracle need not play it and so need not correct it. Its overestimate does not help, as the paper's
    delta_a - delta_(a*) says it would, because it is played online and corrected while the other action's bias
    stays. The paper also has 16 where 8 does, and 2 N_a (1 - delta / Delta), which promises too much as soon
    as delta comes near Delta: at delta = Delta the plays needed still grow like sqrt(N_a).
    """
    missed, rounds = check_gaps(gaps), check_rounds(horizon)
    plays = check_sizes("sizes", sizes, missed.size)
    bias = np.where(plays > 0.0, check_biases(biases, missed.size), 0.0)
    left = missed - np.maximum(0.0, -bias[missed == 0.0]).min()  # of several best actions, the best known will do
    is_learnable = left > 0.0
    u = enough_plays(left, rounds + plays.sum())
    diluted = np.divide(4.0 * plays * np.maximum(0.0, bias), left, out=np.zeros_like(left), where=is_learnable)
    needed = np.where(is_learnable, (np.sqrt(u) + np.sqrt(u + diluted)) ** 2 / 4.0, np.inf)
    return float(missed @ np.minimum(rounds, RARE_PLAYS + np.maximum(0.0, needed - plays)))


def biased_log_upper_printed(
    gaps: ArrayLike, horizon: int, sizes: ArrayLike, biases: ArrayLike, *, is_clipped: bool = False
) -> float:
    """Theorem 5 as printed; arguments as in `biased_log_upper`, which is right where this is not.

    sum of Delta_a (16 ln(N_a + T) / Delta_a^2 - 2 N_a (1 - max{0, delta_a - delta_(a*)} / Delta_a) + 1 + pi^2/3).
    For large N_a it is negative; `is_clipped` takes max{0, .} of all but the constant, action by action. Clipped, it
    is still no bound for a biased log.
    """
    missed, rounds = check_gaps(gaps), check_rounds(horizon)
    plays = check_sizes("sizes", sizes, missed.size)
    bias = check_biases(biases, missed.size)
    is_worse = missed > 0.0
    gap, n = missed[is_worse], plays[is_worse]
    harm = np.maximum(0.0, bias[is_worse] - bias[np.argmin(missed)])
    online = 16.0 * np.log(n + rounds) / gap**2 - 2.0 * n * (1.0 - harm / gap)
    if is_clipped:
        online = np.maximum(0.0, online)
    return float(gap @ (online + RARE_PLAYS))
