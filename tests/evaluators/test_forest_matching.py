"""Matching on forest: neighbours by leaf, each row once, None when a leaf is empty but not for good."""

import numpy as np
import pytest

import headstart as hs
from headstart.testing import check_evaluator

SMALL = hs.ForestOptions(n_trees=20, min_node=2)


def step_log(n=200, seed=1):
    """Outcomes are unique, around 10 for x0 > 0 and around 0 elsewhere; two actions at random."""
    rng = np.random.default_rng(seed)
    contexts, actions = rng.uniform(-1, 1, (n, 2)), rng.integers(2, size=n)
    outcomes = np.where(contexts[:, 0] > 0, 10.0, 0.0) + rng.permutation(n) / (10 * n)
    return hs.Log(actions, outcomes, contexts, n_actions=2)


def ask_until_none(evaluator, contexts, action):
    """Every answer for these contexts in turn, until each has been refused once in a row."""
    answers, refusals, i = [], 0, 0
    while refusals < 20 * len(contexts):
        outcome = evaluator.get_outcome(contexts[i % len(contexts)], action)
        i += 1
        refusals = refusals + 1 if outcome is None else 0
        if outcome is not None:
            answers.append(outcome)
    return answers


def test_it_conforms():
    check_evaluator(lambda: hs.ForestMatching(step_log(), SMALL, rng=1))


def test_no_row_is_returned_twice_and_all_rows_of_the_action_come():
    """Outcomes are unique, so a repeated outcome would be a repeated row; asked about every logged context in
    turn, every row shares a leaf with itself in every tree, so all of them come."""
    log = step_log()
    evaluator = hs.ForestMatching(log, SMALL, rng=1)
    for action in (0, 1):
        answers = ask_until_none(evaluator, log.contexts, action)
        assert sorted(answers) == sorted(log.outcomes[log.actions == action])
    assert evaluator.kernel_state.n_left[0] == 0


def test_answers_come_from_the_contexts_side_of_the_step():
    """Trees split at the step, so a context well inside one side gets outcomes of that side."""
    log = step_log(400)
    evaluator = hs.ForestMatching(log, SMALL, rng=1)
    right = [evaluator.get_outcome([0.6, 0.0], 1) for _ in range(15)]
    left = [evaluator.get_outcome([-0.6, 0.0], 1) for _ in range(15)]
    assert all(outcome is None or outcome > 5 for outcome in right)
    assert all(outcome is None or outcome < 5 for outcome in left)
    assert sum(outcome is not None for outcome in right + left) >= 15


def test_none_does_not_stop_the_action():
    """An empty leaf in one tree is None; another context still gets an answer."""
    log = step_log(60)
    evaluator = hs.ForestMatching(log, SMALL, rng=1)
    here = np.array([0.9, 0.9])
    while evaluator.get_outcome(here, 0) is not None:
        pass
    assert any(evaluator.get_outcome(context, 0) is not None for context in log.contexts)


def test_answers_are_unbiased_where_neighbours_are_alike():
    """Outcomes depend on the action alone, action + N(0, 1): whichever neighbour answers, its mean is the action.

    One answer from each of 200 logs; within 5 standard errors, 5 / sqrt(200) (false alarm below 1e-6).
    Where outcomes vary within a leaf the answer is biased by that much: Theorem 7's bias, which vanishes with n.
    """
    answers = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        actions = rng.integers(2, size=60)
        log = hs.Log(actions, actions + rng.standard_normal(60), rng.uniform(-1, 1, (60, 2)), n_actions=2)
        outcome = hs.ForestMatching(log, SMALL, rng=seed).get_outcome([0.6, 0.0], 1)
        answers += [] if outcome is None else [outcome]
    assert len(answers) > 150
    assert abs(np.mean(answers) - 1.0) < 5 / np.sqrt(len(answers))


def test_compiled_and_plain_give_the_same_virtual_plays():
    """The same seeds, once through the compiled offline phase and once through the plain one."""

    class Plain:
        def __init__(self, inner):
            self.inner, self.contexts, self.n_actions = inner, inner.contexts, inner.n_actions

        def get_outcome(self, context, action):
            return self.inner.get_outcome(context, action)

        def is_exhausted(self):
            return self.inner.kernel_state.n_left[0] == 0

    log = step_log(80)
    evaluators = [hs.ForestMatching(log, SMALL, rng=3) for _ in range(2)]
    policies = [hs.WarmStart(hs.LinUCB(2, 2), e, rng=4) for e in (Plain(evaluators[0]), evaluators[1])]
    for context in np.random.default_rng(5).uniform(-1, 1, (30, 2)):
        actions = [policy.play(context) for policy in policies]
        assert actions[0] == actions[1]
        for policy in policies:
            policy.update(context, actions[0], context[0])
    assert (policies[0].virtual_plays == policies[1].virtual_plays).all()
    assert policies[0].virtual_plays.sum() > 20


def test_a_log_without_contexts_is_rejected():
    with pytest.raises(hs.errors.LogError, match="ForestMatching needs contexts"):
        hs.ForestMatching(hs.Log([0, 1], [0.0, 1.0]))
