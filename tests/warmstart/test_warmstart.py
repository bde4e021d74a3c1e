"""WarmStart: Algorithms 1 and 2, and what it is to the outside."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.errors import ActionError, ContextError, OptionError, OutcomeError
from headstart.warmstart.contexts import LogContexts, Population
from tests.catalogue import ORACLES
from tests.plain import Plain, SlowExactMatching, SlowIPSW, SlowUCB

CONTEXT_FREE = (
    *("ABTest", "ABTest, 20 rounds", "UCB", "Greedy", "EpsilonGreedy", "EpsilonGreedy, decreasing", "Exp3"),
    *("ThompsonGaussian", "ThompsonBeta"),
)


def log_of_two_kinds() -> hs.Log:
    """Kind 0 was shown action 0 twice and action 1 once; kind 1 the other way round. No outcome occurs twice."""
    return hs.Log(
        actions=[0, 0, 1, 0, 1, 1],
        outcomes=[0.0, 0.25, 1.0, 0.5, 0.75, 0.875],
        contexts=[[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]],
        propensities=[2 / 3, 2 / 3, 1 / 3, 1 / 3, 2 / 3, 2 / 3],
        context_names=["kind"],
    )


class Scripted:
    """An oracle that plays a script, and remembers what it was told."""

    def __init__(self, script: list[int], n_actions: int = 2) -> None:
        self.n_actions, self.script = n_actions, list(script)
        self.told: list[tuple[list[float], int, float]] = []
        self.asked: list[list[float]] = []

    def play(self, context: Any, available: Any = None) -> int:
        self.asked.append(np.asarray(context).tolist())
        return self.script.pop(0)

    def update(self, context: Any, action: int, outcome: float) -> None:
        self.told.append((np.asarray(context).tolist(), action, outcome))

    def probabilities(self, context: Any, available: Any = None) -> np.ndarray:
        return np.full(self.n_actions, 1 / self.n_actions)


class Answers:
    """An evaluator that gives each action's answers in turn, then None."""

    def __init__(self, *answers: list[float]) -> None:
        self.n_actions, self.answers = len(answers), [list(one) for one in answers]

    def get_outcome(self, context: Any, action: int) -> float | None:
        return self.answers[action].pop(0) if self.answers[action] else None


@pytest.mark.parametrize("name", CONTEXT_FREE)
def test_nolog_is_the_bare_oracle_bit_for_bit(name: str):
    bare, warm = ORACLES[name](7), hs.WarmStart(ORACLES[name](7), hs.NoLog(), rng=1)
    clicks = np.random.default_rng(3)
    for _ in range(60):
        available = np.flatnonzero(clicks.random(3) < 0.7).tolist() or None
        np.testing.assert_array_equal(warm.probabilities(None, available), bare.probabilities(None, available))
        action = bare.play(None, available)
        assert warm.play(None, available) == action
        outcome = float(clicks.random() < 0.3 + 0.2 * action)
        bare.update(None, action, outcome)
        warm.update(None, action, outcome)
    for key, value in bare.get_state().items():
        np.testing.assert_array_equal(warm.oracle.get_state()[key], value, err_msg=key)
    assert warm.virtual_plays.tolist() == [0, 0, 0]


def test_algorithm_1_by_hand():
    """Round 1: plays 0 (0.0), 1 (5.0), 0 (NULL), then online 1. Round 2: plays 1 (6.0), 1 (NULL), then online 0.

    The 0.0 is an answer, action 0 is an action, and the NULL for action 0 leaves action 1 its 6.0 for round 2.
    """
    oracle = Scripted([0, 1, 0, 1, 1, 1, 0])
    policy = hs.WarmStart(oracle, Answers([0.0], [5.0, 6.0]))
    assert policy.play([]) == 1
    assert oracle.told == [([], 0, 0.0), ([], 1, 5.0)]
    assert policy.virtual_plays.tolist() == [1, 1]
    policy.update([], 1, 9.0)
    assert policy.play([]) == 0
    assert oracle.told[2:] == [([], 1, 9.0), ([], 1, 6.0)]
    assert policy.virtual_plays.tolist() == [1, 2]


def test_algorithm_2_by_hand():
    """Every action in turn until NULL, before the first play and never again; the oracle is not asked."""
    oracle = Scripted([1, 0])
    policy = hs.WarmStart(oracle, Answers([0.0, 3.0], [5.0]), schedule="batch")
    assert policy.play([]) == 1
    policy.update([], 1, 9.0)
    assert policy.play([]) == 0
    assert oracle.told == [([], 0, 0.0), ([], 0, 3.0), ([], 1, 5.0), ([], 1, 9.0)]
    assert policy.virtual_plays.tolist() == [2, 1]


def test_batch_with_kernels_by_hand():
    """Means by IPSW: action 0 (1.5*0 + 1.5*0.25 + 3*0.5) / 6 = 0.3125 with N_0 = 6^2 / (2.25+2.25+9) = 2.67, so 2
    plays; action 1 (3*1 + 1.5*0.75 + 1.5*0.875) / 6 = 0.90625, as many.
    """
    oracle = hs.UCB(2)
    policy = hs.WarmStart(oracle, hs.IPSWeighting(log_of_two_kinds()), schedule="batch")
    policy.play(None)
    assert policy.virtual_plays.tolist() == [2, 2]
    counts, means, _, _ = policy.readings()
    np.testing.assert_array_equal(counts, [2, 2])
    np.testing.assert_allclose(means, [0.3125, 0.90625], rtol=1e-15)
    policy.update(None, 0, 1.0)
    policy.play(None)
    assert policy.virtual_plays.tolist() == [2, 2]


def test_ucb_with_ipsw_is_its_slow_twin():
    world = hs.worlds.Synthetic(n_actions=3, n_log=40).draw(np.random.default_rng(5))
    fast = hs.WarmStart(hs.UCB(3, beta=0.7), hs.IPSWeighting(world.log))
    slow_oracle, slow_evaluator = SlowUCB(3, beta=0.7), SlowIPSW(world.log)
    for _ in range(200):
        while (outcome := slow_evaluator.get_outcome(None, action := slow_oracle.play())) is not None:
            slow_oracle.update(None, action, outcome)
        chosen = slow_oracle.play()
        context = world.draw_user()
        assert fast.play(context) == chosen
        outcome = world.draw_outcome(chosen)
        fast.update(context, chosen, outcome)
        slow_oracle.update(context, chosen, outcome)
    np.testing.assert_array_equal(fast.readings().counts, [len(seen) for seen in slow_oracle.outcomes])
    assert fast.virtual_plays.sum() > 10  # or this test has shown nothing


def test_ucb_with_exact_matching_is_its_slow_twin():
    rng = np.random.default_rng(8)
    log = hs.Log(rng.integers(2, size=60), rng.random(60), rng.integers(3, size=(60, 2)).astype(float), n_actions=2)
    fast = hs.WarmStart(hs.UCB(2), hs.ExactMatching(log, rng=4), rng=9)
    slow = hs.WarmStart(SlowUCB(2), SlowExactMatching(log, rng=4), rng=9)
    for _ in range(50):
        user = rng.integers(3, size=2).astype(float)
        action = slow.play(user)
        assert fast.play(user) == action
        outcome = rng.random()
        fast.update(user, action, outcome)
        slow.update(user, action, outcome)
    np.testing.assert_array_equal(fast.virtual_plays, slow.virtual_plays)
    assert fast.virtual_plays.sum() > 10


def test_a_log_that_is_used_up_draws_nothing():
    """After the log's last answer the oracle's stream is the online plays' alone."""
    warm = hs.WarmStart(hs.EpsilonGreedy(2, epsilon=1.0, rng=1), hs.HistoricalAverage(log_of_two_kinds(), rng=1))
    while warm.virtual_plays.sum() < 6:
        warm.update(None, warm.play(None), 0.0)
    twin = warm.oracle.copy()
    for _ in range(50):
        action = twin.play(None)
        assert warm.play(None) == action
        warm.update(None, action, 1.0)
        twin.update(None, action, 1.0)


def test_probabilities_then_play_speak_of_the_same_state():
    warm = hs.WarmStart(hs.UCB(2), hs.IPSWeighting(log_of_two_kinds()))
    for _ in range(20):
        chances = warm.probabilities(None)
        virtual = warm.virtual_plays
        np.testing.assert_array_equal(warm.probabilities(None), chances)
        action = warm.play(None)
        assert chances[action] == 1.0
        np.testing.assert_array_equal(warm.virtual_plays, virtual)
        warm.update(None, action, 0.5)


def test_every_row_is_a_virtual_play_at_most_once():
    log = log_of_two_kinds()
    oracle = Scripted([a % 2 for a in range(400)])
    warm = hs.WarmStart(oracle, hs.ExactMatching(log, rng=0), rng=0)
    for _ in range(50):
        warm.play([0.0])
        warm.update([0.0], 0, -1.0)
    virtual = [outcome for _, _, outcome in oracle.told if outcome >= 0.0]
    assert len(virtual) == len(set(virtual)) == warm.virtual_plays.sum()
    assert set(virtual) <= set(log.outcomes.tolist())


@pytest.mark.parametrize("wrap", [lambda part: part, Plain], ids=["compiled", "plain"])
@pytest.mark.parametrize("columns", [["b"], [1], ["b", "a"], [1, 0], [1, 1]])
def test_decide_on_shows_the_oracle_only_these_columns_in_this_order(columns: list, wrap: Any):
    """Rows are (a, b) = (10, 20): the oracle sees the chosen columns of virtual and online users alike."""
    log = hs.Log([0, 1], [1.0, 2.0], [[10.0, 20.0], [10.0, 20.0]], context_names=["a", "b"])
    chosen = [["a", "b"].index(column) if isinstance(column, str) else column for column in columns]
    oracle = Scripted([0, 0, 1])
    warm = hs.WarmStart(oracle, wrap(hs.ExactMatching(log, rng=0)), decide_on=columns, rng=0)
    warm.play([1.0, 2.0])
    virtual, online = [[10.0, 20.0][j] for j in chosen], [[1.0, 2.0][j] for j in chosen]
    assert oracle.asked == [virtual, virtual, online]
    assert oracle.told == [(virtual, 0, 1.0)]
    warm.update([1.0, 2.0], 1, 5.0)
    assert oracle.told[-1] == (online, 1, 5.0)


@pytest.mark.parametrize(
    ("decide_on", "text"),
    [
        (["c"], r"decide_on names 'c', which is not a column of the log: a, b"),
        ([2], r"decide_on must name columns 0\.\.1, got 2"),
        ([-1], r"decide_on must name columns 0\.\.1, got -1"),
    ],
)
def test_decide_on_rejects_unknown_columns(decide_on: list, text: str):
    log = hs.Log([0, 1], [1.0, 2.0], [[10.0, 20.0], [10.0, 20.0]], context_names=["a", "b"])
    with pytest.raises(OptionError, match=text):
        hs.WarmStart(hs.UCB(2), hs.ExactMatching(log, rng=0), decide_on=decide_on)


def test_an_oracle_that_needs_other_columns_is_rejected():
    oracle = Scripted([])
    oracle.n_features = 3
    with pytest.raises(OptionError, match="the oracle decides on 3 columns, but decide_on leaves 1 of the log's"):
        hs.WarmStart(oracle, hs.ExactMatching(log_of_two_kinds(), rng=0))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: hs.WarmStart(hs.UCB(2), hs.NoLog(), schedule="sometimes"),
            OptionError,
            "schedule must be 'each-round' or 'batch', got 'sometimes'",
        ),
        (
            lambda: hs.WarmStart(hs.UCB(3), hs.IPSWeighting(log_of_two_kinds())),
            OptionError,
            "the oracle has 3 actions, the evaluator 2",
        ),
        (lambda: hs.WarmStart(hs.NoLog(), hs.UCB(2)), OptionError, "NoLog has no play"),
        (lambda: hs.WarmStart(hs.UCB(2), hs.UCB(2)), OptionError, "UCB has no get_outcome"),
        (
            lambda: hs.WarmStart(hs.UCB(2), hs.IPSWeighting(log_of_two_kinds()), contexts=[[1.0, 2.0]]),
            ContextError,
            "contexts must have the log's 1 columns, got 2",
        ),
        (
            lambda: hs.WarmStart(hs.UCB(2), hs.NoLog(), contexts=[[1.0], [np.nan]]),
            ContextError,
            "contexts in row 1, column 0 must be finite, got nan",
        ),
        (
            lambda: hs.WarmStart(hs.UCB(2), hs.NoLog(), contexts=np.empty((0, 2))),
            ContextError,
            r"contexts must be a matrix with at least one row, got shape \(0, 2\)",
        ),
        (
            lambda: hs.WarmStart(hs.UCB(2), hs.NoLog(), rng=-1),
            OptionError,
            "rng must be a numpy Generator or an integer >= 0, got -1",
        ),
    ],
)
def test_rejects_what_cannot_be_joined(make: Callable[[], Any], error: type[Exception], text: str):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda w: w.update([0.0], 2, 1.0), ActionError, r"action must be an index 0\.\.1, got 2"),
        (lambda w: w.update([0.0], "b", 1.0), ActionError, r"action must be an index 0\.\.1, got 'b'; labels become"),
        (lambda w: w.update([0.0], 0, np.nan), OutcomeError, "outcome must be a finite number, got nan"),
        (lambda w: w.update([0.0, 1.0], 0, 1.0), ContextError, r"context must be 1 numbers, got shape \(2,\)"),
        (lambda w: w.update([np.inf], 0, 1.0), ContextError, "context must be finite, got inf in column 0"),
        (lambda w: w.update(["old"], 0, 1.0), ContextError, r"context must be 1 numbers, got \['old'\]"),
        (lambda w: w.play([0.0], []), ActionError, "available must hold at least one action, got none"),
        (lambda w: w.play([0.0], [2]), ActionError, r"action must be an index 0\.\.1, got 2"),
        (lambda w: w.probabilities([0.0], [True]), ActionError, r"available must be a mask of length 2, got shape"),
    ],
)
def test_a_rejected_call_changes_nothing_to_come(call: Callable, error: type[Exception], text: str):
    def fresh() -> hs.WarmStart:
        warm = hs.WarmStart(hs.ThompsonGaussian(2, rng=1), hs.ExactMatching(log_of_two_kinds(), rng=2), rng=3)
        warm.update([1.0], warm.play([1.0]), 0.5)
        return warm

    disturbed, undisturbed = fresh(), fresh()
    with pytest.raises(error, match=text):
        call(disturbed)
    for _ in range(30):
        action = undisturbed.play([0.0])
        assert disturbed.play([0.0]) == action
        np.testing.assert_array_equal(disturbed.virtual_plays, undisturbed.virtual_plays)
        disturbed.update([0.0], action, 0.25)
        undisturbed.update([0.0], action, 0.25)
    np.testing.assert_array_equal(disturbed.readings().means, undisturbed.readings().means)


@pytest.mark.parametrize(
    "twin_of", [copy.deepcopy, lambda warm: pickle.loads(pickle.dumps(warm))], ids=["deepcopy", "pickle"]
)
def test_a_copy_has_the_same_future(twin_of: Callable[[Any], Any]):
    warm = hs.WarmStart(hs.ThompsonGaussian(2, rng=1), hs.ExactMatching(log_of_two_kinds(), rng=2), rng=3)
    warm.update([1.0], warm.play([1.0]), 0.5)
    twin = twin_of(warm)
    for _ in range(40):
        action = warm.play([0.0])
        assert twin.play([0.0]) == action
        warm.update([0.0], action, 0.25)
        twin.update([0.0], action, 0.25)
    np.testing.assert_array_equal(twin.virtual_plays, warm.virtual_plays)
    np.testing.assert_array_equal(twin.oracle.get_state()["rng"], warm.oracle.get_state()["rng"])


def test_online_contexts_join_the_log_s_rows():
    """The log shows kind 0 alone; once user 7 has come, half the virtual users are user 7."""
    log = hs.Log([0, 0, 1], [1.0, 1.0, 1.0], [[0.0], [0.0], [0.0]])
    oracle = Scripted([1] * 1000)
    warm = hs.WarmStart(oracle, Answers([], [1.0] * 900), contexts=LogContexts(log.contexts[:1], rng=1))
    warm.play([7.0])
    assert {user[0] for user in oracle.asked[:-1]} == {0.0}
    assert warm.virtual_plays.tolist() == [0, 900]
    warm.evaluator.answers[1] = [1.0] * 400
    oracle.script += [1] * 401
    warm.update([7.0], 0, 1.0)
    del oracle.asked[:]
    warm.play([7.0])
    sevens = sum(user == [7.0] for user in oracle.asked[:-1])
    # 401 fair coins: |sevens - 200.5| < 5.33 standard deviations of 10.01 has a false-alarm rate of 1e-7.
    assert abs(sevens - 200.5) < 5.33 * np.sqrt(401 / 4)


def test_a_named_population_is_where_virtual_users_come_from():
    oracle = Scripted([0] * 400)
    warm = hs.WarmStart(oracle, Answers([1.0] * 300, []), contexts=[[1.0], [2.0], [3.0]], rng=2)
    warm.play([9.0])
    seen = np.array(oracle.asked[:-1]).ravel()
    counts = np.array([(seen == value).sum() for value in (1.0, 2.0, 3.0)])
    assert counts.sum() == seen.size == 301
    # chi-square with 2 degrees of freedom exceeds 32.24 with chance 1e-7
    assert ((counts - 301 / 3) ** 2 / (301 / 3)).sum() < 32.24
    warm.update([9.0], 0, 1.0)
    warm.evaluator.answers[0] = [1.0] * 50
    del oracle.asked[:]
    warm.play([9.0])
    assert {user[0] for user in oracle.asked[:-1]} <= {1.0, 2.0, 3.0}


@pytest.mark.parametrize(
    "contexts",
    [Population([[0.0], [1.0]], rng=5), LogContexts(np.array([[0.0], [1.0]]), rng=5), lambda: np.array([1.0])],
    ids=["Population", "LogContexts", "function"],
)
def test_a_source_of_contexts_may_be_an_object_or_a_function(contexts: Any):
    warm = hs.WarmStart(hs.UCB(2), hs.ExactMatching(log_of_two_kinds(), rng=2), contexts=contexts)
    warm.play([0.0])
    assert 0 < warm.virtual_plays.sum() <= 6


def test_virtual_plays_is_a_copy():
    warm = hs.WarmStart(hs.UCB(2), hs.IPSWeighting(log_of_two_kinds()))
    warm.virtual_plays[:] = 99
    assert warm.virtual_plays.tolist() == [0, 0]


def test_available_binds_the_online_play_and_not_the_virtual_ones():
    oracle = hs.UCB(2)
    warm = hs.WarmStart(oracle, hs.IPSWeighting(log_of_two_kinds()))
    assert warm.play(None, [0]) == 0
    assert warm.virtual_plays[1] > 0
    np.testing.assert_array_equal(warm.probabilities(None, [0]), [1.0, 0.0])


def test_a_plain_propensity_function_ends_like_a_compiled_one():
    """The log used up, PropensityMatching says so in either form, and a random oracle's stream stays its own."""
    world = hs.worlds.Synthetic(n_actions=2, n_log=30).draw(np.random.default_rng(2))

    def plays(propensity: Any) -> list[int]:
        evaluator = hs.PropensityMatching(world.log, propensity=propensity, rng=3)
        warm = hs.WarmStart(hs.EpsilonGreedy(2, epsilon=1.0, rng=4), evaluator, rng=5)
        chosen = []
        for _ in range(60):
            chosen.append(warm.play(np.zeros(4)))
            warm.update(np.zeros(4), chosen[-1], 0.0)
        return chosen

    assert plays(lambda context: world.population(context)) == plays(world.population)


def test_repr_counts_the_virtual_plays():
    shown = repr(hs.WarmStart(hs.UCB(2), hs.NoLog()))
    assert shown == "WarmStart(UCB(n_actions=2, plays=0), NoLog(), virtual plays [0, 0])"


class TestOutcomeRanges:
    """Oracles for outcomes in a range: the log's must lie in it, and a model's answer just outside is moved to it."""

    def test_a_log_outside_the_oracles_range_is_refused(self):
        log = hs.Log([0, 1], [0.5, 5.0], propensities=[0.5, 0.5])
        with pytest.raises(hs.errors.OptionError, match=r"ThompsonBeta takes outcomes in \[0, 1\], the log's are in"):
            hs.WarmStart(hs.ThompsonBeta(2, rng=1), hs.IPSWeighting(log), rng=1)

    @pytest.mark.parametrize("is_plain", [False, True])
    def test_a_models_answer_outside_the_range_is_moved_to_its_border(self, is_plain):
        """Outcomes 0 at x = 0 and 1 at x = 1: the line says 3 at x = 3 and -2 at x = -2, which count as 1 and 0."""
        log = hs.Log([0] * 4, [0.0, 1.0, 0.0, 1.0], [[0.0], [1.0], [0.0], [1.0]], n_actions=1)
        evaluator = Plain(hs.OutcomeModel(log)) if is_plain else hs.OutcomeModel(log)
        policy = hs.WarmStart(hs.ThompsonBeta(1, rng=1), evaluator, contexts=[[3.0]], rng=1)
        policy.play()
        assert policy.virtual_plays.tolist() == [4]
        assert policy.readings().means == pytest.approx([1.0])


def test_a_contextual_oracle_without_a_log_is_the_bare_oracle():
    warm, bare = hs.WarmStart(hs.LinUCB(2, 3), hs.NoLog()), hs.LinUCB(2, 3)
    for context in np.random.default_rng(1).standard_normal((30, 3)):
        action = bare.play(context)
        assert warm.play(context) == action
        bare.update(context, action, context[0])
        warm.update(context, action, context[0])


def test_a_contextual_oracle_needs_to_know_where_virtual_users_come_from():
    class Answers:
        def get_outcome(self, context, action):
            return None

    with pytest.raises(OptionError, match="give WarmStart its contexts"):
        hs.WarmStart(hs.LinUCB(2, 3), Answers())


@pytest.mark.parametrize("oracle", [hs.UCB, hs.UCBTuned, hs.KLUCB])
@pytest.mark.parametrize("wrap", [lambda part: part, Plain])
@pytest.mark.parametrize("make", [hs.IPSWeighting, lambda log: hs.HistoricalAverage(log, rng=1)])
def test_an_action_that_the_log_never_shows_does_not_block_the_virtual_plays_of_others(oracle, wrap, make):
    """It is wished for first, has no answer and is never available: the rows of the others were never used."""
    rng = np.random.default_rng(2)
    log = hs.Log(np.repeat([0, 1], 200), (rng.random(400) < 0.5).astype(float), None, np.full(400, 0.5), n_actions=3)
    policy = hs.WarmStart(wrap(oracle(3)), make(log), rng=1)
    for i in range(400):
        action = policy.play(None, [0, 1])
        policy.update(None, action, float(i % 2))
    assert policy.virtual_plays.sum() > 200
    assert policy.virtual_plays[2] == 0
    assert policy.probabilities()[2] == 1.0  # and once it is available, it is for users to tell


def test_a_log_that_answers_nothing_makes_no_virtual_plays():
    log = hs.Log([0, 1], [1.0, 0.0], None, [0.5, 0.5])
    policy = hs.WarmStart(hs.UCB(2), hs.Capped(hs.IPSWeighting(log), [0, 0]))
    assert policy.play() == 0
    assert policy.virtual_plays.tolist() == [0, 0]
