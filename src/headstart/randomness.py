"""The door for randomness: a numpy Generator, a seed or nothing becomes the words that a kernel draws from."""

from __future__ import annotations

import numpy as np

from headstart.arrays import Words
from headstart.errors import OptionError

_STUCK = bytes(32)  # the one state xoshiro cannot leave

RNG = np.random.Generator | int | None


def as_generator(rng: RNG) -> np.random.Generator:
    """`rng` as a numpy Generator: itself, seeded by an integer, or from fresh entropy for None."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None or (isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0):
        return np.random.default_rng(rng)
    raise OptionError(f"rng must be a numpy Generator or an integer >= 0, got {rng!r}")


def as_words(rng: RNG) -> Words:
    """Four words for one kernel's stream. A Generator given to two parts gives each its own stream."""
    # Bytes, not random_raw, whose numbers have 32 bits with MT19937; and ten times quicker than integers().
    drawn = as_generator(rng).bytes(32)
    if drawn == _STUCK:
        drawn = b"\1" + drawn[1:]
    # A bytearray is an array's own memory, which it may write to: nothing is copied.
    return np.frombuffer(bytearray(drawn), dtype="<u8").astype(np.uint64, copy=False)
