"""Random numbers: against the published generator, and against the distributions they claim.

Every Kolmogorov-Smirnov test has a fixed seed and a false-alarm rate of 1e-6 for a right sampler.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from headstart.errors import OptionError
from headstart.kernels import compiled, kernel
from headstart.kernels.random import (
    draw_below,
    draw_beta,
    draw_category,
    draw_gamma,
    draw_normal,
    draw_uniform,
    draw_uniforms,
    draw_word,
    normal_quantile,
)
from headstart.randomness import as_generator, as_words

FALSE_ALARM = 1e-6
_MASK = 2**64 - 1


def reference_words(words: list[int], n: int) -> list[int]:
    """xoshiro256++ 1.0 as Blackman and Vigna publish it in C, in Python's integers."""

    def rotate(x: int, k: int) -> int:
        return ((x << k) | (x >> (64 - k))) & _MASK

    s, out = list(words), []
    for _ in range(n):
        out.append((rotate((s[0] + s[3]) & _MASK, 23) + s[0]) & _MASK)
        t = (s[1] << 17) & _MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
    return out


def _fill_words(words, out):
    for i in range(out.size):
        out[i] = draw_word(words)


def _fill_uniforms(words, out):
    for i in range(out.size):
        out[i] = draw_uniform(words)


def test_uniforms_at_once_are_those_drawn_in_turn():
    for n in (0, 1, 7):
        words = np.array([1, 2, 3, 2**63 + 4], dtype=np.uint64)
        others, one_by_one, at_once = words.copy(), np.empty(n), np.empty(n)
        compiled(_fill_uniforms)(words, one_by_one)
        compiled(draw_uniforms)(others, at_once)
        assert one_by_one.tolist() == at_once.tolist()
        assert words.tolist() == others.tolist()


def _fill_below(words, n, out):
    for i in range(out.size):
        out[i] = draw_below(words, n)


def _fill_normals(words, out):
    for i in range(out.size):
        out[i] = draw_normal(words)


def _fill_gammas(words, shape, out):
    for i in range(out.size):
        out[i] = draw_gamma(words, shape)


def _fill_betas(words, a, b, out):
    for i in range(out.size):
        out[i] = draw_beta(words, a, b)


def _fill_categories(words, chances, out):
    for i in range(out.size):
        out[i] = draw_category(words, chances)


def _fill_quantiles(chances, out):
    for i in range(out.size):
        out[i] = normal_quantile(chances[i])


def test_the_first_words_are_the_published_ones():
    """State 1, 2, 3, 4: the test vector of the reference implementation that Rust's rand_xoshiro ships."""
    out = np.empty(10, dtype=np.uint64)
    compiled(_fill_words)(np.array([1, 2, 3, 4], dtype=np.uint64), out)
    assert out.tolist() == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ]


@pytest.mark.parametrize("seed", range(3))
def test_words_are_the_reference_algorithm_s(seed: int):
    words = as_words(seed)
    expected = reference_words(words.tolist(), 500)
    out = np.empty(500, dtype=np.uint64)
    compiled(_fill_words)(words, out)
    assert out.tolist() == expected


def test_uniforms_are_the_top_53_bits():
    words = as_words(5)
    expected = [(word >> 11) * 2.0**-53 for word in reference_words(words.tolist(), 200)]
    out = np.empty(200)
    compiled(_fill_uniforms)(words, out)
    assert out.tolist() == expected


def test_the_largest_word_is_a_uniform_below_1():
    """All 64 bits set: 1 - 2^-53. State (2^64 - 1, x, x, 0) gives rotl(s0 + s3, 23) + s0 = 2^65 - 2 = ...fe."""
    words = np.array([_MASK, 1, 1, 0], dtype=np.uint64)
    out = np.empty(1)
    compiled(_fill_uniforms)(words, out)
    assert out[0] == 1.0 - 2.0**-53


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_draw_below_is_uniform(n: int):
    """Chi-square over n cells, false-alarm rate 1e-6."""
    out = np.empty(50_000, dtype=np.int64)
    compiled(_fill_below)(as_words(n), n, out)
    counts = np.bincount(out, minlength=n)
    assert counts.size == n
    expected = out.size / n
    assert ((counts - expected) ** 2 / expected).sum() <= stats.chi2.isf(FALSE_ALARM, n - 1) if n > 1 else counts[0]


def test_normal_quantile_is_scipy_s():
    """Relative 1e-15 is claimed; scipy's own error and one rounding of p allow a few units in the last place."""
    tails = 10.0 ** -np.arange(1, 300, 0.5)
    chances = np.concatenate([tails, np.linspace(0.001, 0.999, 4001), [0.075, 0.925, 0.5, np.exp(-25.0), 2.0**-54]])
    out = np.empty(chances.size)
    compiled(_fill_quantiles)(chances, out)
    np.testing.assert_allclose(out, special.ndtri(chances), rtol=4e-15, atol=1e-16)
    upper = 1.0 - 2.0 ** -np.arange(2, 53, dtype=float)
    compiled(_fill_quantiles)(upper, out[: upper.size])
    np.testing.assert_allclose(out[: upper.size], special.ndtri(upper), rtol=4e-15)


def test_normals_are_normal():
    out = np.empty(20_000)
    compiled(_fill_normals)(as_words(1), out)
    assert stats.kstest(out, "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("shape", [1.0, 1.5, 4.0, 1e6])
def test_gammas_are_gamma(shape: float):
    out = np.empty(20_000)
    compiled(_fill_gammas)(as_words(2), shape, out)
    assert stats.kstest(out, stats.gamma(shape).cdf).pvalue > FALSE_ALARM


def reference_gamma(stream, shape: float) -> float:
    """Marsaglia and Tsang (2000), figure 1: accept d v when ln u < x^2 / 2 + d - d v + d ln v."""
    d = shape - 1 / 3
    while True:
        x = special.ndtri(((next(stream) >> 11) + 0.5) * 2.0**-53)
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v <= 0:
            continue
        u = 1 - (next(stream) >> 11) * 2.0**-53
        if math.log(u) < x * x / 2 + d - d * v + d * math.log(v):
            return d * v


@pytest.mark.parametrize("shape", [1.0, 1.5, 4.0, 1e6])
def test_gammas_are_the_slow_twin_s(shape: float):
    words = as_words(6)
    stream = iter(reference_words(words.tolist(), 6000))
    out = np.empty(2000)
    compiled(_fill_gammas)(words, shape, out)
    np.testing.assert_allclose(out, [reference_gamma(stream, shape) for _ in range(2000)], rtol=1e-11)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 1e6), (1e6, 1.0), (3.0, 8.0), (5e5, 5e5)])
def test_betas_are_beta(a: float, b: float):
    out = np.empty(20_000)
    compiled(_fill_betas)(as_words(3), a, b, out)
    assert stats.kstest(out, stats.beta(a, b).cdf).pvalue > FALSE_ALARM
    assert ((out >= 0.0) & (out <= 1.0)).all()


def test_categories_come_with_their_chances_and_never_without_one():
    chances = np.array([0.0, 0.2, 0.0, 0.5, 0.3, 0.0])
    out = np.empty(50_000, dtype=np.int64)
    compiled(_fill_categories)(as_words(4), chances, out)
    counts = np.bincount(out, minlength=6)
    assert counts[[0, 2, 5]].tolist() == [0, 0, 0]
    expected = out.size * chances[[1, 3, 4]]
    assert ((counts[[1, 3, 4]] - expected) ** 2 / expected).sum() < stats.chi2.isf(FALSE_ALARM, 2)


def test_rounding_of_the_chances_goes_to_the_last_action_that_has_one():
    """Chances that sum to less than u: the last one above 0 takes it, not one of chance 0."""
    words = np.array([_MASK, 1, 1, 0], dtype=np.uint64)  # u = 1 - 2^-53
    out = np.empty(1, dtype=np.int64)
    compiled(_fill_categories)(words, np.array([0.5, 0.5 - 2.0**-50, 0.0]), out)
    assert out[0] == 1


def test_a_kernel_runs_interpreted_too():
    @kernel
    def double(x):
        return 2 * x

    assert double(21) == 42


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_words_have_64_random_bits_whatever_generator_they_come_from(bits: type):
    """MT19937's raw numbers have 32: their first uniforms would all be below 0.01. 400 words: a bit that is fair
    is never or always set with chance 2^-399; each uniform of 100 is below 0.01 with chance 1e-200.
    """
    streams = [as_words(np.random.Generator(bits(seed))) for seed in range(100)]
    ones = np.bitwise_or.reduce(np.concatenate(streams))
    assert int(ones) == _MASK
    out = np.empty(1)
    firsts = []
    for words in streams:
        compiled(_fill_uniforms)(words, out)
        firsts.append(out[0])
    assert stats.kstest(firsts, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937])
@pytest.mark.parametrize("n_halves", [0, 1, 2])
def test_words_are_the_generator_s_next_bytes(bits: type, n_halves: int):
    """Half a number may be left of a draw of 32 bits: it comes first. What is drawn afterwards is the same too."""
    one, other = (np.random.Generator(bits(1)) for _ in range(2))
    for rng in (one, other):
        rng.integers(2**32, size=n_halves, dtype=np.uint32)
    assert as_words(one).astype("<u8").tobytes() == other.bytes(32)
    assert one.bytes(20) == other.bytes(20)
    assert one.random() == other.random()


def test_a_generator_given_to_two_parts_gives_each_its_own_stream():
    rng = np.random.default_rng(1)
    assert as_words(rng).tolist() != as_words(rng).tolist()
    assert as_words(1).tolist() == as_words(np.random.default_rng(1)).tolist()


@pytest.mark.parametrize("rng", [-1, 1.5, "seed", True, np.random.RandomState(1)])
def test_rejects_what_is_no_source_of_randomness(rng):
    with pytest.raises(OptionError, match="rng must be a numpy Generator or an integer >= 0, got"):
        as_generator(rng)


def test_nothing_is_fresh_entropy():
    assert as_words(None).tolist() != as_words(None).tolist()
