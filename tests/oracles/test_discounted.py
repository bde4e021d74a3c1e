"""Oracles for worlds that change: what they forget, by hand; and that it pays where the world drifts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError


def test_a_half_life_halves_what_was_learnt():
    """Half-life 1: 4 then 2 of action 0 then 1 of action 1: counts 1/4 + 1/2 and 1, sums 1 + 1 and 1."""
    oracle = hs.DiscountedUCB(2, half_life=1.0)
    for action, outcome in ((0, 4.0), (0, 2.0), (1, 1.0)):
        oracle.update(None, action, outcome)
    counts, means, _, upper = oracle.readings()
    assert counts.tolist() == [0.75, 1.0]
    assert means == pytest.approx([2.0 / 0.75, 1.0])
    np.testing.assert_allclose(upper, means + np.sqrt(2 * math.log(1.75) / counts))


def test_virtual_plays_make_nothing_older():
    for make in (lambda: hs.DiscountedUCB(2, 1.0), lambda: hs.DiscountedThompson(2, 1.0, rng=1)):
        oracle = make()
        for _ in range(4):
            oracle.absorb(None, 0, 1.0, 0.0)
        assert oracle.readings().counts.tolist() == [4.0, 0.0]
        oracle.update(None, 1, 0.0)
        assert oracle.readings().counts.tolist() == [2.0, 1.0]


def test_a_window_holds_the_last_plays_and_no_others():
    oracle, rng, plays = hs.SlidingWindowUCB(3, window=7), np.random.default_rng(0), []
    for _ in range(100):
        plays.append((int(rng.integers(3)), rng.normal()))
        oracle.update(None, *plays[-1])
        for action in range(3):
            kept = [outcome for a, outcome in plays[-7:] if a == action]
            assert oracle.readings().counts[action] == len(kept)
            if kept:
                assert oracle.readings().means[action] == pytest.approx(np.mean(kept), abs=1e-12)
            else:
                assert math.isnan(oracle.readings().means[action])


def test_a_window_longer_than_life_is_ucb_and_an_endless_half_life_nearly():
    windowed, discounted, bare = hs.SlidingWindowUCB(3, 1000), hs.DiscountedUCB(3, 1e12), hs.UCB(3)
    rng = np.random.default_rng(3)
    for _ in range(300):
        action = bare.play()
        assert windowed.play() == action
        assert discounted.play() == action
        outcome = rng.normal(0.2 * action)
        for oracle in (windowed, discounted, bare):
            oracle.update(None, action, outcome)


def test_discounted_posteriors_by_hand():
    """Half-life 1: two successes, then a failure: successes 1/4 + 1/2 of 7/4 plays."""
    oracle = hs.DiscountedThompson(1, 1.0, rng=1)
    for outcome in (1.0, 1.0, 0.0):
        oracle.update(None, 0, outcome)
    state = oracle.get_state()
    assert (state["successes"][0], state["tally.counts"][0]) == (0.75, 1.75)


def test_bad_settings_are_refused():
    with pytest.raises(OptionError, match="half_life must be"):
        hs.DiscountedUCB(2, half_life=0.0)
    with pytest.raises(OptionError, match="window must be at least 1"):
        hs.SlidingWindowUCB(2, window=0)
    with pytest.raises(OptionError, match="rates must be"):
        hs.worlds.Drifting(rates=(0.5,))
    with pytest.raises(OptionError, match="period must be at least 1"):
        hs.worlds.Drifting(period=0)


def test_the_drifting_world_moves_its_rates_on():
    world = hs.worlds.Drifting(rates=(0.0, 1.0, 0.5), period=2).draw(np.random.default_rng(1))
    seen = []
    for _ in range(5):
        world.draw_user()
        assert world.draw_outcome(int(world.expected_outcomes().argmax())) == 1.0
        seen.append(world.expected_outcomes().tolist())
    assert seen == [[0.0, 1.0, 0.5]] * 2 + [[1.0, 0.5, 0.0]] * 2 + [[0.5, 0.0, 1.0]]


def test_forgetting_pays_where_the_world_changes_and_costs_where_it_stands_still():
    """Rates 0.3, 0.5, 0.7 that change places every 1,000 users, T = 4,000, 30 runs: differences of many s.e."""
    pairs = {
        "remembers": lambda w, log, rng: hs.ThompsonBeta(3, rng=rng),
        "forgets": lambda w, log, rng: hs.DiscountedThompson(3, half_life=200.0, rng=rng),
    }
    moving = hs.simulate(hs.worlds.Drifting(period=1000), pairs, rounds=4000, runs=30, seed=1)
    still = hs.simulate(hs.worlds.Drifting(period=10**6), pairs, rounds=4000, runs=30, seed=1)
    for better, worse in ((moving["forgets"], moving["remembers"]), (still["remembers"], still["forgets"])):
        assert worse.mean - better.mean > 4 * math.hypot(worse.se, better.se)


def test_a_half_life_saves_from_an_old_log():
    """3,000 rows of a world that changes once, after 1,000 users: MinUCB with a half-life of 300 has about 60 of
    regret after 2,000, without it about 100 (s.e. below 6). It ages the log alone: for changes that go on, the users'
    outcomes have to age as well, which is what the oracles above do.
    """
    pair = {
        half_life: lambda w, log, rng, half_life=half_life: hs.MinUCB(
            3, hs.IPSWeighting(log).summary(), beta=0.5, half_life=half_life
        )
        for half_life in (300.0, math.inf)
    }
    curves = hs.simulate(hs.worlds.Drifting(period=1000, n_log=3000), pair, rounds=2000, runs=30, seed=2)
    young, old = curves[300.0], curves[math.inf]
    assert old.mean - young.mean > 4 * math.hypot(old.se, young.se)
