"""The randomness of a run: the streams that numpy's SeedSequence would spawn for it, in a tenth of its time.

A simulated run of a microsecond a round begins four generators. SeedSequence mixes seed and spawn key into a pool of
four words (O'Neill 2015, `seed_seq_fe`) and a generator's words from that, each in some microseconds; here one kernel
does both, and the generators of all policies of a run are begun from the same words. They are the words of
`SeedSequence(seed, spawn_key=(run, child))`, bit for bit.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import NDArray

from headstart.arrays import Words
from headstart.kernels import Entry, kernel

_POOL = 4  # words of 32 bits that entropy is mixed into
_32 = np.uint64(32)
_SHIFT = np.uint64(16)
_LOW = np.uint64(0xFFFFFFFF)
_FIRST_IN, _TIMES_IN = np.uint64(0x43B0D7E5), np.uint64(0x931E8875)
_FIRST_OUT, _TIMES_OUT = np.uint64(0x8B51F9DD), np.uint64(0x58F38DED)
_LEFT, _RIGHT = np.uint64(0xCA01F9DD), np.uint64(0x4973F715)


class Stream(ISpawnableSeedSequence):
    """SeedSequence(seed, spawn_key=key), whose first words are known already."""

    def __init__(self, seed: int, key: tuple[int, ...], words: Words) -> None:
        self._seed, self._key, self._words = seed, key, words

    @cached_property
    def sequence(self) -> np.random.SeedSequence:
        """The same by numpy, for whoever wants more of it than a generator."""
        return np.random.SeedSequence(self._seed, spawn_key=self._key)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[np.uint32 | np.uint64]:
        """Words to begin a generator with."""
        if n_words == self._words.size and dtype is np.uint64:
            return self._words
        return self.sequence.generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> list[Any]:
        """Streams of its own, other ones with each call."""
        return self.sequence.spawn(n_children)

    def begin(self) -> np.random.Generator:
        """A generator at the stream's first number."""
        return np.random.Generator(np.random.PCG64(self))  # type: ignore[arg-type]  # its stubs know numpy's own alone


def streams_of(seed: int, run: int) -> Sequence[Stream]:
    """The randomness of one run: its world's, and that of each of its policies."""
    words = np.empty((2, 4), dtype=np.uint64)
    _BEGIN(_as_entropy(seed), run, np.empty(_POOL, dtype=np.uint64), words)
    words.setflags(write=False)  # whoever asks a stream for them gets these
    return [Stream(seed, (run, child), words[child]) for child in range(2)]


@cache
def _as_entropy(seed: int) -> Words:
    """A seed in words of 32 bits, the lowest first; a spawn key follows after at least as many as the pool has."""
    left, words = operator.index(seed), list[int]()
    if left < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    while left or len(words) < _POOL:
        words.append(left & 0xFFFFFFFF)
        left >>= 32
    return np.array(words, dtype=np.uint64)


def _begin(seed: Words, run: int, pool: Words, out: Words) -> None:
    """Fill each row of `out` with the words of the run's child of that number."""
    for child in range(out.shape[0]):
        _mix(seed, np.uint64(run), np.uint64(child), pool)
        constant = _FIRST_OUT
        for i in range(2 * out.shape[1]):
            value = pool[i % _POOL] ^ constant
            constant = (constant * _TIMES_OUT) & _LOW
            value = _fold((value * constant) & _LOW)
            if i % 2:
                out[child, i // 2] |= value << _32
            else:
                out[child, i // 2] = value


@kernel
def _mix(seed: Words, run: np.uint64, child: np.uint64, pool: Words) -> None:
    """Fill the pool from seed, run and child: the first words fill it, each is mixed with each, then the rest."""
    constant = _FIRST_IN
    for i in range(pool.size):
        pool[i], constant = _hash(seed[i], constant)
    for source in range(pool.size):
        for i in range(pool.size):
            if i != source:
                hashed, constant = _hash(pool[source], constant)
                pool[i] = _join(pool[i], hashed)
    for source in range(pool.size, seed.size + 2):
        word = seed[source] if source < seed.size else (run if source == seed.size else child)
        for i in range(pool.size):
            hashed, constant = _hash(word, constant)
            pool[i] = _join(pool[i], hashed)


@kernel
def _hash(value: np.uint64, constant: np.uint64) -> tuple[np.uint64, np.uint64]:
    """A word hashed, and the constant for the next one."""
    following = (constant * _TIMES_IN) & _LOW
    return _fold(((value ^ constant) * following) & _LOW), following


@kernel
def _join(x: np.uint64, y: np.uint64) -> np.uint64:
    return _fold((((_LEFT * x) & _LOW) + (_LOW - ((_RIGHT * y) & _LOW)) + np.uint64(1)) & _LOW)


@kernel
def _fold(value: np.uint64) -> np.uint64:
    return value ^ (value >> _SHIFT)


_BEGIN = Entry(_begin, allocates=False)
