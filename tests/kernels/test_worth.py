"""What learning more of an action is worth."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats

from headstart.kernels.worth import _gain, gain_above, mean_of, worth_of


@pytest.mark.parametrize(("mean", "deviation", "reference"), [(0.0, 1.0, 0.5), (2.0, 0.3, 1.0), (-1.0, 0.5, 1.0)])
def test_the_gain_is_the_integral_above_the_reference(mean, deviation, reference):
    density = stats.norm(mean, deviation)
    expected, _ = integrate.quad(
        lambda x: (x - reference) * density.pdf(x), reference, mean + 40 * deviation, epsabs=1e-14
    )
    assert gain_above(mean, deviation, reference) == pytest.approx(expected, rel=1e-8)


def test_the_gain_at_the_ends():
    assert gain_above(1.0, 0.0, 0.25) == 0.75
    assert gain_above(0.25, 0.0, 1.0) == 0.0
    assert gain_above(0.0, 1.0, 0.0) == pytest.approx(1 / math.sqrt(2 * math.pi), rel=1e-14)
    assert gain_above(0.0, 1.0, 100.0) == 0.0
    assert gain_above(100.0, 1.0, 0.0) == 100.0


def _state(seed: int) -> SimpleNamespace:
    rng = np.random.default_rng(seed)
    return SimpleNamespace(
        belief=SimpleNamespace(
            weights=rng.dirichlet(np.ones(3), size=2),
            locations=rng.normal(size=(2, 3)),
            scales=rng.uniform(0.05, 1.0, (2, 3)),
            known=rng.uniform(0.5, 50.0, (2, 3)),
            is_binary=False,
        ),
        tally=SimpleNamespace(counts=np.array([4.0, 0.0])),
        caution=3.0,
        caps=np.array([-0.2, np.inf]),
        pending=np.zeros(2),
    )


def _locations(state: SimpleNamespace, a: int) -> np.ndarray:
    """What the log says is capped."""
    return np.array([min(state.belief.locations[a, 0], state.caps[a]), *state.belief.locations[a, 1:]])


def _slow_worth(state: SimpleNamespace, a: int, reference: float, remaining: float, is_leader: bool) -> float:
    """Each component's mean after m plays is normal around its mean now; what the log did not say counts 3 times."""

    def gain(plays: float) -> float:
        if plays == 0.0:
            return 0.0
        moved = state.belief.scales[a] * np.sqrt(plays / (plays + state.belief.known[a]))
        z = (_locations(state, a) - reference) / moved * (-1 if is_leader else 1)
        return (state.belief.weights[a] * [1.0, 3.0, 3.0]) @ (moved * (stats.norm.pdf(z) + z * stats.norm.cdf(z)))

    bought = state.pending[a]
    users = min(remaining, state.pending.sum()) if bought else remaining
    looks = [m for m in 2.0 ** np.arange(10) if m < users]
    return max([0.0, *((users - m) * (gain(bought + m) - gain(bought)) / m for m in looks)])


@pytest.mark.parametrize("pending", [(0.0, 0.0), (3.0, 0.0), (30.0, 200.0)])
@pytest.mark.parametrize("seed", range(6))
def test_the_worth_is_the_largest_over_looks_ahead(seed, pending):
    state = _state(seed)
    state.pending[:] = pending
    for a, reference, remaining in ((0, 0.3, 1000.0), (1, -0.5, 50.0), (1, 0.2, 3.0), (0, 0.0, 1.0)):
        for is_leader in (False, True):
            expected = _slow_worth(state, a, reference, remaining, is_leader)
            found = worth_of(state, a, reference, remaining, 0.0, is_leader)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)
        assert mean_of(state, a) == pytest.approx(state.belief.weights[a] @ _locations(state, a), rel=1e-14)


def test_what_cannot_reach_the_least_is_not_computed_and_what_can_is():
    """Perfect knowledge, at once, is the most that any number of plays can be worth."""
    for seed in range(20):
        state = _state(seed)
        exact = worth_of(state, 0, 0.5, 200.0, 0.0, False)
        for least in (0.1 * exact, 0.99 * exact, 1.5 * exact, 100.0 * exact):
            found = worth_of(state, 0, 0.5, 200.0, least, False)
            assert found == exact or found <= exact <= least


def test_nothing_is_learnt_for_the_last_user():
    assert worth_of(_state(1), 0, 0.0, 1.0, 0.0, False) == 0.0


@pytest.mark.parametrize(
    ("mean", "deviation", "reference"), [(0.02, 0.015, 0.05), (0.97, 0.02, 0.99), (0.4, 0.2, 0.3)]
)
def test_the_gain_of_a_chance_is_that_of_a_beta_distribution(mean, deviation, reference):
    """One component, looked at as far as it can be known, behind the reference and before it."""
    size = mean * (1 - mean) / deviation**2 - 1
    chance = stats.beta(mean * size, (1 - mean) * size)
    above, _ = integrate.quad(lambda x: (x - reference) * chance.pdf(x), reference, 1.0, epsabs=1e-14)
    below, _ = integrate.quad(lambda x: (reference - x) * chance.pdf(x), 0.0, reference, epsabs=1e-14)
    belief = SimpleNamespace(
        weights=np.ones((1, 1)),
        locations=np.full((1, 1), mean),
        scales=np.full((1, 1), deviation),
        known=np.full((1, 1), size),
        is_binary=True,
    )
    state = SimpleNamespace(belief=belief, caution=1.0, caps=np.array([np.inf]), pending=np.zeros(1))
    for is_leader, expected in ((False, above), (True, below)):
        assert _gain(state, 0, reference, math.inf, is_leader) == pytest.approx(expected, rel=1e-6)


def test_the_worth_of_a_chance_is_by_the_successes_that_plays_may_bring():
    """Beta(1, 99) behind 0.02, 1,000 users to come: every number of successes of m = 1, 2, 4, ..., 512 plays."""
    belief = SimpleNamespace(
        weights=np.ones((1, 1)),
        locations=np.full((1, 1), 0.01),
        scales=np.full((1, 1), math.sqrt(0.01 * 0.99 / 101)),
        known=np.full((1, 1), 100.0),
        is_binary=True,
    )
    state = SimpleNamespace(belief=belief, caution=1.0, caps=np.array([np.inf]), pending=np.zeros(1))
    worths = []
    for m in 2 ** np.arange(10):
        k = np.arange(m + 1)
        gain = stats.betabinom(m, 1, 99).pmf(k) @ np.maximum((1 + k) / (100 + m) - 0.02, 0.0)
        worths.append((1000 - m) * gain / m)
    assert worth_of(state, 0, 0.02, 1000.0, 0.0, False) == pytest.approx(max(worths), rel=1e-9)
