"""simulate(delay=, batch=): outcomes that come late, by hand, and the same compiled and plain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.simulation.waiting import Waiting
from tests.catalogue import ORACLES
from tests.in_flight import Crowded, Recorder
from tests.plain import Plain
from tests.simulation.test_simulate import CLICKS
from tests.warmstart.test_warmstart import CONTEXT_FREE


def lived(delay: int, batch: int, rounds: int) -> list[str]:
    """What a policy is told of users 0, 1, ..., in words."""
    recorder = Recorder()
    waiting = Waiting(recorder, delay, batch, 1)
    for user in range(rounds):
        context = np.array([float(user)])
        action = waiting.play(context)
        waiting.update(context, action, 1.0)
        context[:] = np.nan  # a world may use one array for all its users
    return [f"{call} {user:g}" for call, user in recorder.calls]


def test_a_delay_by_hand():
    """Two in flight at each decision from the third on; user 0 is learnt when user 2 has been decided for."""
    assert lived(delay=2, batch=1, rounds=4) == [
        *("play 0", "expect 0", "play 1", "expect 1"),
        *("play 2", "expect 2", "release 0", "update 0"),
        *("play 3", "expect 3", "release 1", "update 1"),
    ]


def test_a_batch_by_hand():
    """Three users are decided for, then all three are learnt, the oldest first; the next three have just begun."""
    assert lived(delay=0, batch=3, rounds=4) == [
        *("play 0", "expect 0", "play 1", "expect 1", "play 2", "expect 2"),
        *("release 0", "update 0", "release 1", "update 1", "release 2", "update 2"),
        *("play 3", "expect 3"),
    ]


def test_a_delay_in_batches_by_hand():
    """After users 1 and 3 (batches of two) those come that are one user old: user 0, then users 1 and 2."""
    assert lived(delay=1, batch=2, rounds=4) == [
        *("play 0", "expect 0", "play 1", "expect 1", "release 0", "update 0"),
        *("play 2", "expect 2", "play 3", "expect 3", "release 1", "update 1", "release 2", "update 2"),
    ]


def test_without_delay_a_policy_is_told_to_expect_nothing():
    recorder = Recorder()
    world = hs.worlds.Synthetic(n_actions=recorder.n_actions)
    hs.simulate(world, {"it": lambda world, log, rng: recorder}, rounds=5, runs=1, seed=0)
    assert [call for call, _ in recorder.calls] == ["play", "update"] * 5


WAITS = [(0, 1), (3, 1), (0, 4), (5, 3), (200, 1)]


def lives(make: Callable, delay: int, batch: int) -> np.ndarray:
    return hs.simulate(CLICKS, {"it": make}, rounds=80, runs=4, seed=11, delay=delay, batch=batch)["it"].regrets


@pytest.mark.parametrize(("delay", "batch"), WAITS)
@pytest.mark.parametrize("name", CONTEXT_FREE)
def test_every_oracle_waits_in_plain_python_as_compiled(name: str, delay: int, batch: int):
    def made(wrap: Callable) -> Callable:
        return lambda world, log, rng: wrap(ORACLES[name](int(rng.integers(2**32))))

    np.testing.assert_array_equal(
        lives(made(lambda part: part), delay, batch), lives(made(Plain), delay, batch), strict=True
    )


WRAPPED: dict[str, Callable[[hs.Log, Any, Callable], Any]] = {
    "alone": lambda log, rng, oracle: oracle(1),
    "WarmStart": lambda log, rng, oracle: hs.WarmStart(oracle(1), hs.IPSWeighting(log), schedule="batch", rng=rng),
    "WarmStart each round": lambda log, rng, oracle: hs.WarmStart(oracle(1), hs.IPSWeighting(log), rng=rng),
    "OfflineOnly": lambda log, rng, oracle: hs.OfflineOnly(oracle(1), hs.IPSWeighting(log), rng=rng),
    "Guarded, and so Revocable": lambda log, rng, oracle: hs.Guarded(
        hs.WarmStart(oracle(0), hs.IPSWeighting(log), schedule="batch", rng=rng), level=0.9, rng=1
    ),
}


@pytest.mark.parametrize(("delay", "batch"), WAITS[1:])
@pytest.mark.parametrize("name", WRAPPED)
def test_what_is_in_flight_goes_through_every_wrapper_in_plain_python_as_compiled(name: str, delay: int, batch: int):
    def made(wrap: Callable) -> Callable:
        return lambda world, log, rng: WRAPPED[name](log, rng, lambda n_features: wrap(Crowded(3, n_features)))

    compiled = lives(made(lambda part: part), delay, batch)
    np.testing.assert_array_equal(compiled, lives(made(Plain), delay, batch), strict=True)
    unlike = lives(made(lambda part: part), 0, 1)
    assert (compiled != unlike).any() or name == "OfflineOnly"  # which waits for nobody


@pytest.mark.parametrize("decide_on", [None, [0]])
def test_a_start_waits_in_plain_python_as_compiled(decide_on: Any):
    def made(wrap: Callable) -> Callable:
        return lambda world, log, rng: wrap(hs.start(log, decide_on=decide_on, rng=int(rng.integers(2**32))))

    for delay, batch in WAITS:
        np.testing.assert_array_equal(lives(made(lambda part: part), delay, batch), lives(made(Plain), delay, batch))


def test_one_thread_and_three_give_the_same_bits():
    def run(n_jobs: int) -> np.ndarray:
        made = {"it": lambda world, log, rng: hs.ThompsonBeta(3, rng=rng)}
        return hs.simulate(CLICKS, made, 60, 9, seed=4, n_jobs=n_jobs, delay=7, batch=2)["it"].regrets

    np.testing.assert_array_equal(run(1), run(3))


def test_outcomes_outside_an_oracles_range_are_an_error_that_names_the_oracle():
    made = {"beta": lambda w, log, rng: hs.ThompsonBeta(2, rng=rng)}
    with pytest.raises(hs.errors.OutcomeError, match=r"must be in \[0, 1\] for ThompsonBeta"):
        hs.simulate(hs.worlds.Synthetic(2), made, 50, 1, seed=1, delay=3)


@pytest.mark.parametrize(("name", "least"), [("delay", 0), ("batch", 1)])
@pytest.mark.parametrize("value", [-1, 1.5, True, "3", None])
def test_rejects_what_is_no_count(name: str, least: int, value: Any):
    with pytest.raises(OptionError, match=f"{name} must be (a whole number|at least {least}), got {value!r}"):
        hs.simulate(CLICKS, {"it": hs.UCB(3)}, 5, 2, seed=0, **{name: value})
