"""Streams of runs: numpy's, bit for bit."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.simulation.streams import streams_of


@given(st.integers(0, 2**140), st.integers(0, 2**32 - 1))
def test_streams_are_those_that_numpy_spawns(seed: int, run: int):
    spawned = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(2)
    for mine, theirs in zip(streams_of(seed, run), spawned, strict=True):
        assert mine.generate_state(4, np.uint64).tolist() == theirs.generate_state(4, np.uint64).tolist()
        assert mine.begin().random(3).tolist() == np.random.default_rng(theirs).random(3).tolist()


def test_a_stream_is_begun_anew_each_time_and_its_generator_can_be_copied_and_spawn():
    stream, theirs = streams_of(3, 4)[1], np.random.SeedSequence(3, spawn_key=(4, 1))
    first = np.random.default_rng(theirs).random()
    assert [stream.begin().random() for _ in range(2)] == [first, first]
    assert copy.deepcopy(stream.begin()).random() == pickle.loads(pickle.dumps(stream.begin())).random() == first
    mine = stream.begin()
    assert mine.spawn(2)[1].random() == np.random.default_rng(theirs).spawn(2)[1].random()
    assert mine.spawn(1)[0].random() == np.random.default_rng(theirs).spawn(1)[0].random()  # the third
    assert stream.generate_state(5).tolist() == theirs.generate_state(5).tolist()


def test_a_seed_below_0_is_refused():
    with pytest.raises(ValueError, match="seed must be at least 0, got -1"):
        streams_of(-1, 0)
