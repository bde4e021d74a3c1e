"""Deciding: what is kept between decisions."""

import random
import tracemalloc

from headstart.serve import Engine
from headstart.serve.engine.decision import MAX_KEPT
from headstart.serve.engine.surprises import Seen
from tests.serve.experiments import make_config

NOBODY = Seen({}, {})
ACTIONS = [f"action {a}" for a in range(100)]


def test_memory_does_not_grow_with_the_sets_of_available_actions(tmp_path):
    """100 actions, 6,000 different sets of 50, learning frozen: kept for each, the chances alone took 15 MB."""
    source = random.Random(1)
    with Engine.open(make_config(str(tmp_path / "s.sqlite"), actions=ACTIONS)) as engine:
        decider = engine._ledgers["ads"].decider
        for i in range(2 * MAX_KEPT):  # the memory that is used once and for all
            decider.decide(f"first-{i}", NOBODY, sorted(source.sample(ACTIONS, 50)))
        tracemalloc.start()
        try:
            for i in range(6_000):
                decider.decide(f"u{i}", NOBODY, sorted(source.sample(ACTIONS, 50)))
            grown = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    assert grown < 2e6


def test_what_is_kept_changes_no_decision(tmp_path):
    """A set that comes again after it was dropped gets the same chances."""
    source = random.Random(1)
    with Engine.open(make_config(str(tmp_path / "s.sqlite"), actions=ACTIONS)) as engine:
        decider = engine._ledgers["ads"].decider
        offered = sorted(ACTIONS[:7], key=ACTIONS.index)
        before = decider.decide("u", NOBODY, offered)
        for i in range(MAX_KEPT + 1):
            decider.decide(f"u{i}", NOBODY, sorted(source.sample(ACTIONS, 9), key=ACTIONS.index))
        assert decider.decide("u", NOBODY, offered) == before
