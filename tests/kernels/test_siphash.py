"""SipHash against its authors' vectors and against an obvious twin."""

import numpy as np
import pytest

from headstart.kernels import compiled
from headstart.kernels.siphash import as_uniforms, draw_actions, hash_numbers, hash_texts
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


def test_a_number_is_hashed_as_it_is_written():
    values = np.array([0, 7, -1, 10, -10, 99_999_999, 100_000_000, 2**63 - 1, -(2**63)])
    out = np.empty(values.size, dtype=np.uint64)
    compiled(hash_numbers)(values, KEY, out)
    assert out.tolist() == hash_all([str(value).encode() for value in values.tolist()])


def test_a_uniform_is_the_first_53_bits():
    out = np.empty(3)
    compiled(as_uniforms)(np.array([0, 2**64 - 1, 2**63], dtype=np.uint64), out)
    assert out.tolist() == [0.0, 1.0 - 2.0**-53, 0.5]


def test_an_action_is_the_stretch_that_holds_the_number_and_never_one_without_a_chance():
    """Of (0.25, 0, 0.75): below 0.25 the first, then the third; a sum short of 1 by rounding gives the last."""
    chances = np.array([[0.25, 0.0, 0.75]])
    actions, taken = np.empty(4, dtype=np.int64), np.empty(4)
    compiled(draw_actions)(chances, np.array([0.0, 0.2499, 0.25, 1.0 - 2.0**-53]), actions, taken)
    assert (actions.tolist(), taken.tolist()) == ([0, 0, 2, 2], [0.25, 0.25, 0.75, 0.75])
    short = np.array([[0.1, 0.9 - 1e-12, 0.0]])
    compiled(draw_actions)(short, np.array([1.0 - 2.0**-53]), actions[:1], taken[:1])
    assert actions[0] == 1
