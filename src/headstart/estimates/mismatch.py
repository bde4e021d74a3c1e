"""Sample ratio mismatch: do actions come as often as the chances that they were drawn with say? Asked at every look.

A gambler who is paid by the logged chances bets on each decision before it is drawn, by what came so far: an action
that came more often than its chances said gets a larger share of the stake. With p_t the chances of decision t, n_a
how often action a came before it and e_a the sum of its chances,

    q_t(a) = p_t(a) r_a / sum over b of p_t(b) r_b,    r_a = (n_a + c) / (e_a + c),

the fortune is multiplied by q_t(a_t) / p_t(a_t). If actions are drawn with the logged chances it is a martingale that
begins with 1, whatever the policy learnt, so it is ever above 1 / alpha with a chance of at most alpha (Ville 1939):
1 / its largest value is a p-value that holds whoever looks how often, exactly and for few decisions too.
"""

from __future__ import annotations

import numpy as np

from headstart.arrays import Floats, Integers

CAUTION = 100.0  # decisions that the ratio of 1 counts for


def log_winnings(actions: Integers, chances: Floats, seen: Floats, expected: Floats) -> Floats:
    """What each decision, (n,), drawn with chances (n, K), adds to the logarithm of the fortune.

    `seen` and `expected`, (K,), are how often each action came and the sum of its chances before the first of them.
    """
    came = np.zeros(chances.shape)
    came[np.arange(actions.size), actions] = 1.0
    before, wanted = seen + np.cumsum(came, axis=0) - came, expected + np.cumsum(chances, axis=0) - chances
    ratios = (before + CAUTION) / (wanted + CAUTION)
    shares = (chances * ratios).sum(axis=1) / chances.sum(axis=1)
    return np.log(ratios[np.arange(actions.size), actions]) - np.log(shares)
