"""The best, and the chance of being the best."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headstart.kernels import compiled
from headstart.kernels.choice import (
    BETA,
    NORMAL,
    best_available,
    count_available,
    draw_available,
    greedy_available,
    probability_of_best,
)

ACCURACY = 1e-9  # what the docstring claims


def chances(family: int, p: list[float], q: list[float], available: list[bool] | None = None) -> np.ndarray:
    mask = np.ones(len(p), dtype=np.bool_) if available is None else np.array(available)
    out = np.empty(len(p))
    compiled(probability_of_best)(family, np.array(p, dtype=float), np.array(q, dtype=float), mask, out)
    return out


def reference(family: int, p: list[float], q: list[float]) -> np.ndarray:
    """integral of f_a prod F_b by 60-point Gauss-Legendre between quantiles of every density, F from scipy."""
    parts = [stats.norm(a, b) if family == NORMAL else stats.beta(a, b) for a, b in zip(p, q, strict=True)]
    levels = [1e-18, 1e-14, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5]
    points = np.unique([f(level) for part in parts for level in levels for f in (part.ppf, part.isf)])
    points = points[np.isfinite(points)]
    nodes, weights = np.polynomial.legendre.leggauss(60)
    half = np.diff(points)[:, None] / 2
    x = points[:-1, None] + half * (1 + nodes)
    out = []
    for a, part in enumerate(parts):
        value = part.pdf(x)
        for b, other in enumerate(parts):
            if b != a:
                value = value * other.cdf(x)
        out.append(float((half * weights * value).sum()))
    assert sum(out) == pytest.approx(1.0, abs=ACCURACY / 2)  # the reference is good enough to judge by
    return np.array(out)


@pytest.mark.parametrize(
    ("means", "deviations"),
    [
        ([0.0, 0.0], [1.0, 1.0]),
        ([0.0, 0.3], [1.0, 1e-3]),  # counts 0 and 10^6
        ([0.0, 1e-3, 0.01], [1e-3, 1.0, 0.1]),
        ([0.0, 0.0], [1.0, 1e-9]),
        ([0.0, 3.0, 5.0], [1.0, 1.0, 1.0]),
        ([0.0, 7.0], [1.0, 1.0]),  # at the cut-off
        ([5.0, 0.0, 0.0], [1e-3, 1.0, 1.0]),
        ([0.25, 0.5, 0.25], [0.25, 0.001, 0.25]),
        (list(np.linspace(0, 1, 10)), list(np.linspace(0.1, 2, 10))),
        (list(np.linspace(0, 1, 20)), [0.3] * 20),
    ],
)
def test_normal_chances_are_scipy_s_quadrature_to_1e9(means: list[float], deviations: list[float]):
    got = chances(NORMAL, means, deviations)
    np.testing.assert_allclose(got, reference(NORMAL, means, deviations), rtol=0, atol=ACCURACY)
    assert got.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1, 1], [1, 1]),
        ([1, 1], [1, 1e6 + 1]),  # counts 0 and 10^6, no success
        ([1, 1e6 + 1], [1, 1]),  # ... and nothing but successes
        ([1, 1], [1e6 + 1, 1e6 + 1]),
        ([1, 1], [1e6 + 1, 1e3]),
        ([2, 3], [1e6, 1e6]),
        ([1e6, 1e6 - 3], [1, 2]),
        ([5e5, 5e5 + 300], [5e5, 5e5]),
        ([5e5 + 1, 1, 1], [5e5 + 1, 1, 100]),
        ([3e5, 3e5 + 1, 3e5 + 500], [7e5, 7e5, 7e5]),
        ([11, 1e6], [3, 1e5]),
        ([1, 40], [20, 1]),
        ([1, 50], [30, 1e4]),
        ([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]),
        ([1] * 15, list(range(1, 30, 2))),
        ([5e7, 5e7 + 3000], [5e7, 5e7]),
    ],
)
def test_beta_chances_are_scipy_s_quadrature_to_1e9(a: list[float], b: list[float]):
    got = chances(BETA, a, b)
    np.testing.assert_allclose(got, reference(BETA, a, b), rtol=0, atol=ACCURACY)
    assert got.sum() == pytest.approx(1.0, abs=1e-14)


def test_two_normals_have_a_closed_form():
    """P(X > Y) = Phi((m - k) / sqrt(s^2 + t^2))."""
    for m, k, s, t in [(0.0, 0.1, 1.0, 0.01), (1.0, 0.0, 0.2, 0.3), (0.0, 1.0, 0.2, 1e-6)]:
        expected = stats.norm.cdf((m - k) / np.hypot(s, t))
        np.testing.assert_allclose(chances(NORMAL, [m, k], [s, t])[0], expected, rtol=0, atol=ACCURACY)


def test_uniform_against_beta_has_a_closed_form():
    """P(U > B) = 1 - E[B] for a uniform U: with Beta(1, 10^6) that is 1 - 1 / (10^6 + 1)."""
    small = 1 / (1e6 + 1)
    np.testing.assert_allclose(chances(BETA, [1, 1], [1, 1e6]), [1 - small, small], rtol=0, atol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 2000)), min_size=2, max_size=6), st.data())
def test_relabelling_actions_permutes_their_chances(counts: list[tuple[int, int]], data):
    order = data.draw(st.permutations(range(len(counts))))
    a, b = [s + 1.0 for s, _ in counts], [f + 1.0 for _, f in counts]
    straight = chances(BETA, a, b)
    turned = chances(BETA, [a[i] for i in order], [b[i] for i in order])
    np.testing.assert_allclose(turned, straight[order], rtol=0, atol=1e-12)
    assert (straight >= 0).all()
    assert straight.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("family", "p", "q"), [(NORMAL, [9.0, 1.0, 0.5, 0.5], [1.0] * 4), (BETA, [9, 2, 3, 3], [1, 5, 4, 4])]
)
def test_an_action_that_is_not_available_has_no_part_in_it(family: int, p: list[float], q: list[float]):
    got = chances(family, p, q, [False, True, True, True])
    assert got[0] == 0.0
    np.testing.assert_allclose(got[1:], reference(family, p[1:], q[1:]), rtol=0, atol=ACCURACY)


def test_one_available_action_is_certain():
    np.testing.assert_array_equal(chances(NORMAL, [0.0, 9.0], [1.0, 1.0], [True, False]), [1.0, 0.0])
    np.testing.assert_array_equal(chances(BETA, [1, 9], [1, 1], [False, True]), [0.0, 1.0])


def test_posteriors_narrower_than_a_number_s_resolution_are_their_means():
    """10^6 +- 10^-12 is one double: a draw is the mean, ties go to the lowest, and nothing is NaN."""
    np.testing.assert_array_equal(chances(NORMAL, [1e6, 1e6], [1e-12, 1e-12]), [1.0, 0.0])
    np.testing.assert_array_equal(chances(NORMAL, [0.0, 1e6], [1e-12, 1e-12]), [0.0, 1.0])


FLOATS = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(FLOATS, st.integers(0, 3), st.booleans()), min_size=1, max_size=8))
def test_best_and_greedy_are_their_slow_twins(rows: list[tuple[float, int, bool]]):
    values = np.array([value for value, _, _ in rows])
    counts = np.array([float(count) for _, count, _ in rows])
    available = np.array([here for _, _, here in rows])
    if not available.any():
        available[0] = True
    here = [a for a in range(len(rows)) if available[a]]
    best = max(here, key=lambda a: (values[a], -a))
    fresh = [a for a in here if counts[a] == 0]
    assert best_available(values, available) == best
    assert greedy_available(counts, values, available) == (fresh[0] if fresh else best)
    assert count_available(available) == len(here)
    for u in (0.0, 0.3, 0.999, 1 - 2.0**-53):
        assert draw_available(u, available) == here[min(int(u * len(here)), len(here) - 1)]
