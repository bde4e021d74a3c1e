"""SipHash against its authors' vectors and against an obvious twin."""

import numpy as np
import pytest

from headstart.kernels import compiled
from headstart.kernels.siphash import draw_actions, hash_numbers, hash_texts
from tests.siphash import siphash

KEY = np.frombuffer(bytes(range(16)), dtype="<u8").astype(np.uint64)


def hash_all(texts):
    held = np.frombuffer(b"".join(texts) or b"\0", dtype=np.uint8)
    ends = np.cumsum([0, *(len(text) for text in texts)])
    out = np.empty(len(texts), dtype=np.uint64)
    compiled(hash_texts)(held, ends, KEY, out)
    return out.tolist()


def test_the_authors_vectors():
    """The first and the sixteenth of vectors.h: key 00..0f, input 00, 01, ... of length 0 and 15."""
    assert hash_all([b"", bytes(range(15))]) == [0x726FDB47DD0E0E31, 0xA129CA6149BE45E5]


@pytest.mark.parametrize("length", range(40))
def test_every_length_is_as_the_twin_says(length):
    text = bytes((7 * i + length) % 256 for i in range(length))
    assert hash_all([b"before", text, b"after"])[1] == siphash(text, bytes(range(16)))


def hash_values(values):
    out = np.empty(values.size, dtype=np.uint64)
    compiled(hash_numbers)(values, KEY, out)
    return out.tolist()


def test_a_number_is_hashed_as_it_is_written():
    values = np.array([0, 7, -1, 10, -10, 99_999_999, 100_000_000, 2**63 - 1, -(2**63)])
    assert hash_values(values) == hash_all([str(value).encode() for value in values.tolist()])


@pytest.mark.parametrize("n_digits", range(1, 20))
def test_numbers_of_one_length_are_hashed_as_they_are_written(n_digits):
    """The ends of each length, and of the lengths whose numbers are hashed several at once, 600 between them."""
    low, high = 10 ** (n_digits - 1) * (n_digits > 1), min(10**n_digits, 2**63) - 1
    drawn = np.random.default_rng(n_digits).integers(low, high, size=600, endpoint=True)
    values = np.concatenate([[low, high], drawn])
    assert hash_values(values) == hash_all([str(value).encode() for value in values.tolist()])


def test_numbers_of_all_lengths_are_hashed_as_they_are_written_whatever_stands_beside_them():
    values = np.array([sign * 10**n + more for n in range(19) for more in (-1, 0, 1) for sign in (1, -1)])
    mixed = np.random.default_rng(0).choice(values, size=2_000)
    assert hash_values(mixed) == hash_all([str(value).encode() for value in mixed.tolist()])


def as_hashes(uniforms):
    return (np.array(uniforms) * 2.0**53).astype(np.uint64) << np.uint64(11)


def drawn_by(chances, hashes):
    actions, taken = np.empty(len(hashes), dtype=np.int32), np.empty(len(hashes))
    compiled(draw_actions)(np.array(chances), hashes, actions, taken)
    return actions.tolist(), taken.tolist()


def test_a_uniform_is_the_first_53_bits():
    """The last hash below 1/2 and the first at it, whose last 11 bits tell nothing."""
    hashes = np.array([0, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)
    assert drawn_by([[0.5, 0.5]], hashes)[0] == [0, 0, 1, 1]


def test_an_action_is_the_stretch_that_holds_the_number_and_never_one_without_a_chance():
    """Of (0.25, 0, 0.75): below 0.25 the first, then the third; a sum short of 1 by rounding gives the last."""
    hashes = as_hashes([0.0, 0.2499, 0.25, 1.0 - 2.0**-53])
    assert drawn_by([[0.25, 0.0, 0.75]], hashes) == ([0, 0, 2, 2], [0.25, 0.25, 0.75, 0.75])
    assert drawn_by([[0.1, 0.9 - 1e-12, 0.0]], hashes[3:]) == ([1], [0.9 - 1e-12])


def test_each_row_has_its_own_chances():
    """A row whose last action has a chance does not give it to the next row, where it has none."""
    chances = [[0.5, 0.0, 0.5], [0.5, 0.5 - 1e-12, 0.0], [0.0, 0.0, 1.0]]
    assert drawn_by(chances, as_hashes([1.0 - 2.0**-53] * 2 + [0.0]))[0] == [2, 1, 2]
