"""Worlds around a world: what they change, and what they leave."""

import numpy as np
import pytest

from headstart.errors import OptionError
from headstart.worlds import Linear, Mislogged, Moving, Turning

BASE = Linear([0.0, 1.0, 3.0], np.zeros((3, 1)), noise=0.0, n_log=50)  # outcomes are the levels


def _meet(drawn, action, n):
    """What each of the next users does, and what was to be expected."""
    told = []
    for _ in range(n):
        drawn.draw_user()
        told.append((drawn.draw_outcome(action), *drawn.expected_outcomes()))
    return np.array(told)


def test_levels_are_added_to_each_user_in_turn_and_the_last_stays():
    drawn = Moving(BASE, [0.0, 0.5, 2.0]).draw(np.random.default_rng(1))
    moved = _meet(drawn, 1, 5)
    assert moved[:, 0].tolist() == [1.0, 1.5, 3.0, 3.0, 3.0]
    assert (moved[:, 1:] == np.array([0.0, 1.0, 3.0]) + np.array([0.0, 0.5, 2.0, 2.0, 2.0])[:, None]).all()


def test_a_moving_level_leaves_the_log_and_the_differences():
    still, moving = (world.draw(np.random.default_rng(2)) for world in (BASE, Moving(BASE, [7.0])))
    assert (still.log.outcomes == moving.log.outcomes).all()
    moving.draw_user()
    assert np.ptp(moving.expected_outcomes() - still.expected_outcomes()) == 0.0


def test_actions_change_places_once():
    turned = _meet(Turning(BASE, after=2).draw(np.random.default_rng(3)), 0, 4)
    assert turned[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert turned[-1, 1:].tolist() == [1.0, 3.0, 0.0]


@pytest.mark.parametrize("biases", [1.5, [0.0, -2.0, 0.25]])
def test_what_was_logged_is_off_and_users_are_not(biases):
    right, wrong = (world.draw(np.random.default_rng(4)) for world in (BASE, Mislogged(BASE, biases)))
    off = np.broadcast_to(biases, 3)[right.log.actions]
    assert (wrong.log.outcomes == right.log.outcomes + off).all()
    assert (wrong.log.propensity_matrix == right.log.propensity_matrix).all()
    assert (_meet(right, 2, 3) == _meet(wrong, 2, 3)).all()


def test_rejects():
    with pytest.raises(OptionError, match="one a user"):
        Moving(BASE, [])
    with pytest.raises(OptionError, match="after"):
        Turning(BASE, after=-1)
    with pytest.raises(OptionError, match="finite"):
        Mislogged(BASE, [np.nan])
