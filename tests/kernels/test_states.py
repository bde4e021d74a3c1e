"""States: copied, saved, loaded and reseeded whatever their fields are called."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from headstart.arrays import Floats, Scratch, Words
from headstart.errors import OptionError
from headstart.kernels.states import copy_state, load_state, reseed_state, save_state
from headstart.kernels.tally import Tally, new_tally
from headstart.randomness import as_words


class Inner(NamedTuple):
    luck: Words
    values: Floats


class Outer(NamedTuple):
    tally: Tally
    inner: Inner
    fortune: Words
    room: Scratch
    scale: float
    is_open: bool


def _state(seed: int = 1) -> Outer:
    rng = np.random.default_rng(seed)
    inner = Inner(as_words(rng), rng.normal(size=(2, 3)))
    return Outer(new_tally(3), inner, as_words(rng), rng.normal(size=4), float(rng.normal()), seed == 1)


def test_a_copy_has_arrays_of_its_own():
    state = _state()
    twin = copy_state(state)
    assert type(twin) is Outer
    assert type(twin.inner) is Inner
    twin.inner.values[0, 0] = twin.tally.counts[1] = 77.0
    assert state.inner.values[0, 0] != 77.0
    assert state.tally.counts[1] == 0.0


def test_what_is_saved_goes_by_dotted_names_and_leaves_scratch_out():
    state = _state()
    saved = save_state(state)
    assert list(saved) == [
        "tally.counts",
        "tally.sums",
        "tally.means",
        "inner.luck",
        "inner.values",
        "fortune",
        "scale",
        "is_open",
    ]
    saved["inner.values"][:] = 77.0
    assert (state.inner.values != 77.0).all()


def test_a_loaded_state_is_the_saved_one():
    one, other = _state(1), _state(2)
    loaded = load_state(other, save_state(one))
    np.testing.assert_equal(save_state(loaded), save_state(one))
    assert isinstance(loaded.scale, float)
    assert loaded.is_open is True
    assert loaded.room is not other.room


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tally.counts": np.zeros(2)}, r"state needs tally.counts of shape \(3,\), got shape \(2,\)"),
        ({"fortune": np.zeros(4)}, "state needs fortune of uint64, got float64"),
        ({"inner.values": np.full((2, 3), "x")}, "state needs inner.values of float64, got <U1"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_by_its_field(change, message):
    saved = save_state(_state())
    with pytest.raises(OptionError, match=message):
        load_state(_state(), {**saved, **change})
    saved.pop("inner.luck")
    with pytest.raises(OptionError, match=r"state needs inner.luck of shape \(4,\), got nothing"):
        load_state(_state(), saved)


def test_every_stream_is_reseeded_whatever_its_name_and_nothing_else():
    state = _state()
    fresh = reseed_state(state, 9)
    assert (fresh.inner.luck != state.inner.luck).any()
    assert (fresh.fortune != state.fortune).any()
    assert (fresh.inner.luck != fresh.fortune).any()
    assert fresh.inner.values is state.inner.values
    assert fresh.tally.counts is state.tally.counts
    again = reseed_state(_state(2), 9)
    assert again.fortune.tolist() == fresh.fortune.tolist()


def test_a_state_of_one_stream_is_reseeded_as_the_door_gives_it():
    assert reseed_state(Inner(as_words(1), np.zeros(1)), 5).luck.tolist() == as_words(5).tolist()


class Made(NamedTuple):
    rows: Floats
    left: Floats


def test_what_a_part_was_made_from_is_shared_and_not_saved():
    rows = np.arange(3.0)
    rows.setflags(write=False)
    state = Made(rows, np.ones(2))
    assert list(save_state(state)) == ["left"]
    assert copy_state(state).rows is rows
    loaded = load_state(state, {"left": np.zeros(2)})
    assert loaded.rows is rows
    assert loaded.left.tolist() == [0.0, 0.0]
