"""How many users are to come, told or not."""

from __future__ import annotations

import pytest

from headstart.kernels.remaining import LEAST, NOT_TOLD, users_to_come


@pytest.mark.parametrize(
    ("horizon", "n", "users"),
    [(1000.0, 0.0, 1000.0), (1000.0, 400.0, 600.0), (1000.0, 990.0, 50.0), (1000.0, 4000.0, 200.0)],
)
def test_told_it_is_what_is_left_and_at_least_a_twentieth(horizon: float, n: float, users: float):
    assert users_to_come(horizon, n, 0.05) == users


@pytest.mark.parametrize(("n", "users"), [(0.0, LEAST), (LEAST, LEAST), (2000.0, 2000.0)])
def test_not_told_it_is_as_many_as_have_come_and_at_least_some(n: float, users: float):
    assert users_to_come(NOT_TOLD, n, 0.05) == users
