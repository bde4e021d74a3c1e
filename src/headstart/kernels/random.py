"""Random numbers in kernels: xoshiro256++ on four words that a state carries as an array.

numba can take a numpy Generator, but unboxing one costs 8 to 40 microseconds a call, far more than a
decision; four words cost a tenth of one. They are also all there is to save: a restored stream has the
same future. The door where a user's Generator or seed becomes words is `headstart.randomness`.
"""

from __future__ import annotations

import math

import numpy as np

from headstart.arrays import Floats, Words
from headstart.kernels.compile import kernel

_U23, _U17, _U45, _U11, _U41, _U19 = (np.uint64(n) for n in (23, 17, 45, 11, 41, 19))
_TO_UNIT = 1.0 / 9007199254740992.0  # 2^-53


@kernel
def draw_word(words: Words) -> np.uint64:
    """The next 64 bits (Blackman and Vigna 2019, xoshiro256++ 1.0)."""
    total = words[0] + words[3]
    result = ((total << _U23) | (total >> _U41)) + words[0]
    t = words[1] << _U17
    words[2] ^= words[0]
    words[3] ^= words[1]
    words[1] ^= words[2]
    words[0] ^= words[3]
    words[2] ^= t
    words[3] = (words[3] << _U45) | (words[3] >> _U19)
    return result


@kernel
def draw_uniform(words: Words) -> float:
    """Uniform on [0, 1), all 53 bits."""
    return float(draw_word(words) >> _U11) * _TO_UNIT


@kernel
def draw_uniforms(words: Words, out: Floats) -> None:
    """Fill `out` with what `draw_uniform` would give in turn.

    The words stay in registers in between: an array might be `out` for all that a compiler knows, so that each draw
    by itself waits for the one before to be written. A user of six columns costs a third.
    """
    a, b, c, d = words[0], words[1], words[2], words[3]
    for j in range(out.size):
        total = a + d
        result = ((total << _U23) | (total >> _U41)) + a
        t = b << _U17
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= t
        d = (d << _U45) | (d >> _U19)
        out[j] = float(result >> _U11) * _TO_UNIT
    words[0], words[1], words[2], words[3] = a, b, c, d


@kernel
def draw_below(words: Words, n: int) -> int:
    """Uniform on 0..n-1; its bias is below n / 2^53."""
    return int(draw_uniform(words) * n)


# fmt: off
@kernel
def normal_quantile(p: float) -> float:
    """The standard normal's quantile to 1e-15 (Wichura 1988, AS 241, PPND16), p in (0, 1)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return (
            q * (((((((2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853) * r
            + 45921.953931549871457) * r + 13731.693765509461125) * r + 1971.5909503065514427) * r
            + 133.14166789178437745) * r + 3.387132872796366608)
            / (((((((5226.495278852854561 * r + 28729.085735721942674) * r + 39307.89580009271061) * r
            + 21213.794301586595867) * r + 5394.1960214247511077) * r + 687.1870074920579083) * r
            + 42.313330701600911252) * r + 1.0)
        )
    r = p if q < 0.0 else 1.0 - p
    r = math.sqrt(-math.log(r))
    if r <= 5.0:
        r -= 1.6
        value = (
            (((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.24178072517745061177) * r
            + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.7694972214606914055) * r
            + 4.6303378461565452959) * r + 1.42343711074968357734)
            / (((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r
            + 0.14810397642748007459) * r + 0.68976733498510000455) * r + 1.6763848301838038494) * r
            + 2.05319162663775882187) * r + 1.0)
        )
    else:
        r -= 5.0
        value = (
            (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 0.0012426609473880784386) * r
            + 0.026532189526576123093) * r + 0.29656057182850489123) * r + 1.7848265399172913358) * r
            + 5.4637849111641143699) * r + 6.6579046435011037772)
            / (((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r + 1.8463183175100546818e-5) * r
            + 7.868691311456132591e-4) * r + 0.0148753612908506148525) * r + 0.13692988092273580531) * r
            + 0.59983220655588793769) * r + 1.0)
        )
    return -value if q < 0.0 else value
# fmt: on


@kernel
def draw_normal(words: Words) -> float:
    """Standard normal by inversion: one word, one value."""
    return normal_quantile((float(draw_word(words) >> _U11) + 0.5) * _TO_UNIT)


@kernel
def draw_gamma(words: Words, shape: float) -> float:
    """Gamma(shape, 1), shape >= 1 (Marsaglia and Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = draw_normal(words)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - draw_uniform(words)
        if math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v


@kernel
def draw_beta(words: Words, a: float, b: float) -> float:
    """Beta(a, b), both at least 1."""
    x = draw_gamma(words, a)
    return x / (x + draw_gamma(words, b))


@kernel
def draw_student(words: Words, freedom: float) -> float:
    """Student's t with any freedom > 0, infinity included (Bailey 1994, the polar method): two words."""
    radius = -2.0 * math.log(1.0 - draw_uniform(words))
    if freedom < 1e12:
        radius = freedom * math.expm1(radius / freedom)
    return math.sqrt(radius) * math.cos(2.0 * math.pi * draw_uniform(words))


@kernel
def draw_category(words: Words, probabilities: Floats) -> int:
    """An index drawn with these chances, which sum to 1; the last one with a chance takes the rounding."""
    u = draw_uniform(words)
    total = 0.0
    last = 0
    for k in range(probabilities.size):
        if probabilities[k] > 0.0:
            total += probabilities[k]
            last = k
            if u < total:
                return k
    return last
