"""The chance that a draw from a capped mixture of Student distributions is the largest."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from headstart.kernels import compiled
from headstart.kernels.choice import NORMAL, probability_of_best
from headstart.kernels.mixtures import Mixtures, probability_of_best_mixture
from headstart.kernels.random import draw_student
from tests.kernels.test_random import reference_words

ACCURACY = 1e-8  # what the docstring claims
NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)


def as_mixtures(weights, centres, scales, freedoms, cap_centres=None, cap_scales=None) -> Mixtures:
    k = len(weights)
    arrays = [np.array(values, dtype=float) for values in (weights, centres, scales, freedoms)]
    caps = [np.full(k, np.inf) if c is None else np.array(c, dtype=float) for c in (cap_centres, cap_scales)]
    return Mixtures(*arrays, *caps)


def chances(draws: Mixtures, available=None) -> np.ndarray:
    k = len(draws.freedoms)
    out = np.empty(k)
    mask = np.ones(k, dtype=np.bool_) if available is None else np.array(available)
    compiled(probability_of_best_mixture, Mixtures)(draws, mask, out)
    return out


class Draw:
    """One action's draw, by scipy."""

    def __init__(self, draws: Mixtures, a: int) -> None:
        freedom = draws.freedoms[a]
        self.weights = draws.weights[a]
        self.parts = [stats.t(freedom, *c) for c in zip(draws.centres[a], draws.scales[a], strict=True)]
        self.is_capped = np.isfinite(draws.cap_scales[a])
        self.start = draws.cap_centres[a] if self.is_capped else np.inf
        self.cap = stats.t(freedom, draws.cap_centres[a], draws.cap_scales[a])

    def survival(self, x):
        own = sum(w * part.sf(x) for w, part in zip(self.weights, self.parts, strict=True))
        return own * np.where(x < self.start, 1.0, 2.0 * self.cap.sf(x)) if self.is_capped else own

    def density(self, x):
        own = sum(w * part.pdf(x) for w, part in zip(self.weights, self.parts, strict=True))
        if not self.is_capped:
            return own
        above = sum(w * part.sf(x) for w, part in zip(self.weights, self.parts, strict=True))
        return np.where(x < self.start, own, 2.0 * (own * self.cap.sf(x) + above * self.cap.pdf(x)))

    def points(self):
        levels = np.concatenate([10.0 ** np.arange(-13, -1), [0.03, 0.1, 0.2, 0.35, 0.5]])
        parts = [*self.parts, *([self.cap] if self.is_capped else [])]
        ends = [f(level) for part in parts for level in levels for f in (part.ppf, part.isf)]
        return [*ends, *([self.start] if self.is_capped else [])]


def reference(draws: Mixtures) -> np.ndarray:
    """integral of f_a prod F_b by 60-point Gauss-Legendre between quantiles of every part, F from scipy."""
    actions = [Draw(draws, a) for a in range(len(draws.freedoms))]
    points = np.unique(np.concatenate([action.points() for action in actions]))
    half = np.diff(points)[:, None] / 2
    x = points[:-1, None] + half * (1 + NODES)
    out = []
    for a, action in enumerate(actions):
        value = action.density(x)
        for b, other in enumerate(actions):
            if b != a:
                value = value * (1.0 - other.survival(x))
        out.append(float((half * WEIGHTS * value).sum()))
    assert sum(out) == pytest.approx(1.0, abs=ACCURACY / 2)  # the reference is good enough to judge by
    return np.array(out)


ONE = [[1.0]]
CASES = {
    "two alike": as_mixtures(ONE * 2, [[0.0], [0.0]], [[1.0], [1.0]], [10.0, 10.0]),
    "few freedoms": as_mixtures(ONE * 3, [[0.0], [1.0], [0.5]], [[1.0], [0.5], [2.0]], [2.5, 4.0, 3.0]),
    "narrow and wide": as_mixtures(ONE * 2, [[0.0], [0.3]], [[1.0], [1e-4]], [8.0, 1e6]),
    "normals": as_mixtures(ONE * 3, [[0.0], [1.0], [2.0]], [[1.0], [0.5], [0.25]], [math.inf] * 3),
    "mixtures": as_mixtures(
        [[0.8, 0.2], [0.5, 0.5], [0.01, 0.99]],
        [[0.0, 0.5], [0.6, 0.5], [1.0, 0.4]],
        [[0.1, 1.0], [0.02, 1.0], [0.01, 0.3]],
        [8.0, 38.0, 1000.0],
    ),
    "capped": as_mixtures(
        [[0.8, 0.2], [0.5, 0.5], [0.9, 0.1]],
        [[0.0, 0.5], [0.6, 0.5], [1.0, 0.4]],
        [[0.1, 1.0], [0.05, 1.0], [0.01, 0.3]],
        [8.0, 38.0, 100.0],
        [-0.5, np.inf, 0.1],
        [0.4, np.inf, 0.2],
    ),
    "a cap far below": as_mixtures(
        ONE * 2, [[0.0], [5.0]], [[1.0], [0.1]], [9.0, 30.0], [np.inf, -3.0], [np.inf, 0.01]
    ),
    "ten": as_mixtures(
        [[0.7, 0.3]] * 10, [[0.1 * a, 0.9] for a in range(10)], [[0.1, 1.0]] * 10, [20.0] * 10, [0.3] * 10, [0.5] * 10
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_chances_are_scipys_to_1e8(name):
    got = chances(CASES[name])
    np.testing.assert_allclose(got, reference(CASES[name]), rtol=0, atol=ACCURACY)
    assert got.sum() == pytest.approx(1.0, abs=1e-14)


def test_normal_components_agree_with_the_normal_family():
    draws, expected = CASES["normals"], np.empty(3)
    compiled(probability_of_best)(
        NORMAL, draws.centres[:, 0].copy(), draws.scales[:, 0].copy(), np.ones(3, dtype=np.bool_), expected
    )
    np.testing.assert_allclose(chances(draws), expected, rtol=0, atol=ACCURACY)


def test_an_action_that_is_not_available_has_no_part_in_it():
    got = chances(CASES["few freedoms"], [True, False, True])
    assert got[1] == 0.0
    left = Mixtures(*(values[[0, 2]] for values in CASES["few freedoms"]))
    np.testing.assert_allclose(got[[0, 2]], reference(left), rtol=0, atol=ACCURACY)


def test_draws_narrower_than_a_number_s_resolution_are_their_centres():
    narrow = as_mixtures(ONE * 2, [[1e6], [1e6]], [[1e-12], [1e-12]], [1e9, 1e9])
    np.testing.assert_array_equal(chances(narrow), [1.0, 0.0])


def _fill_students(words, freedom, out):
    for i in range(out.size):
        out[i] = draw_student(words, freedom)


@pytest.mark.parametrize("freedom", [0.5, 2.0, 8.0, 1e5, math.inf])
def test_student_draws_follow_scipys_distribution(freedom):
    """Kolmogorov and Smirnov on 100,000 draws; false alarm 1e-4 each."""
    out = np.empty(100_000)
    compiled(_fill_students)(np.array([1, 2, 3, 4], dtype=np.uint64), freedom, out)
    known = stats.norm if math.isinf(freedom) else stats.t(freedom)
    assert stats.kstest(out, known.cdf).pvalue > 1e-4


def test_a_student_draw_by_hand():
    """Bailey's sqrt(f (u^(-2/f) - 1)) cos(2 pi v) from the two next words."""
    words = np.random.default_rng(1).integers(2**63, size=4).astype(np.uint64)
    u, v = ((word >> 11) * 2.0**-53 for word in reference_words(words.tolist(), 2))
    out = np.empty(1)
    compiled(_fill_students)(words, 3.0, out)
    assert out[0] == pytest.approx(math.sqrt(3 * ((1 - u) ** (-2 / 3) - 1)) * math.cos(2 * math.pi * v), rel=1e-12)
