"""SipHash-2-4 (Aumasson and Bernstein 2012): a keyed hash of ids, quick enough for every user of a table.

An id is hashed as the text that one would write: 17 and "17" are one id, whatever file or engine they come from. With
a key that nobody knew before, the 64 bits are as good as random; the first 53 are a uniform number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers, Words
from headstart.kernels.compile import kernel

Bytes = NDArray[np.uint8]

_SECRET0, _SECRET1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
_SECRET2, _SECRET3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_U8, _U11, _U13, _U16, _U17, _U21, _U32 = (np.uint64(n) for n in (8, 11, 13, 16, 17, 21, 32))
_U43, _U47, _U48, _U51, _U56, _U255 = (np.uint64(n) for n in (43, 47, 48, 51, 56, 255))
_TO_UNIT = 1.0 / 9007199254740992.0  # 2^-53
_SHORT = 100_000_000  # numbers below it have eight digits at most
_LONGEST = 20  # characters of a whole number of 64 bits


@kernel
def _round(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    a += b
    b = ((b << _U13) | (b >> _U51)) ^ a
    a = (a << _U32) | (a >> _U32)
    c += d
    d = ((d << _U16) | (d >> _U48)) ^ c
    a += d
    d = ((d << _U21) | (d >> _U43)) ^ a
    c += b
    b = ((b << _U17) | (b >> _U47)) ^ c
    c = (c << _U32) | (c >> _U32)
    return a, b, c, d


@kernel
def _take(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, word: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Eight more letters."""
    d ^= word
    a, b, c, d = _round(a, b, c, d)
    a, b, c, d = _round(a, b, c, d)
    return a ^ word, b, c, d


@kernel
def _finish(a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64) -> np.uint64:
    c ^= _U255
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@kernel
def _hash(text: Bytes, start: int, stop: int, key: Words) -> np.uint64:
    """The hash of text[start:stop]."""
    a, b, c, d = key[0] ^ _SECRET0, key[1] ^ _SECRET1, key[0] ^ _SECRET2, key[1] ^ _SECRET3
    place = start
    while place <= stop:
        left = min(stop - place, 8)
        word = np.uint64(0) if left == 8 else np.uint64((stop - start) & 255) << _U56  # the last one has the length
        for i in range(left):
            word |= np.uint64(text[place + i]) << np.uint64(8 * i)
        a, b, c, d = _take(a, b, c, d, word)
        place += 8
    return _finish(a, b, c, d)


@kernel
def _hash_short(value: np.uint64, key: Words) -> np.uint64:
    """The hash of a number of at most eight digits, which are one word."""
    a, b, c, d = key[0] ^ _SECRET0, key[1] ^ _SECRET1, key[0] ^ _SECRET2, key[1] ^ _SECRET3
    word, n = np.uint64(0), np.uint64(0)
    while n == np.uint64(0) or value > np.uint64(0):
        tens = value // np.uint64(10)
        word = (word << _U8) | (value - tens * np.uint64(10) + np.uint64(48))
        value = tens
        n += np.uint64(1)
    if n == _U8:
        a, b, c, d = _take(a, b, c, d, word)
        word = np.uint64(0)
    a, b, c, d = _take(a, b, c, d, word | (n << _U56))
    return _finish(a, b, c, d)


def hash_texts(text: Bytes, ends: Integers, key: Words, out: Words) -> None:
    """The hashes of texts that stand one after another; the i-th is text[ends[i]:ends[i + 1]]."""
    for i in range(out.size):
        out[i] = _hash(text, ends[i], ends[i + 1], key)


def hash_numbers(values: Integers, key: Words, out: Words) -> None:
    """The hashes of whole numbers, each as it is written in decimal."""
    text = np.empty(_LONGEST, np.uint8)
    for i in range(out.size):
        left = np.uint64(values[i])
        if 0 <= values[i] < _SHORT:
            out[i] = _hash_short(left, key)
            continue
        if values[i] < 0:
            left = np.uint64(0) - left
        place = _LONGEST
        while place == _LONGEST or left > np.uint64(0):
            tens = left // np.uint64(10)
            place -= 1
            text[place] = np.uint8(left - tens * np.uint64(10)) + np.uint8(48)
            left = tens
        if values[i] < 0:
            place -= 1
            text[place] = 45
        out[i] = _hash(text, place, _LONGEST, key)


def part_hashes(hashes: Words, out: Words, ends: Integers) -> None:
    """The hashes by their last bits: those of part i are out[ends[i]:ends[i + 1]]; a power of two of parts."""
    last = np.uint64(ends.size - 2)
    ends[:] = 0
    for i in range(hashes.size):
        ends[np.int64(hashes[i] & last) + 1] += 1
    for i in range(1, ends.size):
        ends[i] += ends[i - 1]
    places = ends.copy()
    for i in range(hashes.size):
        part = np.int64(hashes[i] & last)
        out[places[part]] = hashes[i]
        places[part] += 1


def as_uniforms(hashes: Words, out: Floats) -> None:
    """The first 53 bits of each hash as a number in [0, 1)."""
    for i in range(out.size):
        out[i] = float(hashes[i] >> _U11) * _TO_UNIT


def draw_actions(chances: Floats, uniforms: Floats, actions: Integers, taken: Floats) -> None:
    """The action whose stretch of a row's cumulative sum holds its number, and its chance; never one without any."""
    is_common = chances.shape[0] == 1  # one row for all users
    for i in range(actions.size):
        row = 0 if is_common else i
        reached, action, last = 0.0, 0, 0
        for a in range(chances.shape[1]):
            reached += chances[row, a]
            action += uniforms[i] >= reached  # no branch: which way it goes is random, and cannot be foreseen
            last = a if chances[row, a] > 0.0 else last
        actions[i] = min(action, last)  # the sum may fall short of 1 by rounding
        taken[i] = chances[row, actions[i]]
