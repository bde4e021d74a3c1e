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
Codes = NDArray[np.int32]

_SECRET0, _SECRET1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
_SECRET2, _SECRET3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_U8, _U10, _U11, _U13, _U16, _U17, _U20, _U21, _U32 = (np.uint64(n) for n in (8, 10, 11, 13, 16, 17, 20, 21, 32))
_U43, _U45, _U47, _U48, _U51, _U56, _U64, _U255 = (np.uint64(n) for n in (43, 45, 47, 48, 51, 56, 64, 255))
_TO_UNIT = 1.0 / 9007199254740992.0  # 2^-53
_LONGEST = 20  # characters of a whole number of 64 bits
_BLOCK = 512
_ONE_WORD, _TWO_WORDS = 10**7, 10**15  # numbers below have seven and fifteen digits at most
_POWERS = tuple(np.uint64(10**n) for n in range(1, 15))
_E2, _E4, _E8, _ZEROS = _POWERS[1], _POWERS[3], _POWERS[7], np.uint64(0x3030303030303030)
# Multiplied and shifted, for a division: by 10,000 (of what is below 10^8), by 100 (below 10^4), by 10 (below 100).
_BY_10000, _BY_100, _BY_10 = np.uint64(3518437209), np.uint64(10486), np.uint64(103)
_PAIRS, _SINGLES = np.uint64(0x0000007F0000007F), np.uint64(0x000F000F000F000F)


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
def _digits(value: np.uint64) -> np.uint64:
    """The eight decimal digits of a number below 10^8, a byte each, the first one lowest: halved three times."""
    upper = (value * _BY_10000) >> _U45
    pairs = upper | ((value - upper * _E4) << _U32)
    upper = ((pairs * _BY_100) >> _U20) & _PAIRS
    pairs = upper | ((pairs - upper * _E2) << _U16)
    upper = ((pairs * _BY_10) >> _U10) & _SINGLES
    return upper | ((pairs - upper * _U10) << _U8)


@kernel
def _hash_one_word(values: Integers, start: int, stop: int, key: Words, out: Words) -> None:
    """Numbers of one to seven digits, one word with their length. No branches, so that several go at once."""
    a0, b0, c0, d0 = key[0] ^ _SECRET0, key[1] ^ _SECRET1, key[0] ^ _SECRET2, key[1] ^ _SECRET3
    for i in range(start, stop):
        value, n = np.uint64(values[i]), np.uint64(1)
        for power in _POWERS[:6]:
            n += np.uint64(value >= power)
        word = (_digits(value) + _ZEROS) >> (_U64 - n * _U8)
        a, b, c, d = _take(a0, b0, c0, d0, word | (n << _U56))
        out[i] = _finish(a, b, c, d)


@kernel
def _hash_two_words(values: Integers, start: int, stop: int, key: Words, out: Words) -> None:
    """The same of numbers of eight to fifteen digits."""
    a0, b0, c0, d0 = key[0] ^ _SECRET0, key[1] ^ _SECRET1, key[0] ^ _SECRET2, key[1] ^ _SECRET3
    for i in range(start, stop):
        value, n = np.uint64(values[i]), _U8
        for power in _POWERS[7:]:
            n += np.uint64(value >= power)
        upper = value // _E8
        first, last = _digits(upper) + _ZEROS, _digits(value - upper * _E8) + _ZEROS
        absent = (_U16 - n) * _U8 - _U8  # bits of the digits that are not there, less eight: no word is shifted by 64
        a, b, c, d = _take(a0, b0, c0, d0, ((first >> absent) >> _U8) | (last << (_U56 - absent)))
        a, b, c, d = _take(a, b, c, d, ((last >> absent) >> _U8) | (n << _U56))
        out[i] = _finish(a, b, c, d)


@kernel
def _hash_any(values: Integers, start: int, stop: int, key: Words, out: Words) -> None:
    """The same of any numbers, one after another."""
    text = np.empty(_LONGEST, np.uint8)
    for i in range(start, stop):
        left = np.uint64(values[i])
        if values[i] < 0:
            left = np.uint64(0) - left
        place = _LONGEST
        while place == _LONGEST or left > np.uint64(0):
            tens = left // _U10
            place -= 1
            text[place] = np.uint8(left - tens * _U10) + np.uint8(48)
            left = tens
        if values[i] < 0:
            place -= 1
            text[place] = 45
        out[i] = _hash(text, place, _LONGEST, key)


def hash_texts(text: Bytes, ends: Integers, key: Words, out: Words) -> None:
    """The hashes of texts that stand one after another; the i-th is text[ends[i]:ends[i + 1]]."""
    for i in range(out.size):
        out[i] = _hash(text, ends[i], ends[i + 1], key)


def hash_numbers(values: Integers, key: Words, out: Words) -> None:
    """The hashes of whole numbers, each as it is written in decimal; in blocks of which most are of one length."""
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        low, high = values[start], values[start]
        for i in range(start, stop):
            low, high = min(low, values[i]), max(high, values[i])
        if low >= 0 and high < _ONE_WORD:
            _hash_one_word(values, start, stop, key, out)
        elif low >= _ONE_WORD and high < _TWO_WORDS:
            _hash_two_words(values, start, stop, key, out)
        else:
            _hash_any(values, start, stop, key, out)


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


@kernel
def _as_uniform(hashed: np.uint64) -> float:
    """The first 53 bits of a hash as a number in [0, 1)."""
    return float(hashed >> _U11) * _TO_UNIT


@kernel
def _fill_ends(chances: Floats, row: int, ends: Floats) -> int:
    """The cumulative sum of a row, and its last action that has any chance."""
    reached, last = 0.0, 0
    for a in range(ends.size):
        reached += chances[row, a]
        ends[a] = reached
        last = a if chances[row, a] > 0.0 else last
    return last


def draw_actions(chances: Floats, hashes: Words, actions: Codes, taken: Floats) -> None:
    """The action whose stretch of a row's cumulative sum holds the hash's number, and its chance; never one without.

    `chances` are (n, K), or (1, K) for all. No branch on a draw: which way it goes cannot be foreseen.
    """
    ends, row, last = np.empty(chances.shape[1]), 0, 0
    for i in range(actions.size):
        if i < chances.shape[0]:
            row = i
            last = _fill_ends(chances, row, ends)
        uniform, action = _as_uniform(hashes[i]), 0
        for a in range(ends.size):
            action += uniform >= ends[a]
        actions[i] = min(action, last)  # the sum may fall short of 1 by rounding
        taken[i] = chances[row, actions[i]]
