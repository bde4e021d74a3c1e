import numpy as np
import pytest

import headstart as hs
from headstart.estimates.summary import Summary
from headstart.worlds import Linear

COMMON = np.array([0.6, -0.3, 0.0])


def _log(slopes, n=2000, noise=0.5, seed=1, **settings):
    levels = np.arange(len(slopes), dtype=float)
    return Linear(levels, slopes, noise=noise, n_log=n, **settings).draw(np.random.default_rng(seed)).log


def test_it_finds_the_slopes_that_actions_share():
    """2,000 rows, noise 0.5: a slope has an s.e. of 0.5 / sqrt(2000) = 0.011."""
    pulls = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    line = hs.ControlLine.of_log(_log(np.tile(COMMON, (3, 1)), pulls=pulls))
    assert np.abs(line.slopes / line.scales - COMMON).max() < 4 * 0.0112
    assert line.pays


def test_what_it_explains_is_the_share_of_the_variance_within_actions():
    """|slopes|^2 = 0.45 and noise^2 = 0.25: 0.643; the s.e. of a share of 2,000 rows is below 0.015."""
    line = hs.ControlLine.of_log(_log(np.tile(COMMON, (3, 1))))
    assert abs(line.explained - 0.45 / 0.70) < 4 * 0.015
    assert abs(line.variance - 0.70) < 4 * 0.70 * np.sqrt(2 / 2000)


def test_contexts_that_say_nothing_do_not_pay():
    """A gain is above two standard errors by chance in less than 1 log of 40: of 40 logs at most 5 (1 in 1,000)."""
    lines = [hs.ControlLine.of_log(_log(np.zeros((2, 3)), n=300, seed=seed)) for seed in range(40)]
    assert sum(line.pays for line in lines) <= 5


def test_a_column_of_one_value_and_a_log_without_contexts():
    log = _log(np.tile(COMMON, (2, 1)), n=200)
    widened = hs.Log(log.actions, log.outcomes, np.column_stack([np.full(200, 7.0), log.contexts]))
    line, wider = hs.ControlLine.of_log(log), hs.ControlLine.of_log(widened)
    assert wider.slopes[0] == 0.0
    assert wider.slopes[1:] == pytest.approx(line.slopes, abs=1e-12)
    bare = hs.ControlLine.of_log(hs.Log(log.actions, log.outcomes))
    assert bare.n_features == 0
    assert not bare.pays


def test_plays_are_worth_less_beside_outcomes_that_vary_less():
    """A line that takes away 3/4 of the variance: the same error is worth a quarter of the plays."""
    line = hs.ControlLine(*(np.zeros(1),) * 2, np.ones(1), np.eye(1), 100, variance=4.0, gain=3.0, gain_error=0.1)
    told = line.adjust(Summary(np.zeros(2), np.full(2, 0.1), np.full(2, 4.0)))
    assert told.variances.tolist() == [1.0, 1.0]
    assert told.effective_sizes == pytest.approx([100.0, 100.0])
