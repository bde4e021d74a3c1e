"""How tests are shared out between workers."""

from __future__ import annotations

import pytest

from tests.sharing import group_of


def test_a_file_is_a_group_and_all_that_need_spark_are_one(request: pytest.FixtureRequest):
    """Those that need it ask for the fixture, by themselves or through another."""
    needs: dict[str, bool] = {}
    for item in request.session.items:
        file = item.nodeid.partition("::")[0]
        needs[file] = needs.get(file, False) or "spark_session" in getattr(item, "fixturenames", ())
    assert {file: group_of(file) for file in needs} == {file: "spark" if it else file for file, it in needs.items()}


_TURNS: list[int] = []


@pytest.mark.parametrize("turn", range(4))
def test_a_file_stays_with_one_worker(turn: int):
    """Each turn finds those before it in the memory of the same process."""
    _TURNS.append(turn)
    assert list(range(turn + 1)) == _TURNS
