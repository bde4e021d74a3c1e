"""The door for randomness: a numpy Generator, a seed or nothing becomes the words that a kernel draws from."""

from __future__ import annotations

import numpy as np

from headstart.arrays import Words
from headstart.errors import OptionError

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
    raw = _draw_words(as_generator(rng))
    if raw[0] == 0 and not raw.any():  # the one state xoshiro cannot leave
        raw[0] = 1
    return raw


def _draw_words(generator: np.random.Generator) -> Words:
    """32 bytes of a Generator's as words."""
    source = generator.bit_generator
    if isinstance(source, np.random.PCG64) and not source.state["has_uint32"]:
        return source.random_raw(4)  # the same bytes, in a quarter of the time
    # Not random_raw, whose numbers have 32 bits with MT19937, and which passes over half a number that is left.
    return np.frombuffer(generator.bytes(32), dtype="<u8").astype(np.uint64)
