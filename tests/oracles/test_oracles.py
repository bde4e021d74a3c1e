"""What every oracle promises: it saves and restores, obeys `available`, states exact chances and rejects nonsense."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import headstart as hs
from headstart.errors import ActionError, OptionError, OutcomeError
from tests.catalogue import ORACLES
from tests.warmstart.test_warmstart import CONTEXT_FREE

FALSE_ALARM = 1e-6
CLASSES = [hs.UCB, hs.ABTest, hs.Greedy, hs.EpsilonGreedy, hs.Exp3, hs.ThompsonBeta, hs.ThompsonGaussian]
MASKS = [[True, True, True], [True, False, True], [False, True, True], [False, False, True]]


def taught(name: str, n: int = 25, seed: int = 5) -> Any:
    """An oracle that has learnt n clicks at rates 0.3, 0.5, 0.6."""
    oracle, clicks = ORACLES[name](seed), np.random.default_rng(seed)
    for i in range(n):
        action = i % 3
        oracle.update(None, action, float(clicks.random() < 0.3 + 0.15 * action))
    return oracle


def future(oracle: Any, n: int = 40) -> list[Any]:
    told = []
    for i in range(n):
        told += [oracle.probabilities().tolist(), oracle.play()]
        oracle.update(None, told[-1], float(i % 3 == 0))
    return told


@pytest.mark.parametrize("name", CONTEXT_FREE)
def test_a_restored_oracle_has_the_same_future(name: str):
    oracle = taught(name)
    restored = ORACLES[name](99)
    restored.play()
    restored.set_state(oracle.get_state())
    twins = [restored, oracle.copy(), copy.deepcopy(oracle), pickle.loads(pickle.dumps(oracle))]
    expected = future(oracle)
    for twin in twins:
        assert future(twin) == expected


@pytest.mark.parametrize("name", CONTEXT_FREE)
def test_a_copy_and_a_saved_state_are_independent(name: str):
    oracle = taught(name)
    saved, twin = oracle.get_state(), oracle.copy()
    before = {key: value.copy() for key, value in saved.items()}
    twin.update(None, 0, 1.0)
    saved["tally.counts"][:] = 77
    np.testing.assert_array_equal(oracle.readings().counts, before["tally.counts"])
    restored = ORACLES[name](1)
    restored.set_state(before)
    restored.update(None, 0, 1.0)
    np.testing.assert_array_equal(before["tally.counts"], oracle.get_state()["tally.counts"])


@pytest.mark.parametrize("name", CONTEXT_FREE)
def test_a_state_of_another_shape_is_rejected_and_changes_nothing(name: str):
    oracle = taught(name)
    before = oracle.get_state()
    short = {**before, "tally.counts": np.zeros(2)}
    with pytest.raises(OptionError, match=r"state needs tally.counts of shape \(3,\), got shape \(2,\)"):
        oracle.set_state(short)
    lost = {key: value for key, value in before.items() if key != "tally.means"}
    with pytest.raises(OptionError, match=r"state needs tally.means of shape \(3,\), got nothing"):
        oracle.set_state(lost)
    for key, value in oracle.get_state().items():
        np.testing.assert_array_equal(value, before[key])


@pytest.mark.parametrize("name", CONTEXT_FREE)
@pytest.mark.parametrize("n", [0, 1, 25])
def test_plays_come_with_their_exact_chances(name: str, n: int):
    """3,000 plays for each of 4 masks, chi-square on the actions with a chance; false alarm 1e-6 each."""
    oracle = taught(name, n)
    for mask in MASKS:
        available = np.array(mask)
        chances = oracle.probabilities(None, available)
        as_list = np.flatnonzero(available).tolist()
        np.testing.assert_array_equal(oracle.probabilities(None, as_list), chances)
        assert chances.shape == (3,)
        assert (chances >= 0).all()
        assert (chances[~available] == 0.0).all()
        assert chances.sum() == pytest.approx(1.0, abs=1e-12)
        player = oracle.copy()
        counts = np.bincount([player.play(None, available) for _ in range(1500)], minlength=3)
        counts += np.bincount([player.play(None, as_list) for _ in range(1500)], minlength=3)
        possible = chances > 0
        assert (counts[~possible] == 0).all()
        if possible.sum() > 1:
            expected = 3000 * chances[possible]
            assert ((counts[possible] - expected) ** 2 / expected).sum() < stats.chi2.isf(FALSE_ALARM, 2)


@pytest.mark.parametrize("name", CONTEXT_FREE)
def test_probabilities_disturb_nothing(name: str):
    oracle = taught(name)
    before = oracle.get_state()
    oracle.probabilities()
    for key, value in oracle.get_state().items():
        if key != "chances":  # Exp3's scratch
            np.testing.assert_array_equal(value, before[key])


@pytest.mark.parametrize("name", CONTEXT_FREE)
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda o: o.update(None, 3, 1.0), ActionError, r"action must be an index 0\.\.2, got 3"),
        (lambda o: o.update(None, -1, 1.0), ActionError, r"action must be an index 0\.\.2, got -1"),
        (lambda o: o.update(None, 1.0, 1.0), ActionError, r"action must be an index 0\.\.2, got 1\.0"),
        (lambda o: o.update(None, "red", 1.0), ActionError, r"got 'red'; labels become indices through"),
        (lambda o: o.update(None, 0, np.nan), OutcomeError, "outcome must be a finite number, got nan"),
        (lambda o: o.update(None, 0, np.inf), OutcomeError, "outcome must be a finite number, got inf"),
        (lambda o: o.update(None, 0, None), OutcomeError, "outcome must be a number, got None"),
        (lambda o: o.update(None, 0, "yes"), OutcomeError, "outcome must be a number, got 'yes'"),
        (lambda o: o.play(None, []), ActionError, "available must hold at least one action, got none"),
        (lambda o: o.play(None, [False] * 3), ActionError, "available must hold at least one action, got none"),
        (lambda o: o.play(None, [True, False]), ActionError, r"available must be a mask of length 3, got shape"),
        (lambda o: o.play(None, [0, 3]), ActionError, r"action must be an index 0\.\.2, got 3"),
        (lambda o: o.probabilities(None, [-1]), ActionError, r"action must be an index 0\.\.2, got -1"),
        (lambda o: o.probabilities(None, [0.5]), ActionError, r"action must be an index 0\.\.2, got 0\.5"),
    ],
)
def test_a_rejected_call_changes_nothing(name: str, call: Any, error: type[Exception], text: str):
    oracle = taught(name)
    before = oracle.get_state()
    with pytest.raises(error, match=text):
        call(oracle)
    for key, value in oracle.get_state().items():
        np.testing.assert_array_equal(value, before[key])


@pytest.mark.parametrize("name", CONTEXT_FREE)
def test_an_outcome_of_zero_and_action_zero_count(name: str):
    oracle = ORACLES[name](1)
    oracle.update(None, 0, 0.0)
    counts, means, _, _ = oracle.readings()
    assert counts.tolist() == [1, 0, 0]
    assert means[0] == 0.0
    assert np.isnan(means[1:]).all()


@pytest.mark.parametrize("name", [name for name in CONTEXT_FREE if "rounds" not in name])
@given(outcomes=st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1)), max_size=40), data=st.data())
def test_incremental_means_are_batch_means_in_any_order(name: str, outcomes: list[tuple[int, float]], data: Any):
    oracle = ORACLES[name](1)
    for action, outcome in data.draw(st.permutations(outcomes)):
        oracle.update(None, action, outcome)
    counts, means, lower, upper = oracle.readings()
    for a in range(3):
        seen = [outcome for action, outcome in outcomes if action == a]
        assert counts[a] == len(seen)
        if seen:
            assert means[a] == pytest.approx(np.mean(seen), abs=1e-12)
        else:
            assert np.isnan(means[a])
        if name in ("UCB", "ThompsonGaussian") and seen:
            assert lower[a] <= means[a] <= upper[a]


@pytest.mark.parametrize("name", ["UCB", "Greedy", "EpsilonGreedy", "Exp3", "ThompsonGaussian"])
@given(outcomes=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), max_size=30))
def test_relabelling_actions_permutes_the_chances(name: str, outcomes: list[tuple[int, int]]):
    """Where there is no tie for the first place, which the lowest index wins."""
    straight, turned = ORACLES[name](1), ORACLES[name](1)
    for action, quarter in outcomes:
        straight.update(None, action, quarter / 4)
        turned.update(None, (action + 1) % 3, quarter / 4)
    chances = straight.probabilities()
    counts, means, _, upper = straight.readings()
    if name in ("UCB", "Greedy", "EpsilonGreedy"):
        index = np.where(counts > 0, upper if name == "UCB" else means, -1.0 if name == "Greedy" else np.inf)
        if np.sum(index >= index.max() - 1e-9) > 1:
            return
    np.testing.assert_allclose(np.roll(turned.probabilities(), -1), chances, rtol=0, atol=1e-9)


def test_the_readings_are_copies():
    oracle = taught("UCB")
    oracle.readings().counts[:] = 0
    assert oracle.readings().counts.sum() == 25


@pytest.mark.parametrize("n_actions", [0, -1, 1.5, "three", None])
@pytest.mark.parametrize("oracle", CLASSES)
def test_rejects_a_number_of_actions_that_is_none(oracle: Any, n_actions: Any):
    with pytest.raises(OptionError, match=r"n_actions must be (at least 1|a whole number), got"):
        oracle(n_actions)


@pytest.mark.parametrize("oracle", CLASSES)
def test_a_single_action_is_always_played(oracle: Any):
    only = oracle(1)
    for outcome in (0.0, 1.0):
        assert only.play() == 0
        np.testing.assert_allclose(only.probabilities(), [1.0], atol=1e-15)
        only.update(None, 0, outcome)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: hs.UCB(2, beta=-1.0), r"beta must be a finite number in \[0, inf\], got -1\.0"),
        (lambda: hs.UCB(2, beta=np.nan), r"beta must be a finite number in \[0, inf\], got nan"),
        (lambda: hs.UCB(2, beta="wide"), "beta must be a number, got 'wide'"),
        (lambda: hs.EpsilonGreedy(2, epsilon=1.1), r"epsilon must be a finite number in \[0, 1\], got 1\.1"),
        (lambda: hs.EpsilonGreedy(2, decay=-1), r"decay must be a finite number in \[0, inf\], got -1"),
        (lambda: hs.EpsilonGreedy(2, epsilon=0.1, decay=1), r"epsilon \(constant\) and decay \(decreasing\) exclude"),
        (lambda: hs.Exp3(2, gamma=2.0), r"gamma must be a finite number in \[0, 1\], got 2\.0"),
        (lambda: hs.Exp3(2, gamma=0.1, horizon=9), "gamma and horizon exclude each other"),
        (lambda: hs.Exp3(2, horizon=0), r"horizon must be a finite number in \[1, inf\], got 0"),
        (lambda: hs.Exp3(2, low=1.0, high=1.0), r"low must be below high, got 1\.0 and 1\.0"),
        (lambda: hs.ThompsonGaussian(2, scale=0.0), r"scale must be a finite number in \[1e-12, inf\], got 0\.0"),
        (lambda: hs.ABTest(2, test_rounds=0), r"test_rounds must be a finite number in \[1, inf\], got 0"),
        (lambda: hs.ABTest(2, rng="seed"), "rng must be a numpy Generator or an integer >= 0, got 'seed'"),
    ],
)
def test_rejects_settings_outside_their_range(make: Any, text: str):
    with pytest.raises(OptionError, match=text):
        make()


def test_a_mask_may_be_read_only_and_strided():
    oracle = taught("UCB")
    mask = np.ones(6, dtype=np.bool_)[::2]
    mask.setflags(write=False)
    assert oracle.play(None, mask) == oracle.play()
    np.testing.assert_array_equal(oracle.probabilities(None, mask), oracle.probabilities())
