"""Killed under load: nothing acknowledged is lost or there twice. Small here; the campaign kills 200 and 50 times."""

from tests.serve.killing import run_kills


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(address):
    tally = run_kills(address, runs=3, seed=11)
    assert tally.faults == []
    assert tally.acknowledged > 10
