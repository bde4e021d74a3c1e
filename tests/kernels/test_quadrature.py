"""The quadrature's numbers are what they are called, and the same on every processor."""

from __future__ import annotations

import numpy as np

from headstart.kernels.quadrature import CUMULATIVE, N_NODES, NODES, WEIGHTS
from tests.processors import run_as_on

_CHANCES = """
import numpy as np
import headstart as hs
for oracle in (hs.ThompsonNormal(4, rng=1), hs.ThompsonBeta(4, rng=1), hs.RobustThompson(
    4, hs.Summary(np.array([0.2, 0.5, 0.4, 0.1]), np.full(4, 0.1), np.full(4, 0.25)), rng=1
)):
    for i in range(40):
        oracle.update(None, i % 4, float(i * 7 % 11 < 4))
    print(oracle.probabilities().tobytes().hex())
"""


def test_nodes_and_weights_are_those_of_gauss_and_legendre():
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    np.testing.assert_allclose(NODES, nodes, rtol=0, atol=1e-15)
    np.testing.assert_allclose(WEIGHTS, weights, rtol=0, atol=1e-15)


def test_the_integral_to_each_node_is_exact_for_polynomials():
    """The integral of x^m from -1 to t is (t^(m + 1) - (-1)^(m + 1)) / (m + 1)."""
    for power in range(N_NODES):
        exact = (NODES ** (power + 1) - (-1.0) ** (power + 1)) / (power + 1)
        np.testing.assert_allclose(CUMULATIVE @ NODES**power, exact, rtol=0, atol=1e-14)


def test_the_chance_of_being_best_is_the_same_on_another_processor():
    assert run_as_on("Prescott", _CHANCES) == run_as_on("Nehalem", _CHANCES) == run_as_on(None, _CHANCES)
