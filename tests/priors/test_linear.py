"""The linear prior of several penalties: all of them at once are what each of them is alone."""

import numpy as np
import pytest

from headstart.estimates.ridge import centre_rows
from headstart.priors.linear import _average, _build, _only, _Penalties
from headstart.priors.options import LinearPriorOptions


@pytest.fixture
def sums():
    """Rows of three actions of four, 2 columns."""
    rng = np.random.default_rng(3)
    contexts, actions = rng.standard_normal((60, 2)), rng.integers(0, 3, 60)
    outcomes = contexts @ [1.0, -0.5] + actions + rng.standard_normal(60)
    return centre_rows(contexts, actions, outcomes, np.ones(60), 4)


def test_several_penalties_at_once_are_each_alone(sums):
    options = LinearPriorOptions()
    some = _Penalties(np.array([2.0, 0.5, 9.0]), np.array([1.0, 4.0, 0.1]), np.array([0.5, 0.3, 0.2]))
    centres, inverses = _build(sums, some, 1.3, 2.0, options)
    for i, (c, c_own) in enumerate(zip(some.c, some.c_own, strict=True)):
        centre, inverse = _build(sums, _only(c, c_own), 1.3, 2.0, options)
        np.testing.assert_allclose(centres[i], centre[0], rtol=1e-13)
        np.testing.assert_allclose(inverses[i], inverse[0], rtol=1e-13)


def test_what_is_not_known_of_the_penalties_is_spread(sums):
    """A mixture's covariance is the mean of covariances and the covariance of means."""
    some = _Penalties(np.array([2.0, 0.5]), np.array([1.0, 4.0]), np.array([0.75, 0.25]))
    centres, inverses = _build(sums, some, 1.3, 2.0, LinearPriorOptions())
    mean, about = _average(sums, some, 1.3, 2.0, LinearPriorOptions())
    np.testing.assert_allclose(mean, 0.75 * centres[0] + 0.25 * centres[1])
    apart = centres[0] - centres[1]
    between = 0.75 * 0.25 * apart[..., :, None] * apart[..., None, :]
    np.testing.assert_allclose(1.3 * about, 1.3 * (0.75 * inverses[0] + 0.25 * inverses[1]) + between, atol=1e-12)
