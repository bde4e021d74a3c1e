"""The Beta distribution's tail and what it holds above a reference, against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

from headstart.kernels.beta import beta_tail, gain_above_beta, gain_after_plays, log_beta

CASES = [(1.0, 99.0, 0.02), (1.0, 1.0, 0.3), (0.5, 40.0, 0.05), (30.0, 2.0, 0.97), (200.0, 300.0, 0.42)]


@pytest.mark.parametrize(("a", "b", "x"), CASES)
def test_the_tail(a, b, x):
    assert beta_tail(a, b, x) == pytest.approx(stats.beta(a, b).sf(x), rel=1e-10)
    assert log_beta(a, b) == pytest.approx(special.betaln(a, b), rel=1e-13)


@pytest.mark.parametrize(("a", "b", "x"), CASES)
def test_the_gain_is_the_integral_above_the_reference(a, b, x):
    chance = stats.beta(a, b)
    expected, _ = integrate.quad(lambda y: (y - x) * chance.pdf(y), x, 1.0, epsabs=1e-15, limit=500)
    assert gain_above_beta(a, b, x) == pytest.approx(expected, rel=1e-9)


def test_the_ends():
    assert beta_tail(2.0, 3.0, 0.0) == 1.0
    assert beta_tail(2.0, 3.0, 1.0) == 0.0
    assert gain_above_beta(2.0, 3.0, -0.5) == pytest.approx(0.9)
    assert gain_above_beta(2.0, 3.0, 1.0) == 0.0
    # One row of a uniform chance: E max(x - r, 0) = (1 - r)^2 / 2.
    np.testing.assert_allclose([gain_above_beta(1.0, 1.0, r) for r in (0.25, 0.75)], [0.28125, 0.03125])


@pytest.mark.parametrize(
    ("a", "b", "plays", "x"),
    [
        (1.0, 230.0, 64, 0.0127),
        (1.0, 230.0, 512, 0.0127),
        (3.5, 100.2, 128, 0.05),
        (1.0, 1.0, 16, 0.7),
        (2.0, 3.0, 8, 0.1),
    ],
)
def test_the_gain_after_plays_is_the_sum_over_their_successes(a, b, plays, x):
    """The slow twin: every number of successes, by its beta-binomial chance."""
    k = np.arange(plays + 1)
    expected = stats.betabinom(plays, a, b).pmf(k) @ np.maximum((a + k) / (a + b + plays) - x, 0.0)
    assert gain_after_plays(a, b, float(plays), x) == pytest.approx(expected, rel=1e-8)


def test_the_gain_after_plays_by_hand():
    """A uniform chance, one play: its mean becomes 1/3 or 2/3, each as likely. Above 1/2 that gains (2/3 - 1/2) / 2.

    What no number of successes can reach gains nothing, and more than 64 successes are not summed."""
    assert gain_after_plays(1.0, 1.0, 1.0, 0.5) == pytest.approx(1 / 12)
    assert gain_after_plays(1.0, 1.0, 1.0, 0.7) == 0.0
    assert np.isnan(gain_after_plays(1.0, 1.0, 512.0, 0.5))
