"""What outcomes count when counting them again fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headstart.serve.engine.bounds import Bounds
from headstart.serve.engine.reckoning import Reckoning
from headstart.serve.errors import StoreUnavailable
from headstart.serve.store.events import DecisionBody, Learnt

_BODY: DecisionBody = {"context": {}, "action": "a", "propensity": 1.0, "probabilities": [1.0], "version": 1}
_ROWS = [Learnt(3 + i, 0, 0, _BODY, 1.0, False, 2 + i) for i in range(3)]


def _failing() -> Iterator[Learnt]:
    raise StoreUnavailable("the disk is gone")
    yield _ROWS[0]


def test_outcomes_whose_counting_failed_are_still_to_be_counted_after_the_next_change():
    """The tally had been cleared, so another change of bounds found nothing to count again: it passed for counted."""
    reckoning = Reckoning()
    for row in _ROWS:
        reckoning.add_learnt(row)
    reckoning.bound(Bounds((0.0, 5.0)), 6)
    with pytest.raises(StoreUnavailable):
        reckoning.count_again(_failing())
    reckoning.bound(Bounds((0.0, 2.0)), 7)
    assert not reckoning.is_counted
    reckoning.count_again(_ROWS)
    assert (reckoning.is_counted, reckoning.tally.learnt) == (True, 3)
