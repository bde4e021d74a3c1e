"""simulate: the same numbers compiled and plain, on one thread and on three, alone and in company."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.simulation import simulate as simulating
from headstart.simulation.simulate import Curve
from headstart.simulation.streams import streams_of
from tests.catalogue import ORACLES
from tests.plain import Plain, SlowUCB
from tests.warmstart.test_warmstart import CONTEXT_FREE

# Clicks, so that every oracle takes the outcomes; three kinds, so that matching has something to match.
CLICKS = hs.worlds.Cells(
    rates=[[0.2, 0.5, 0.6], [0.7, 0.3, 0.1], [0.4, 0.4, 0.5]],
    shares=[0.5, 0.3, 0.2],
    log_counts=[[8, 3, 3], [2, 6, 4], [3, 3, 3]],
)

EVALUATORS: dict[str, Callable[[hs.Log, Any], Any]] = {
    "NoLog": lambda log, rng: hs.NoLog(),
    "ExactMatching": lambda log, rng: hs.ExactMatching(log, rng=rng),
    "PropensityMatching": lambda log, rng: hs.PropensityMatching(log, rng=rng),
    "IPSWeighting": lambda log, rng: hs.IPSWeighting(log),
    "HistoricalAverage": lambda log, rng: hs.HistoricalAverage(log, rng=rng),
    "OutcomeModel": lambda log, rng: hs.OutcomeModel(log),
    "BalancedWeighting": lambda log, rng: hs.BalancedWeighting(log),
    "DoublyRobust": lambda log, rng: hs.DoublyRobust(log, rng=rng),
}


def both_ways(world: Any, make: Callable, make_plain: Callable, rounds: int = 80, runs: int = 8) -> Curve:
    compiled = hs.simulate(world, {"it": make}, rounds=rounds, runs=runs, seed=11)["it"]
    plain = hs.simulate(world, {"it": make_plain}, rounds=rounds, runs=runs, seed=11)["it"]
    np.testing.assert_array_equal(compiled.regrets, plain.regrets)
    assert np.unique(compiled.regrets[:, -1]).size > 1  # the runs differ, or equality says little
    return compiled


@pytest.mark.parametrize("name", CONTEXT_FREE)
def test_every_oracle_in_plain_python_gives_the_same_numbers(name: str):
    schedule = "batch" if name == "Greedy" else "each-round"  # asked round by round, Greedy asks for action 0 alone

    def made(wrap: Callable) -> Callable:
        return lambda world, log, rng: hs.WarmStart(
            wrap(ORACLES[name](int(rng.integers(2**32)))), hs.IPSWeighting(log), schedule=schedule, rng=rng
        )

    both_ways(CLICKS, made(lambda part: part), made(Plain))


@pytest.mark.parametrize("name", EVALUATORS)
def test_every_evaluator_in_plain_python_gives_the_same_numbers(name: str):
    def made(wrap: Callable) -> Callable:
        return lambda world, log, rng: hs.WarmStart(hs.UCB(3), wrap(EVALUATORS[name](log, rng)), rng=rng)

    both_ways(CLICKS, made(lambda part: part), made(Plain))


def test_a_plain_evaluator_under_a_random_oracle_gives_the_same_numbers():
    """It has is_exhausted, so that the virtual plays which could only end in None draw nothing."""

    def made(wrap: Callable) -> Callable:
        return lambda world, log, rng: hs.WarmStart(
            hs.EpsilonGreedy(3, epsilon=0.3, rng=rng), wrap(hs.IPSWeighting(log)), rng=rng
        )

    both_ways(CLICKS, made(lambda part: part), made(Plain))


def test_batch_and_offline_only_give_the_same_numbers_in_plain_python():
    def batch(wrap: Callable) -> Callable:
        return lambda world, log, rng: hs.WarmStart(hs.UCB(3), wrap(hs.IPSWeighting(log)), schedule="batch", rng=rng)

    def only(wrap: Callable) -> Callable:
        return lambda world, log, rng: hs.OfflineOnly(hs.Greedy(3), wrap(hs.IPSWeighting(log)), rng=rng)

    both_ways(CLICKS, batch(lambda part: part), batch(Plain))
    both_ways(CLICKS, only(lambda part: part), only(Plain))


def test_the_world_s_population_gives_the_same_numbers_in_plain_python():
    def made(wrap: Callable) -> Callable:
        return lambda world, log, rng: hs.WarmStart(
            hs.UCB(3), wrap(hs.ExactMatching(log, rng=rng)), contexts=world.population, rng=rng
        )

    both_ways(CLICKS, made(lambda part: part), made(Plain))


def ucb_ipsw(world: Any, log: hs.Log, rng: np.random.Generator) -> Any:
    return hs.WarmStart(hs.UCB(3), hs.IPSWeighting(log), rng=rng)


def matched(world: Any, log: hs.Log, rng: np.random.Generator) -> Any:
    return hs.WarmStart(hs.UCB(3), hs.ExactMatching(log, rng=rng), contexts=world.population, rng=rng)


def test_one_thread_and_three_give_the_same_bits():
    policies = {"ipsw": ucb_ipsw, "matched": matched, "plain": lambda w, log, rng: Plain(hs.ABTest(3, rng=rng))}
    one = hs.simulate(CLICKS, policies, rounds=50, runs=12, seed=4, n_jobs=1)
    three = hs.simulate(CLICKS, policies, rounds=50, runs=12, seed=4, n_jobs=3)
    for name in policies:
        np.testing.assert_array_equal(one[name].regrets, three[name].regrets)


def test_a_policy_s_numbers_do_not_depend_on_its_company():
    """The world's population is a stream too: one policy's virtual users must not be another's."""
    alone = hs.simulate(CLICKS, {"matched": matched}, rounds=50, runs=6, seed=4)["matched"]
    after = hs.simulate(CLICKS, {"first": matched, "matched": matched}, rounds=50, runs=6, seed=4)
    np.testing.assert_array_equal(after["matched"].regrets, alone.regrets)
    np.testing.assert_array_equal(after["first"].regrets, alone.regrets)


def test_runs_set_up_one_by_one_have_the_same_numbers(monkeypatch):
    """Set up together or not, and whatever the rows of their logs allow."""
    policies = {"ipsw": ucb_ipsw, "matched": matched, "again": matched}
    together = hs.simulate(CLICKS, policies, rounds=50, runs=12, seed=4)
    for limits in ({"_TOGETHER": 1}, {"_TOGETHER": 5}, {"_ROWS_TOGETHER": 1}):
        with monkeypatch.context() as patched:
            for name, value in limits.items():
                patched.setattr(simulating, name, value)
            apart = hs.simulate(CLICKS, policies, rounds=50, runs=12, seed=4)
        for name in policies:
            np.testing.assert_array_equal(apart[name].regrets, together[name].regrets)


def test_more_runs_begin_with_the_same_runs():
    few = hs.simulate(CLICKS, {"it": ucb_ipsw}, rounds=30, runs=3, seed=4)["it"]
    many = hs.simulate(CLICKS, {"it": ucb_ipsw}, rounds=30, runs=6, seed=4)["it"]
    np.testing.assert_array_equal(many.regrets[:3], few.regrets)
    other = hs.simulate(CLICKS, {"it": ucb_ipsw}, rounds=30, runs=3, seed=5)["it"]
    assert (other.regrets != few.regrets).any()


def test_a_run_s_streams_are_the_seed_s_children():
    """Results of before were drawn from SeedSequence(seed, spawn_key=(run,)).spawn(2)."""
    spawned = np.random.SeedSequence(4, spawn_key=(3,)).spawn(2)
    for mine, theirs in zip(streams_of(4, 3), spawned, strict=True):
        assert mine.generate_state(8).tolist() == theirs.generate_state(8).tolist()


def test_regret_by_hand():
    """Kinds have shares 1/2, 1/2 and rates (0.2, 0.8), (0.4, 0.4): means 0.3 and 0.6. Always playing action 0
    costs 0.3 a round; against each user's own best it costs 0.6 for a user of kind 0 and nothing for kind 1.
    """
    settings: dict[str, Any] = {
        "rates": [[0.2, 0.8], [0.4, 0.4]],
        "shares": [0.5, 0.5],
        "log_counts": [[1, 1], [1, 1]],
    }

    class Always0:
        def play(self, context: Any, available: Any = None) -> int:
            users.append(float(context[0]))
            return 0

        def update(self, context: Any, action: int, outcome: float) -> None:
            assert (action, outcome) in ((0, 0.0), (0, 1.0))

    users: list[float] = []
    make = {"0": lambda world, log, rng: Always0()}
    flat = hs.simulate(hs.worlds.Cells(**settings), make, rounds=10, runs=1, seed=0)["0"]
    np.testing.assert_allclose(flat.regrets[0], 0.3 * np.arange(1, 11), rtol=1e-12)
    del users[:]
    own = hs.simulate(hs.worlds.Cells(**settings, is_contextual=True), make, rounds=10, runs=1, seed=0)["0"]
    np.testing.assert_allclose(own.regrets[0], np.cumsum([0.6 if kind == 0 else 0.0 for kind in users]), rtol=1e-12)


@pytest.mark.parametrize(
    ("rounds", "n_read", "first"), [(1, 1, 1), (7, 7, 1), (200, 200, 1), (201, 200, 1), (1000, 200, 5)]
)
def test_regret_is_read_at_200_rounds_at_most_and_at_the_last(rounds: int, n_read: int, first: int):
    curve = hs.simulate(CLICKS, {"it": hs.UCB(3)}, rounds=rounds, runs=1, seed=0)["it"]
    assert curve.rounds.size == n_read
    assert curve.rounds[0] == first
    assert curve.rounds[-1] == rounds
    assert (np.diff(curve.rounds) > 0).all()


def test_a_policy_given_as_an_object_is_copied_for_each_run():
    policy = hs.UCB(3)
    given = hs.simulate(CLICKS, {"it": policy}, rounds=30, runs=4, seed=2)["it"]
    made = hs.simulate(CLICKS, {"it": lambda world, log, rng: hs.UCB(3)}, rounds=30, runs=4, seed=2)["it"]
    np.testing.assert_array_equal(given.regrets, made.regrets)
    assert policy.readings().counts.sum() == 0


def test_progress_hears_of_every_run_of_every_policy():
    heard, lock = [], threading.Lock()

    def progress(n: int) -> None:
        with lock:
            heard.append(n)

    hs.simulate(CLICKS, {"a": hs.UCB(3), "b": hs.UCB(3)}, rounds=5, runs=6, seed=2, n_jobs=2, progress=progress)
    assert heard == [1] * 12


@pytest.mark.parametrize("name", ["rounds", "runs", "n_jobs"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_rejects_counts_that_are_not_counts(name: str, value: Any):
    settings: dict[str, Any] = {"rounds": 5, "runs": 2, "n_jobs": 1, name: value}
    with pytest.raises(OptionError, match=f"{name} must be (a whole number|at least 1), got {value!r}"):
        hs.simulate(CLICKS, {"it": hs.UCB(3)}, seed=0, **settings)


def test_rejects_no_policies():
    with pytest.raises(OptionError, match="policies must name at least one policy"):
        hs.simulate(CLICKS, {}, rounds=5, runs=2, seed=0)


def test_a_curve_s_figures_by_hand():
    """Ends 1, 2, 3, 4, 10: mean 4, variance 50 / 4, s.e. sqrt(12.5 / 5); p20 = 1.8, p80 = 5.2 (linear between)."""
    curve = Curve(np.array([1, 2]), np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [4.0, 10.0]]), 0.5)
    assert curve.runs == 5
    assert curve.mean == 4.0
    assert curve.se == pytest.approx(np.sqrt(2.5), rel=1e-15)
    assert curve.p20 == pytest.approx(1.8, rel=1e-15)
    assert curve.p80 == pytest.approx(5.2, rel=1e-15)
    np.testing.assert_array_equal(curve.means, [2.0, 4.0])
    np.testing.assert_array_equal(curve.percentiles(50), [2.0, 3.0])


def test_one_run_has_no_standard_error():
    assert np.isnan(Curve(np.array([1]), np.array([[1.0]]), 0.0).se)


def test_outcomes_outside_an_oracles_range_are_an_error_in_the_compiled_loop_too():
    with pytest.raises(hs.errors.OutcomeError, match=r"outcomes must be in \[0, 1\] for ThompsonBeta"):
        hs.simulate(hs.worlds.Synthetic(2), {"beta": lambda w, log, rng: hs.ThompsonBeta(2, rng=rng)}, 50, 1, seed=1)


def test_a_policy_given_as_an_object_has_its_own_randomness_in_each_run():
    curve = hs.simulate(hs.worlds.Synthetic(2), {"greedy": hs.EpsilonGreedy(2, 0.5, rng=1)}, 100, 6, seed=1)["greedy"]
    assert np.unique(curve.regrets[:, -1]).size > 3


@pytest.mark.parametrize("n_actions", [2, 4])
def test_a_policy_for_other_actions_is_refused(n_actions: int):
    """Compiled code checks no index: two actions in a world of three read somebody else's memory."""
    for policy in (hs.UCB(n_actions), SlowUCB(n_actions)):
        with pytest.raises(hs.errors.OptionError, match=f"the policy has {n_actions} actions, the world 3"):
            hs.simulate(hs.worlds.Synthetic(3), {"other": policy}, 10, 1, seed=1)


def test_a_policy_for_other_columns_is_refused():
    with pytest.raises(hs.errors.OptionError, match="decides on 3 columns, the world shows 4"):
        hs.simulate(hs.worlds.Synthetic(2), {"linear": hs.LinUCB(2, 3)}, 10, 1, seed=1)
