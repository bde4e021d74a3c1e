"""Where virtual users come from."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.errors import ContextError
from headstart.kernels import draw_context, record_context
from headstart.warmstart.contexts import LogContexts, Population


def test_reserving_keeps_what_was_recorded():
    source = LogContexts(np.array([[0.0, 0.0]]), rng=1)
    for i in range(200):
        source.reserve(1)
        record_context(source.kernel_state, np.array([float(i), -float(i)]))
    state = source.kernel_state
    assert state.n_online[0] == 200
    np.testing.assert_array_equal(state.online[:200, 0], np.arange(200.0))
    np.testing.assert_array_equal(state.online[:200, 1], -np.arange(200.0))
    assert source.n_features == 2


def test_without_room_a_context_is_left_out_and_nothing_is_overwritten():
    source = LogContexts(np.array([[0.0]]), rng=1)
    room = source.kernel_state.online.shape[0]
    for i in range(room + 5):
        record_context(source.kernel_state, np.array([float(i)]))
    assert source.kernel_state.n_online[0] == room
    assert source.kernel_state.online[-1, 0] == room - 1


def test_a_source_does_not_lock_or_follow_the_user_s_matrix():
    matrix = np.array([[1.0], [2.0]])
    population = Population(matrix, rng=1)
    matrix[:] = 9.0
    assert population.kernel_state.population.tolist() == [[1.0], [2.0]]
    LogContexts(matrix, rng=1)
    matrix[:] = 3.0  # still writable
    assert population.n_features == 1


@pytest.mark.filterwarnings("ignore:overflow encountered")  # the interpreted generator wraps around on purpose
def test_the_interpreted_kernel_draws_rows_of_the_population():
    population, out = Population([[1.0], [2.0]], rng=1), np.empty(1)
    seen = set()
    for _ in range(40):
        draw_context(population.kernel_state, out)
        seen.add(float(out[0]))
    assert seen == {1.0, 2.0}


@pytest.mark.parametrize(
    ("contexts", "text"),
    [
        ([1.0, 2.0], r"contexts must be a matrix with at least one row, got shape \(2,\)"),
        (np.empty((0, 3)), r"contexts must be a matrix with at least one row, got shape \(0, 3\)"),
        ([[1.0, np.inf]], "contexts in row 0, column 1 must be finite, got inf"),
    ],
)
def test_rejects_what_is_no_population(contexts, text: str):
    with pytest.raises(ContextError, match=text):
        Population(contexts)


@pytest.mark.parametrize("n_online", [0, 3, 100])
def test_a_restored_source_has_the_same_future(n_online: int):
    source, other = LogContexts(np.arange(4.0).reshape(2, 2), rng=1), LogContexts(np.arange(4.0).reshape(2, 2), rng=2)
    for i in range(n_online):
        source.reserve(1)
        record_context(source.kernel_state, np.array([float(i), -float(i)]))
    saved = source.get_state()
    assert "logged" not in saved
    assert saved["online"].shape == (n_online, 2)
    other.set_state(saved)
    for each in (source, other):
        each.reserve(1)
        record_context(each.kernel_state, np.array([7.0, 7.0]))
    assert _draws(source) == _draws(other)


def _draws(source) -> list:
    drawn, out = [], np.empty(2)
    with np.errstate(over="ignore"):  # words wrap around; interpreted, numpy warns of it
        for _ in range(50):
            draw_context(source.kernel_state, out)
            drawn.append(out.tolist())
    return drawn
