"""What exploring is worth by context: as an obvious twin says, whichever rivals are left out early."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from headstart.kernels.remaining import users_to_come
from headstart.oracles.lin_knowledge_gradient import LinKnowledgeGradient
from headstart.oracles.lin_worth import _gain, _height, _most_a_play
from headstart.oracles.linear_beliefs import LEAST, fill_deviations, glance, look_closer, new_forecast, noise_of
from headstart.parts.abilities import OracleAbilities
from headstart.parts.tables.chances import chances_of, foresee

K, D = 4, 6


def made(seed, n_rows=80, horizon=None):
    """A policy of a small log that has met thirty users, so that its models differ in chance."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n_rows), rng.standard_normal((n_rows, D - 1))])
    actions = rng.integers(K, size=n_rows)
    outcomes = (x * rng.normal(0.0, 0.3, (K, D))[actions]).sum(axis=1) + rng.normal(size=n_rows)
    oracle = LinKnowledgeGradient.from_rows(x, actions, outcomes, K, trust=0.7, horizon=horizon, rng=seed)
    for _ in range(30):
        user = np.append(1.0, rng.standard_normal(D - 1))
        oracle.update(user, int(rng.integers(K)), float(rng.normal()))
    return oracle


def users(n, seed=7):
    return np.column_stack([np.ones(n), np.random.default_rng(seed).standard_normal((n, D - 1))])


def gains_by_twin(oracle, context, best):
    """(K,) max over m = 1, 2, 4 ... 512 of (G(q + m) - G(q)) / m, every term of it; G(0) counts as nothing."""
    state, belief = oracle._state, oracle._state.belief
    phi, inverses, chances = belief.products.expand(context[None])[0], oracle.inverses, oracle.chances
    noise = noise_of(belief, state.tally)

    def rise(a, plays):
        total = 0.0
        for j, chance in enumerate(chances[a]):
            if chance > LEAST:
                inverse = inverses[a, j]
                freedom = belief.freedoms[a] + state.tally.counts[a]
                variance = (belief.freedoms[a] * noise + belief.squares[a, j]) / freedom
                s = np.sqrt(variance / (phi @ inverse @ phi + 1.0 / plays)) * abs(phi @ inverse[:, 0])
                z = (phi @ belief.theta[a, j, : phi.size] - best) / s
                total += chance * s * (np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) + z * ndtr(z))
        return total

    found = []
    for a in range(K):
        q = state.pending[a]
        bought = rise(a, q) if q else 0.0
        found.append(max((rise(a, q + m) - bought) / m for m in 2.0 ** np.arange(10)))
    return np.array(found)


def worths_by_twin(oracle, context):
    state = oracle._state
    values = oracle.predict(context[None])[0][0]
    greedy = int(np.argmax(values))
    n = state.tally.counts.sum() + state.pending.sum()
    to_come = state.reach * users_to_come(state.horizon, n, state.last)
    worths = values + to_come * gains_by_twin(oracle, context, values[greedy])
    worths[greedy] = values[greedy]
    return greedy, worths


@pytest.mark.parametrize("in_flight", [(0, 0, 0, 0), (3, 0, 40, 1), (5_000, 200, 90_000, 17)])
def test_rivals_that_are_left_out_early_would_not_have_been_chosen(in_flight):
    """Whoever is chosen has the twin's largest worth, up to 1e-9 of it."""
    n_exploring = 0
    for seed in range(4):
        oracle = made(seed, horizon=None if seed % 2 else 20_000)
        oracle._state.pending[:] = in_flight
        for context in users(20, seed):
            greedy, worths = worths_by_twin(oracle, context)
            chances = oracle.probabilities(context)
            others = np.flatnonzero(chances * (np.arange(K) != greedy))
            chosen = int(others[0]) if others.size else greedy
            assert chances[greedy] == (1.0 if chosen == greedy else 0.5)
            assert worths[chosen] >= worths.max() - 1e-9 * abs(worths).max()
            n_exploring += chosen != greedy
    assert 0 < n_exploring < 80


def bounds(chances, forecast, a, squares, best, q):
    """What a play of an action is worth at most, by the density at 0 and by its most where it is."""
    top = there = 0.0
    for chance, centre, scale, square in zip(chances, forecast.centres[a], forecast.scales[a], squares, strict=True):
        if chance > LEAST:
            ahead = centre - best
            top += chance * _most_a_play(ahead, scale, square, q, norm.pdf(0.0))
            there += chance * _most_a_play(ahead, scale, square, q, _height(ahead, scale, square, q))
    return top, there


@pytest.mark.parametrize("q", [0.0, 1.0, 30.0, 10_000.0])
def test_the_bound_is_never_below_the_gain(q):
    """By the density's own most and by its most where it is; with first terms of squares and with whole ones."""
    for seed in range(6):
        state = made(seed)._state
        deviations, forecast, everything = np.zeros((K, 4)), new_forecast(K, 4), np.ones(K, dtype=bool)
        fill_deviations(state.belief, state.tally, noise_of(state.belief, state.tally), deviations)
        for context in users(20, seed):
            glance(state.belief, context, everything, deviations, forecast)
            best = float(forecast.values.max())
            rough = [forecast.squares.copy(), forecast.is_close.copy()]
            for a in range(K):
                forecast.squares[:], forecast.is_close[:] = rough
                look_closer(state.belief, context, a, forecast)
                gain = _gain(state.belief, forecast, a, best, q, 0.0)
                for squares in (forecast.squares[a].copy(), rough[0][a]):
                    top, there = bounds(state.belief.chances[a], forecast, a, squares, best, q)
                    assert gain * (1 - 1e-9) <= there <= top * (1 + 1e-9)


def test_many_users_at_once_are_decided_as_one_by_one_whatever_is_in_flight():
    oracle, contexts = made(3), users(200)
    available = np.random.default_rng(1).random((200, K)) < 0.7
    available[:, 2] = True
    later = OracleAbilities(oracle).copy()
    for action in (0, 0, 1, 3, 3, 3):
        later.expect(contexts[0], action)
    for mask in (None, available):
        ask = foresee(oracle, contexts, mask)
        for place in (oracle, later, oracle):
            one_by_one = [place.probabilities(x, None if mask is None else mask[i]) for i, x in enumerate(contexts)]
            np.testing.assert_array_equal(ask(place, slice(None)), one_by_one)
            np.testing.assert_array_equal(ask(place, np.array([5, 3, 199])), [one_by_one[i] for i in (5, 3, 199)])
            np.testing.assert_array_equal(chances_of(place, contexts, mask), one_by_one)
    assert (ask(oracle, slice(None)) != ask(later, slice(None))).any()


def test_users_of_whom_nothing_can_be_told_get_any_action_at_once_too():
    oracle = LinKnowledgeGradient.from_rows(np.ones((4, 1)), [0, 0, 1, 1], np.zeros(4), 2, rng=0)
    np.testing.assert_array_equal(chances_of(oracle, np.ones((3, 1))), np.full((3, 2), 0.5))
