"""The conflict test for users that a policy chose: its evidence, its level, and what a guard does with it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import headstart as hs
from headstart.errors import ActionError, ContextError, OptionError, OutcomeError
from headstart.estimates.summary import Summary
from headstart.warmstart.conflict import ConflictWatch, Guarded, LinConflictWatch, measure_linear_alarms
from headstart.warmstart.conflict.revocable import Masked
from tests.plain import Plain

SLOPES = np.array([[1.0, -1.0], [0.5, 0.0], [0.0, 0.0]])


def _draw(rng: np.random.Generator, n: int, slopes=SLOPES) -> tuple[np.ndarray, np.ndarray]:
    """Two columns and a constant; two actions, noise of standard deviation 1."""
    contexts = np.column_stack([rng.uniform(-1.0, 1.0, (n, len(slopes) - 1)), np.ones(n)])
    return contexts, contexts @ slopes + rng.standard_normal((n, slopes.shape[1]))


def _log(n: int = 200, lie: float = 0.0, seed: int = 1) -> hs.Log:
    """A log in which the first column decides who is shown action 1; `lie` is added to the outcomes of action 0."""
    rng = np.random.default_rng(seed)
    contexts, outcomes = _draw(rng, n)
    chances = 1.0 / (1.0 + np.exp(-contexts[:, 0]))
    actions = (rng.random(n) < chances).astype(int)
    shown = outcomes[np.arange(n), actions] + lie * (actions == 0)
    return hs.Log(actions, shown, contexts, np.where(actions == 1, chances, 1.0 - chances), n_actions=2)


def _watch(contexts, outcomes, users, users_outcomes, **options) -> LinConflictWatch:
    """A watch of one action that has seen these users."""
    watch = LinConflictWatch(hs.Log(np.zeros(len(outcomes), int), outcomes, contexts, n_actions=1), **options)
    for i in range(len(users)):
        watch.update(users[i], 0, users_outcomes[i])
    return watch


def _log_scatter(contexts: np.ndarray) -> float:
    apart = contexts - contexts.mean(axis=0)
    return float(np.linalg.slogdet(apart.T @ apart)[1])


def test_without_contexts_it_is_the_test_of_means():
    rng = np.random.default_rng(0)
    rows = rng.normal(3.0, 2.0, 20)
    variance = rows.var(ddof=1)
    means = ConflictWatch(
        Summary(np.array([rows.mean()]), np.array([math.sqrt(variance / 20)]), np.array([variance]))
    )
    bare = LinConflictWatch(hs.Log(np.zeros(20, int), rows, n_actions=1))
    constant = LinConflictWatch(hs.Log(np.zeros(20, int), rows, np.full((20, 2), 0.1), n_actions=1))
    assert bare.limit == means.limit
    for outcome in rng.normal(6.0, 2.0, 60):
        for watch, context in ((bare, None), (constant, [0.1, 5.0])):
            watch.update(context, 0, outcome)
        means.update(0, outcome)
        if means.conflicts:
            break
        assert bare.evidence[0] == pytest.approx(means.evidence[0], rel=1e-9)
        assert constant.evidence[0] == pytest.approx(means.evidence[0], rel=1e-9)
    assert means.conflicts
    assert bare.conflicts[0].plays == means.conflicts[0].plays
    assert bare.conflicts[0].log_mean == pytest.approx(rows.mean())


def test_evidence_is_the_ratio_of_predictive_densities_less_the_price_of_the_slopes():
    """The users' joint density is multivariate t: at what the log predicts, spread by its doubt, and for a conflict
    by g in common. The price is the square root of how much users add to the scatter of the contexts.
    """
    rng = np.random.default_rng(3)
    contexts, users = rng.normal(size=(12, 2)), rng.normal(1.0, 1.0, size=(6, 2))
    outcomes, seen = rng.normal(size=12), rng.normal(0.7, 1.0, 6)
    watch = _watch(contexts, outcomes, users, seen, effect=0.25)
    rows, new = np.column_stack([np.ones(12), contexts]), np.column_stack([np.ones(6), users])
    theta, (left,), *_ = np.linalg.lstsq(rows, outcomes)
    spread = np.eye(6) + new @ np.linalg.inv(rows.T @ rows) @ new.T
    null, alternative = (
        stats.multivariate_t(new @ theta, left / 9 * (spread + extra), df=9).logpdf(seen) for extra in (0.0, 0.25)
    )
    price = 0.5 * (_log_scatter(np.vstack([contexts, users])) - _log_scatter(contexts))
    assert price > 0.1
    assert math.log(watch.evidence[0]) == pytest.approx(alternative - null - price, rel=1e-9)


def test_units_do_not_matter():
    """Neither origin and scale of outcomes, nor the unit and mixture of columns, nor a column said twice."""
    rng = np.random.default_rng(4)
    contexts, users, outcomes, seen = (rng.normal(size=shape) for shape in ((30, 3), (15, 3), 30, 15))
    plain = _watch(contexts, outcomes, users, seen).evidence[0]
    mixture = rng.normal(size=(3, 3))
    assert _watch(contexts, 1e3 + 50 * outcomes, users, 1e3 + 50 * seen).evidence[0] == pytest.approx(plain, rel=1e-8)
    mixed = _watch(1e3 + contexts @ mixture, outcomes, 1e3 + users @ mixture, seen).evidence[0]
    assert mixed == pytest.approx(plain, rel=1e-6)
    twice = _watch(np.c_[contexts, 1 - contexts[:, 0]], outcomes, np.c_[users, 1 - users[:, 0]], seen).evidence[0]
    assert twice == pytest.approx(plain, rel=1e-9)


def test_evidence_averages_at_most_one_when_users_are_chosen_by_their_contexts():
    """Case (a): an e-process has mean at most 1 after 15 users, whatever theta: within 4 s.e. of 2,500 runs."""
    rng, found = np.random.default_rng(5), []
    for _ in range(2500):
        contexts = rng.normal(size=(12, 1))
        users = np.abs(rng.normal(size=(15, 1)))
        rows, seen = (3.0 + 2.0 * x[:, 0] + rng.standard_normal(len(x)) for x in (contexts, users))
        found.append(_watch(contexts, rows, users, seen, level=1e-9).evidence[0])
    assert np.mean(found) < 1.0 + 4 * np.std(found) / math.sqrt(len(found))


@pytest.mark.parametrize("n_columns", [3, 20])
def test_false_alarms_stay_below_the_level_when_a_learning_policy_chooses_the_users(n_columns: int):
    """Equal actions, the worst case found; 300 runs of 1,000 users: at most 5 % plus 3 standard errors of 1.26 %.

    With the null's slopes averaged over instead of fitted, 20 columns alarmed in 6 to 10 % of runs, 40 in 25 %.
    """
    equal = np.zeros((n_columns, 2))
    rate = measure_linear_alarms(lambda rng, n: _draw(rng, n, equal), 500, 1000, 300, seed=6).rate
    assert rate <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_a_bias_is_found_the_sooner_the_larger():
    """A log of 500 rows: half of 100 runs find 0.6 standard deviations in 100 users of the action, 0.9 in 40."""
    found = {bias: measure_linear_alarms(_draw, 500, 1000, 100, bias=bias, seed=7) for bias in (0.6, 0.9)}
    assert found[0.9].median < found[0.6].median <= 100
    assert found[0.9].median <= 40
    assert found[0.9].rate == 1.0


def test_users_unlike_the_log_are_no_conflict_for_a_line_and_one_for_the_mean():
    """Users of the upper half have 0.5 more than the log's mean; the line knows why."""
    rng = np.random.default_rng(8)
    contexts, users = rng.uniform(-1.0, 1.0, (400, 1)), rng.uniform(0.0, 1.0, (400, 1))
    outcomes, seen = (x[:, 0] + rng.normal(0.0, 0.5, 400) for x in (contexts, users))
    assert _watch(contexts, outcomes, users, seen).conflicts == []
    assert _watch(None, outcomes, np.empty((400, 0)), seen).conflicts != []


def test_a_conflict_is_found_once_and_says_why():
    rng = np.random.default_rng(9)
    contexts = rng.uniform(-1.0, 1.0, (100, 1))
    users = np.tile([[0.5], [1.0]], (30, 1))
    watch = _watch(contexts, 2.0 * contexts[:, 0] + rng.normal(0.0, 0.1, 100), users, 3.0 + 0.1 * users[:, 0])
    (conflict,) = watch.conflicts
    assert (conflict.action, conflict.round) == (0, conflict.plays)
    assert conflict.evidence >= conflict.limit == pytest.approx(40.0)
    assert conflict.log_mean == pytest.approx(2.0 * users[: conflict.plays].mean(), abs=0.05)
    assert watch.evidence[0] == pytest.approx(conflict.evidence)  # no longer followed
    assert conflict.reason == (
        f"{conflict.plays} users of action 0 had {conflict.mean:.4g} on average, the log's 100 rows predict "
        f"{conflict.log_mean:.4g} for their contexts: evidence for a conflict {conflict.evidence:.3g} to 1, "
        "the limit is 40"
    )


def test_an_action_whose_rows_do_not_determine_a_line_is_not_tested_and_shares_no_level():
    """Of five actions one has no rows, one as many as m + 1, one a constant column, one no noise: limit 2 / 0.05.

    The 0/1 columns of a category add up to 1: one of them is dropped, and all are told.
    """
    rng = np.random.default_rng(10)
    counts = [20, 0, 4, 20, 20]
    actions = np.repeat(np.arange(5), counts)
    x = rng.normal(size=64)
    x[actions == 3] = 1.0
    kind = np.tile([0.0, 1.0], 32)
    contexts = np.column_stack([x, kind, 1.0 - kind])
    outcomes = np.where(actions == 4, 2.0 * x - kind, rng.normal(size=64))
    watch = LinConflictWatch(hs.Log(actions, outcomes, contexts, n_actions=5))
    assert watch.is_tested.tolist() == [True, False, False, False, False]
    assert watch.limit == pytest.approx(40.0)
    for action in (1, 2, 3, 4):
        for _ in range(50):
            assert watch.update([0.0, 1.0, 0.0], action, 100.0) is None
    assert watch.evidence[1:].tolist() == [1.0] * 4


def _meet(policy, rounds: int, slopes=SLOPES, seed: int = 11) -> list[tuple[np.ndarray, int, float]]:
    contexts, outcomes = _draw(np.random.default_rng(seed), rounds, slopes)
    met = []
    for context, answers in zip(contexts, outcomes, strict=True):
        action = policy.play(context)
        policy.update(context, action, answers[action])
        met.append((context, action, answers[action]))
    return met


def test_a_lie_is_withdrawn_and_the_oracle_is_as_if_it_had_never_had_that_log():
    log = _log(lie=3.0)

    def warm(evaluator):
        return hs.WarmStart(hs.LinUCB(2, 3), evaluator, contexts=log.contexts, schedule="batch", rng=2)

    guarded = Guarded(warm(hs.LinearModel(log)), log=log, rng=5)
    met = _meet(guarded, 150)
    (withdrawal,) = guarded.withdrawals
    assert withdrawal.action == 0
    assert "rows predict" in withdrawal.reason
    assert guarded.policy.virtual_plays[0] == 0 < guarded.policy.virtual_plays[1]
    never = Masked(hs.LinearModel(log), 2)
    never.is_withdrawn[0] = True
    twin = warm(never)
    twin.reseed(np.random.default_rng(5))
    for context, action, outcome in met[: withdrawal.round]:
        twin.update(context, action, outcome)
    for context, action, outcome in met[withdrawal.round :]:
        assert twin.play(context) == action
        twin.update(context, action, outcome)
    twin.play(met[0][0])
    guarded.play(met[0][0])
    for name, values in twin.oracle.get_state().items():
        np.testing.assert_array_equal(guarded.policy.oracle.get_state()[name], values)


def test_without_conflict_the_guard_changes_nothing():
    log = _log()
    bare = hs.WarmStart(hs.LinUCB(2, 2), hs.LinearModel(log), decide_on=[0, 2], rng=1)
    guarded = Guarded(hs.WarmStart(hs.LinUCB(2, 2), hs.LinearModel(log), decide_on=[0, 2], rng=1), log=log)
    assert [action for _, action, _ in _meet(guarded, 200)] == [action for _, action, _ in _meet(bare, 200)]
    assert guarded.withdrawals == []


def test_compiled_and_plain_withdraw_alike():
    """A context-free policy may be guarded by contexts too, for users unlike the log's."""
    world = hs.worlds.Synthetic(n_actions=2, n_log=90, outcome="binary")

    def guard(drawn, log, rng):
        lie = hs.Log(
            log.actions, log.outcomes + 2.0 * (log.actions == 0), log.contexts, log.propensities, n_actions=2
        )
        return Guarded(hs.WarmStart(hs.UCB(2), hs.IPSWeighting(lie), rng=1), log=lie)

    made = []

    def watched(*arguments):
        made.append(guard(*arguments))
        return made[-1]

    curves = hs.simulate(
        world, {"compiled": watched, "plain": lambda *given: Plain(guard(*given))}, rounds=150, runs=2, seed=2
    )
    np.testing.assert_array_equal(curves["compiled"].regrets, curves["plain"].regrets)
    assert all(each.kernel_state is not None for each in made)
    assert [conflict.action for each in made for conflict in each.withdrawals] == [0, 0]


def test_bad_arguments_are_refused():
    log = _log()
    watch = LinConflictWatch(log)
    with pytest.raises(OptionError, match="log must be a Log"):
        LinConflictWatch(np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="level must be"):
        LinConflictWatch(log, level=0.0)
    with pytest.raises(ActionError):
        watch.update([0.0, 0.0, 1.0], 2, 0.0)
    with pytest.raises(OutcomeError):
        watch.update([0.0, 0.0, 1.0], 0, math.nan)
    with pytest.raises(ContextError, match="context must be 3 numbers, got None"):
        watch.update(None, 0, 0.0)
    with pytest.raises(ContextError):
        watch.update([0.0, math.inf, 1.0], 0, 0.0)
    assert watch.evidence.tolist() == [1.0, 1.0]
    with pytest.raises(OptionError, match="users must be at least 1"):
        measure_linear_alarms(_draw, 10, 0, 1)


def test_what_cannot_be_guarded_is_refused():
    log = _log()

    def warm(oracle):
        return hs.WarmStart(oracle, hs.LinearModel(log), rng=1)

    with pytest.raises(OptionError, match=r"give Guarded the rows, log=Log\(...\) with contexts"):
        Guarded(warm(hs.LinUCB(2, 3)))
    with pytest.raises(OptionError, match="give one of them"):
        Guarded(warm(hs.LinUCB(2, 3)), hs.IPSWeighting(log).summary(), log=log)
    with pytest.raises(OptionError, match="log must have contexts"):
        Guarded(warm(hs.LinUCB(2, 3)), log=hs.Log(log.actions, log.outcomes, n_actions=2))
    with pytest.raises(OptionError, match="contexts of 3 columns, the log has 2"):
        Guarded(warm(hs.LinUCB(2, 3)), log=hs.Log(log.actions, log.outcomes, log.contexts[:, :2], n_actions=2))
    with pytest.raises(OptionError, match="log must be of 2 actions, got 3"):
        Guarded(warm(hs.LinUCB(2, 3)), log=hs.Log(log.actions, log.outcomes, log.contexts, n_actions=3))
    with pytest.raises(OptionError, match="log must be a Log"):
        Guarded(warm(hs.LinUCB(2, 3)), log="log.csv")  # type: ignore[arg-type]
    guarded = Guarded(warm(hs.LinUCB(2, 3)), log=log)
    with pytest.raises(ContextError):
        guarded.update(None, 0, 1.0)
