"""ExactMatching, PropensityMatching and HistoricalAverage: rows of the log, each at most once."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headstart as hs
from headstart.errors import ActionError, ContextError, LogError, OptionError
from tests.plain import SlowExactMatching


def policy_of_two(context: np.ndarray) -> np.ndarray:
    """Action 1 has chance 0.1 for x = 0 and 0.9 for x = 1."""
    p = 0.1 + 0.8 * context[0]
    return np.array([1 - p, p])


def four_rows() -> hs.Log:
    return hs.Log(
        [0, 0, 1, 1],
        [0.0, 2.0, 3.0, 4.0],
        [[0.0], [1.0], [0.0], [1.0]],
        propensities=[[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.1, 0.9]],
        n_actions=2,
    )


MATCHERS = {
    "ExactMatching": lambda log, rng: hs.ExactMatching(log, rng=rng),
    "PropensityMatching": lambda log, rng: hs.PropensityMatching(log, rng=rng),
    "PropensityMatching by a function": lambda log, rng: hs.PropensityMatching(
        log, propensity=policy_of_two, rng=rng
    ),
    "HistoricalAverage": lambda log, rng: hs.HistoricalAverage(log, rng=rng),
}


def test_exact_matching_by_hand():
    """Context 0 has one row of action 0, whose outcome 0.0 is an answer; the second question stops action 0 for good,
    though context 1 still has a row of it. Action 1 goes on.
    """
    evaluator = hs.ExactMatching(four_rows(), rng=1)
    assert evaluator.get_outcome([0.0], 0) == 0.0
    assert evaluator.get_outcome([0.0], 0) is None
    assert evaluator.get_outcome([1.0], 0) is None
    assert evaluator.get_outcome([-0.0], 1) == 3.0
    assert evaluator.get_outcome([1.0], 1) == 4.0
    assert evaluator.is_exhausted()


def test_contexts_that_only_look_alike_do_not_match():
    evaluator = hs.ExactMatching(hs.Log([0, 0], [1.0, 2.0], [[0.3], [0.0]]), rng=1)
    assert evaluator.get_outcome([0.1 + 0.2], 0) is None
    evaluator = hs.ExactMatching(hs.Log([0, 0], [1.0, 2.0], [[0.3], [0.0]]), rng=1)
    assert evaluator.get_outcome([5e-324], 0) is None


def test_propensity_matching_by_hand():
    """Pivots 0, 1/2, 1 on P(A = 0): x = 0 rounds 0.9 to 1, x = 1 rounds 0.1 to 0; x = 0.5 is 0.5 and has no row."""
    evaluator = hs.PropensityMatching(four_rows(), propensity=policy_of_two, rng=1)
    assert evaluator.get_outcome([0.05], 0) == 0.0  # 0.86 rounds to 1: the row of x = 0
    assert evaluator.get_outcome([0.9], 1) == 4.0
    assert evaluator.get_outcome([0.5], 1) is None
    assert evaluator.get_outcome([0.0], 1) is None  # stopped, though the row with 3.0 is unused
    assert evaluator.get_outcome([1.0], 0) == 2.0
    assert evaluator.is_exhausted()


def test_a_tie_between_pivots_goes_to_the_lower():
    """P(A = 0) = 1/4 lies half way between 0 and 1/2: the row of 0 matches, the row of 1/2 does not."""
    log = hs.Log([0, 0], [1.0, 2.0], [[0.0], [1.0]], propensities=[[0.0 + 1e-9, 1 - 1e-9], [0.5, 0.5]], n_actions=2)
    asked = hs.PropensityMatching(log, propensity=lambda context: np.array([0.25, 0.75]), rng=1)
    assert asked.get_outcome([9.0], 0) == 1.0


def test_more_pivots_part_what_fewer_join():
    log = hs.Log([0, 0], [1.0, 2.0], [[0.0], [1.0]], propensities=[[0.8, 0.2], [1.0, 0.0]], n_actions=2)
    joined = hs.PropensityMatching(log, pivots=[0.0, 1.0], propensity=lambda context: np.array([0.8, 0.2]), rng=1)
    assert {joined.get_outcome([0.0], 0), joined.get_outcome([0.0], 0)} == {1.0, 2.0}
    parted = hs.PropensityMatching(log, pivots=[0.8, 1.0], propensity=lambda context: np.array([0.8, 0.2]), rng=1)
    assert parted.get_outcome([0.0], 0) == 1.0
    assert parted.get_outcome([0.0], 0) is None


def test_three_actions_are_matched_on_the_whole_lattice():
    """(1, 0, 0) and (0, 1, 0) agree in the last entry and differ in the first two: two lattice points."""
    rows = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    log = hs.Log([0, 0, 0], [1.0, 2.0, 3.0], [[0.0], [1.0], [2.0]], propensities=rows, n_actions=3)
    for row, outcome in zip(rows, [1.0, 2.0, 3.0], strict=True):
        evaluator = hs.PropensityMatching(log, propensity=lambda context, row=row: np.array(row), rng=1)
        assert evaluator.get_outcome([9.0], 0) == outcome
        assert evaluator.get_outcome([9.0], 0) is None


def test_the_logged_vector_is_used_where_the_log_shows_the_context():
    """The logged vectors go against any logistic curve in x (0.9, 0.1, 0.9): each row still finds itself."""
    log = hs.Log(
        [0, 0, 0],
        [1.0, 2.0, 3.0],
        [[0.0], [1.0], [2.0]],
        propensities=[[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]],
        n_actions=2,
    )
    evaluator = hs.PropensityMatching(log, rng=1)
    assert evaluator.get_outcome([1.0], 0) == 2.0
    assert {evaluator.get_outcome([0.0], 0), evaluator.get_outcome([0.0], 0)} == {1.0, 3.0}


def test_a_compiled_policy_and_the_same_as_a_function_give_the_same_answers():
    world = hs.worlds.Synthetic(n_actions=3, n_log=60).draw(np.random.default_rng(4))
    compiled = hs.PropensityMatching(world.log, propensity=world.population, rng=2)
    plain = hs.PropensityMatching(world.log, propensity=lambda context: world.population(context), rng=2)
    assert compiled.kernel_state is not None
    assert plain.kernel_state is None
    for i in range(150):
        user = world.draw_user()
        assert compiled.get_outcome(user, i % 3) == plain.get_outcome(user, i % 3)
    assert compiled.is_exhausted() == plain.is_exhausted()


def test_historical_average_is_exact_matching_with_one_dummy_context():
    rng = np.random.default_rng(3)
    actions, outcomes = rng.integers(3, size=40), rng.random(40)
    average = hs.HistoricalAverage(hs.Log(actions, outcomes, n_actions=3), rng=5)
    dummy = hs.ExactMatching(hs.Log(actions, outcomes, np.zeros((40, 1)), n_actions=3), rng=5)
    for i in range(150):
        assert average.get_outcome(None, (7 * i) % 3) == dummy.get_outcome([0.0], (7 * i) % 3)
    assert average.is_exhausted()
    assert dummy.is_exhausted()


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=25)
QUESTIONS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=60)


def made_of(rows: list[tuple[int, int]]) -> hs.Log:
    """Row i has outcome i, so that an answer names its row."""
    kinds, actions = np.array([kind for kind, _ in rows], dtype=float), [action for _, action in rows]
    outcomes, p = np.arange(float(len(rows))), 0.1 + 0.4 * kinds
    return hs.Log(actions, outcomes, kinds.reshape(-1, 1), np.column_stack([1 - p, p]), n_actions=2)


@pytest.mark.parametrize("name", ["ExactMatching", "PropensityMatching", "HistoricalAverage"])
@given(rows=ROWS, questions=QUESTIONS)
def test_no_row_is_given_twice_and_a_stop_is_for_good(name: str, rows: list, questions: list):
    log = made_of(rows)
    evaluator = MATCHERS[name](log, 3)
    given_rows: list[int] = []
    is_stopped = [False, False]
    for kind, action in questions:
        outcome = evaluator.get_outcome([float(kind)], action)
        assert not (is_stopped[action] and outcome is not None)
        if outcome is None:
            is_stopped[action] = True
            continue
        row = int(outcome)
        assert row not in given_rows
        given_rows.append(row)
        assert rows[row][1] == action
        if name == "ExactMatching":
            assert rows[row][0] == kind
    assert len(given_rows) <= len(rows)


@given(rows=ROWS, questions=QUESTIONS)
def test_exact_matching_is_its_slow_twin(rows: list, questions: list):
    log = made_of(rows)
    fast, slow = hs.ExactMatching(log, rng=6), SlowExactMatching(log, rng=6)
    for kind, action in questions:
        assert fast.get_outcome([float(kind)], action) == slow.get_outcome([float(kind)], action)


@given(rows=ROWS)
def test_relabelling_actions_permutes_the_answers(rows: list):
    straight = hs.ExactMatching(made_of(rows), rng=6)
    turned = hs.ExactMatching(made_of([(kind, 1 - action) for kind, action in rows]), rng=6)
    for kind, action in rows + rows:
        assert straight.get_outcome([float(kind)], action) == turned.get_outcome([float(kind)], 1 - action)


@pytest.mark.parametrize("name", MATCHERS)
def test_an_action_the_log_never_shows_has_no_answer(name: str):
    log = hs.Log([0, 0], [1.0, 2.0], [[0.0], [0.0]], propensities=[[0.9, 0.1], [0.9, 0.1]], n_actions=2)
    evaluator = MATCHERS[name](log, 1)
    assert evaluator.get_outcome([0.0], 1) is None
    assert evaluator.get_outcome([0.0], 0) is not None


@pytest.mark.parametrize("name", MATCHERS)
def test_a_rejected_question_uses_no_row(name: str):
    evaluator = MATCHERS[name](four_rows(), 1)
    with pytest.raises(ActionError, match=r"action must be an index 0\.\.1, got 2"):
        evaluator.get_outcome([0.0], 2)
    with pytest.raises(ActionError, match=r"action must be an index 0\.\.1, got 'a'; labels become indices"):
        evaluator.get_outcome([0.0], "a")
    if name != "HistoricalAverage":
        for context, text in (
            (None, "context must be 1 numbers, got None"),
            ([0.0, 1.0], r"context must be 1 numbers, got shape \(2,\)"),
            ([np.nan], "context must be finite, got nan in column 0"),
            (["x"], r"context must be 1 numbers, got \['x'\]"),
        ):
            with pytest.raises(ContextError, match=text):
                evaluator.get_outcome(context, 0)
    twin = MATCHERS[name](four_rows(), 1)
    for action in (0, 0, 1, 1):
        assert evaluator.get_outcome([0.0], action) == twin.get_outcome([0.0], action)


def test_contexts_of_infinities_and_of_huge_numbers():
    """inf - inf is an error that names the column, not a warning; 1e308 twice is a context like any other."""
    log = hs.Log([0], [1.0], [[1e308, 1e308]])
    with pytest.raises(ContextError, match="context must be finite, got inf in column 0"):
        hs.ExactMatching(log, rng=1).get_outcome([np.inf, -np.inf], 0)
    assert hs.ExactMatching(log, rng=1).get_outcome([1e308, 1e308], 0) == 1.0


@pytest.mark.parametrize("pivots", [[], [np.nan], [0.5, np.nan], [-0.1, 1.0], [0.0, 1.1]])
def test_rejects_pivots_outside_the_unit_interval(pivots: list[float]):
    with pytest.raises(OptionError, match=r"pivots must be numbers in \[0, 1\], got"):
        hs.PropensityMatching(four_rows(), pivots=pivots, rng=1)


@pytest.mark.parametrize("answer", [[0.5, 0.6], [1.0], [1.5, -0.5], [np.nan, 1.0]])
def test_rejects_a_propensity_function_that_gives_no_chances(answer: list[float]):
    with pytest.raises(LogError, match="a propensity function must return 2 chances that sum to 1, got"):
        hs.PropensityMatching(four_rows(), propensity=lambda context: answer, rng=1)


def test_a_world_with_hidden_columns_has_no_policy_to_match_by():
    world = hs.worlds.Synthetic(n_actions=2, n_log=20, n_hidden=1).draw(np.random.default_rng(0))
    with pytest.raises(OptionError, match="the logging policy of a world with hidden columns is no function"):
        hs.PropensityMatching(world.log, propensity=world.population, rng=1)


@pytest.mark.parametrize("name", ["ExactMatching", "PropensityMatching", "HistoricalAverage"])
@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))])
def test_a_copy_has_the_same_future_and_its_own_rows(name: str, twin_of: Any):
    log = made_of([(i % 2, i % 2) for i in range(20)])
    evaluator = MATCHERS[name](log, 1)
    evaluator.get_outcome([0.0], 0)
    twin = twin_of(evaluator)
    for i in range(30):
        assert twin.get_outcome([float(i % 2)], i % 2) == evaluator.get_outcome([float(i % 2)], i % 2)


@pytest.mark.parametrize("name", ["ExactMatching", "PropensityMatching by a function"])
def test_answers_for_the_population_are_unbiased(name: str):
    """Two kinds with shares 1/2; action 1 has means 0.2 and 0.8, so E[y | 1] = 0.5, but the log shows action 1 to
    90 % of kind 1 and 10 % of kind 0: its average is 0.74. The first 8 answers to users of the population are, over
    1,500 logs, within 5.33 standard errors of 0.5 (false alarm 1e-7): before any stop there is nothing to bias them,
    and a log of 200 rows has about 10 of the rare cell, so that almost none stops before the eighth.
    """
    rng = np.random.default_rng(21)
    answers, averages, stopped = [], [], 0
    for _ in range(1500):
        kinds = rng.integers(2, size=200).astype(float)
        p = 0.1 + 0.8 * kinds
        actions = (rng.random(200) < p).astype(int)
        outcomes = (rng.random(200) < np.where(actions == 1, 0.2 + 0.6 * kinds, 0.5)).astype(float)
        log = hs.Log(actions, outcomes, kinds.reshape(-1, 1), np.column_stack([1 - p, p]), n_actions=2)
        evaluator = MATCHERS[name](log, rng)
        got = [evaluator.get_outcome([float(rng.integers(2))], 1) for _ in range(8)]
        stopped += got[-1] is None
        answers.append(np.mean([outcome for outcome in got if outcome is not None]))
        averages.append(outcomes[actions == 1].mean())
    assert stopped < 75  # below 5 %
    error = np.std(answers, ddof=1) / np.sqrt(1500)
    assert abs(np.mean(answers) - 0.5) < 5.33 * error
    assert abs(np.mean(averages) - 0.74) < 0.01  # the confounding is there


@pytest.mark.parametrize("make", [hs.ExactMatching, hs.PropensityMatching, hs.HistoricalAverage, hs.ForestMatching])
def test_a_restored_evaluator_has_the_same_future(make):
    log = hs.worlds.Synthetic(n_log=60).draw(np.random.default_rng(1)).log
    one, other = make(log, rng=1), make(log, rng=1)
    asked = [(context, action) for context in log.contexts[:20] for action in range(log.n_actions)]
    for context, action in asked[::2]:
        one.get_outcome(context, action)
    other.set_state(one.get_state())
    assert [one.get_outcome(*each) for each in asked] == [other.get_outcome(*each) for each in asked]


def test_the_last_bits_of_a_propensity_do_not_show_in_what_is_matched():
    """Rows keep their pivots alone: propensities estimated on another machine differ by rounding, the rows do not."""
    rng = np.random.default_rng(4)
    n, chances = 300, np.random.default_rng(5).dirichlet([2.0, 2.0, 2.0], 300)
    actions, outcomes, contexts = rng.integers(3, size=n), rng.normal(size=n), rng.normal(size=(n, 2))
    first, second = (
        hs.PropensityMatching(hs.Log(actions, outcomes, contexts, matrix, n_actions=3), rng=1).get_state()
        for matrix in (chances, chances + 1e-14 * np.array([1.0, -1.0, 0.0]))
    )
    for name in ("propensity.vectors", "propensity.lookup.keys", "lookup.keys", "strata.outcomes", "strata.starts"):
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
