"""`start` from several logs."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.several import FAMILIES, run_family

import headstart as hs
from headstart.errors import LogError, OptionError


def draw(
    n: int, seed: int, *, added: float = 0.0, actions: tuple[str, ...] = ("a", "b", "c"), p: bool = True
) -> hs.Log:
    """A trial by lot whose actions are worth 0, 0.3, 0.6 and so on by the alphabet, and x adds to any."""
    rng = np.random.default_rng(seed)
    shown = rng.integers(0, len(actions), n)
    x = rng.standard_normal(n)
    means = np.array([0.3 * (ord(name) - ord("a")) for name in actions])
    outcomes = means[shown] + 0.5 * x + added + rng.standard_normal(n)
    labels = [actions[a] for a in shown]
    chances = np.full(n, 1.0 / len(actions)) if p else None
    return hs.Log(labels, outcomes, {"x": x}, chances, action_names=actions)


def assert_same(one: hs.Started, two: hs.Started) -> None:
    """Two policies with one state, up to rounding."""
    first, second = one.get_state()["oracle"], two.get_state()["oracle"]

    def compare(left, right, at=""):
        if isinstance(left, dict):
            assert left.keys() == right.keys()
            for name in left:
                compare(left[name], right[name], f"{at}/{name}")
        else:
            np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9, err_msg=at)

    compare(first, second)


@pytest.mark.parametrize("decide_on", [None, ["x"]])
def test_a_list_of_one_log_is_that_log(decide_on):
    log = draw(300, 0)
    one, two = (hs.start(given, decide_on=decide_on, horizon=500, rng=3) for given in (log, [log]))
    assert one.explanation == two.explanation
    assert_same(one, two)
    np.testing.assert_array_equal(one.log_weights, two.log_weights)
    assert one.log_weights.shape == (1, 3)


@pytest.mark.parametrize("decide_on", [None, ["x"]])
def test_the_order_of_the_logs_does_not_matter(decide_on):
    logs = [draw(200, 1), draw(300, 2, actions=("b", "c", "d")), draw(250, 3, p=False)]
    one, two = (hs.start(given, decide_on=decide_on, horizon=500, rng=3) for given in (logs, logs[::-1]))
    assert_same(one, two)
    np.testing.assert_allclose(one.log_weights, two.log_weights[::-1])


def test_logs_that_agree_are_worth_what_they_are_worth_together():
    logs = [draw(300, 4), draw(300, 5)]
    alone, both = [hs.start(log, rng=0) for log in logs], hs.start(logs, rng=0)
    np.testing.assert_allclose(both.effective_sizes, sum(each.effective_sizes for each in alone), rtol=1e-9)
    assert (both.trust.weights > alone[0].trust.weights).all()
    assert "(logs 1 and 2)" in str(both.prior)
    for s in (1, 2):
        assert f"Log {s}: the propensities are logged" in both.explanation
        assert f"Log {s} is right about an action with chance" in both.explanation


def test_a_log_with_logged_chances_is_believed_more_than_one_without():
    both = hs.start([draw(400, 6), draw(400, 7, p=False)], rng=0)
    assert (both.log_weights[0] > both.log_weights[1]).all()


def test_actions_and_columns_that_some_logs_lack():
    """The first log has never seen d, the second neither a nor the column y."""
    rng = np.random.default_rng(0)
    first, second = draw(300, 8), draw(300, 9, actions=("b", "c", "d"))
    wide = hs.Log(
        [first.action_names[a] for a in first.actions],
        first.outcomes,
        {"x": first.contexts[:, 0], "y": rng.standard_normal(300)},
        first.propensities,
    )
    policy = hs.start([wide, second], decide_on=["x", "y"], rng=0)
    assert policy.n_actions == 4
    user = {"x": 0.3, "y": -1.0}
    assert set(policy.probabilities(user)) == {"a", "b", "c", "d"}
    action = policy.play(user)
    policy.update(user, action, 0.4)
    np.testing.assert_allclose(policy.log_weights[0, 3], 0.0)
    np.testing.assert_allclose(policy.log_weights[1, 0], 0.0)
    context_free = hs.start([wide, second], rng=0)
    assert np.isfinite(context_free.summary.means).all()


def test_a_log_of_another_season_counts_from_the_others_level():
    policy = hs.start([draw(500, 10), draw(400, 11, added=2.0)], rng=0)
    assert "og 2 has every action" in policy.explanation
    assert "above log 1" in policy.explanation
    np.testing.assert_allclose(policy.summary.means, [0.0, 0.3, 0.6], atol=4 * np.sqrt(3 * 1.25 / 900))


def test_users_decide_between_logs_that_contradict_each_other():
    """The second log says 3 more of a than is true: users who get it take the log's word back."""
    good, rng = draw(400, 12), np.random.default_rng(1)
    lies = draw(400, 13)
    lies = lies.with_outcomes(lies.outcomes + 3.0 * (lies.actions == 0))
    policy = hs.start([good, lies], horizon=500, rng=0)
    before = policy.log_weights[:, 0]
    assert before.max() < 0.6
    for _ in range(30):
        policy.update(None, "a", rng.standard_normal())
    good_now, lies_now = policy.log_weights[:, 0]
    assert good_now > 0.9
    assert lies_now < 0.01


def test_a_log_that_is_not_to_be_used_is_left_out():
    """A log of one action alone is refused by its audit; the other is as if it stood alone."""
    good = draw(300, 14)
    alone = hs.Log(["a"] * 50, np.random.default_rng(0).standard_normal(50) + 9.0, action_names=("a", "b", "c"))
    both, one = hs.start([good, alone], horizon=500, rng=0), hs.start(good, horizon=500, rng=0)
    assert "Log 2: THE LOG IS NOT USED" in both.explanation
    np.testing.assert_allclose(both.prior.centres[:, 0], one.prior.centres[:, 0], rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(both.prior.chances, one.prior.chances)
    unused = hs.start([alone, alone], rng=0)
    assert not unused.trust.weights.any()
    assert unused.worth.sum() == 0


def test_caps_and_trust_of_each_log():
    logs = [draw(300, 15), draw(300, 16)]
    capped = hs.start(logs, cap=[50, np.inf], rng=0)
    assert (capped.effective_sizes < 50.001 + hs.start(logs[1], cap=np.inf, rng=0).effective_sizes).all()
    unbelieved = hs.start(logs, trust=[0.0, 0.9], rng=0)
    np.testing.assert_allclose(unbelieved.log_weights, [[0.0] * 3, [0.9] * 3])
    with pytest.raises(OptionError, match="trust must be one for all logs, or a list of 2, one for each, got 3"):
        hs.start(logs, trust=[0.5, 0.5, 0.5])


def test_chances_of_successes_are_learnt_from_several_logs():
    rng = np.random.default_rng(2)
    shown = rng.integers(0, 2, (2, 300))
    logs = [hs.Log(a, rng.random(300) < 0.2 + 0.2 * a, propensities=np.full(300, 0.5)) for a in shown]
    policy = hs.start(logs, horizon=500, rng=0)
    assert policy.prior is not None
    assert policy.prior.is_binary
    assert policy.play() == 1


def test_what_cannot_be_meant_is_named():
    log = draw(100, 17)
    with pytest.raises(OptionError, match="a list of 1 to 8 of them, got a list of 0"):
        hs.start([])
    binary = hs.Log(["a", "b", "c"] * 40, [0.0, 1.0] * 60, propensities=[1 / 3] * 120)
    with pytest.raises(OptionError, match=r"outcomes of one kind: those of log 2 are 0 or 1, but log 1 has"):
        hs.start([log, binary])
    other = draw(100, 18, actions=("x", "y"))
    with pytest.raises(
        LogError, match="log 1 has no action in common with the other logs: it has 'a', 'b', 'c', they have 'x', 'y'"
    ):
        hs.start([log, other])
    with pytest.raises(OptionError, match="log 2: log must be a Log or a LogTable"):
        hs.start([log, "a file"])


def test_a_policy_of_several_logs_is_a_file(tmp_path):
    policy = hs.start([draw(200, 19), draw(200, 20)], decide_on=["x"], rng=0)
    policy.save(tmp_path / "policy")
    again = hs.load(tmp_path / "policy")
    assert again.explanation == policy.explanation
    np.testing.assert_array_equal(again.probabilities([0.4]), policy.probabilities([0.4]))
    np.testing.assert_allclose(again.log_weights, policy.log_weights)


def test_the_benchmark_has_every_system_in_the_same_worlds():
    curves = run_family(FAMILIES["two good, 300 + 300"], runs=3, seed=1)
    assert list(curves) == ["cold Thompson", "log 1", "log 2", "as one log", "the logs"]
    assert all(curve.regrets.shape[0] == 3 and (curve.regrets >= -1e-9).all() for curve in curves.values())
