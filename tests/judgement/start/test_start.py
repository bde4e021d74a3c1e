"""start: one call from a log to a policy."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import headstart as hs
from headstart.errors import ActionError, ContextError, OptionError
from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.trust import Trust
from headstart.judgement.start.start import start
from headstart.judgement.start.started import Started
from headstart.oracles.thompson_normal import ThompsonNormal
from headstart.simulation.simulate import simulate
from headstart.testing import check_oracle
from headstart.warmstart.adjusted import Adjusted
from headstart.worlds import Classification, Synthetic


def logged(n: int = 200, k: int = 3, seed: int = 0, **world) -> hs.Log:
    return Synthetic(n_actions=k, n_log=n, **world).draw(np.random.default_rng(seed)).log


def withheld(log: hs.Log) -> hs.Log:
    return hs.Log(log.actions, log.outcomes, log.contexts, n_actions=log.n_actions)


# --- it is a policy


def test_it_is_an_oracle():
    check_oracle(lambda: start(logged(), rng=1))
    check_oracle(lambda: start(logged(step=0.0), decide_on=range(6), rng=1))


def test_it_explains_itself():
    policy = start(logged(), rng=0)
    assert isinstance(policy, Started)
    assert "doubly robust" in policy.explanation
    assert "right about an action, starts at 0.933" in policy.explanation
    assert "context-free" in policy.explanation
    assert policy.summary.n_actions == 3
    assert (policy.worth <= policy.effective_sizes).all()
    assert policy.worth.sum() > 0
    assert policy.virtual_plays.dtype == np.int64
    np.testing.assert_array_equal(policy.virtual_plays, policy.audit.verdict.caps)
    assert policy.audit.facts.n_rows == 200


def test_the_same_seed_gives_the_same_future_and_a_state_can_be_taken_up():
    log = logged()
    one, two = start(log, rng=3), start(log, rng=3)
    assert [one.play() for _ in range(30)] == [two.play() for _ in range(30)]
    for i in range(30):
        one.update(None, i % 3, float(i % 2))
    other = start(log, rng=9)
    other.set_state(one.get_state())
    np.testing.assert_allclose(other.probabilities(), one.probabilities())
    assert [other.play() for _ in range(20)] == [one.play() for _ in range(20)]


def test_a_state_says_how_users_are_seen():
    """Standard units are the log's: a start from another log that takes up the state sees users as the first does."""
    log = logged()
    one = start(log, decide_on=[0, 1], rng=3)
    wider = hs.Log(log.actions, log.outcomes, 2.0 * log.contexts + 1.0, log.propensities, n_actions=log.n_actions)
    other = start(wider, decide_on=[0, 1], rng=9)
    user = log.contexts[5]
    assert not np.array_equal(other.seen(user), one.seen(user))
    other.set_state(one.get_state())
    np.testing.assert_array_equal(other.seen(user), one.seen(user))
    np.testing.assert_array_equal(other.probabilities(user), one.probabilities(user))


def test_full_trust_follows_the_log():
    policy = start(logged(1000), trust=1.0, rng=0)
    assert policy.probabilities().max() > 0.99


# --- any log


@pytest.mark.parametrize("n", [1, 2, 5, 12, 30])
@pytest.mark.parametrize("decide_on", [None, [0, 1]])
def test_tiny_logs(n: int, decide_on):
    for log in (logged(n), withheld(logged(n))):
        policy = start(log, decide_on=decide_on, rng=0)
        for _ in range(30):
            context = np.zeros(6)
            policy.update(context, policy.play(context), 1.0)
        assert policy.probabilities(np.zeros(6)).sum() == pytest.approx(1.0)


def test_logs_without_contexts():
    rng = np.random.default_rng(0)
    actions, outcomes = rng.integers(0, 2, 100), rng.random(100)
    plain = start(hs.Log(actions, outcomes), rng=0)
    assert "plain averages" in plain.explanation
    np.testing.assert_allclose(plain.summary.means, [outcomes[actions == a].mean() for a in range(2)], rtol=1e-9)
    np.testing.assert_allclose(plain.trust.weights, 0.6)
    weighted = start(hs.Log(actions, outcomes, propensities=np.full(100, 0.5)), rng=0)
    assert "weighted by 1 / propensity, large weights cut" in weighted.explanation


def test_an_action_never_shown_is_tried_by_users():
    log = hs.Log([0, 1] * 20, np.tile([0.0, 1.0], 20) + 0.1 * np.arange(40) / 40, n_actions=3)
    policy = start(log, rng=0)
    assert np.isnan(policy.summary.means[2])
    assert "never shows 2" in policy.explanation
    rng = np.random.default_rng(1)
    for _ in range(200):  # it is the best
        action = policy.play()
        policy.update(None, action, [0.0, 1.0, 2.0][action] + 0.1 * rng.standard_normal())
    assert policy.probabilities()[2] > 0.9


def test_equal_outcomes_throughout():
    policy = start(hs.Log([0, 1, 0, 1], [0.0] * 4, [[1.0], [2.0], [3.0], [4.0]]), rng=0)
    for _ in range(10):
        action = policy.play()
        policy.update(None, action, 0.0)
    assert policy.probabilities().sum() == pytest.approx(1.0)


def test_names_and_frames():
    frame = pandas.DataFrame({"age": np.arange(60.0), "sex": ["f", "m"] * 30})
    rng = np.random.default_rng(0)
    log = hs.Log(rng.integers(0, 2, 60), rng.random(60), frame)
    policy = start(log, population=frame.iloc[:10], rng=0)
    assert "users to come" in policy.explanation
    np.testing.assert_array_equal(log.encoding.columns_of(["sex"]), [1, 2])
    np.testing.assert_array_equal(log.encoding.columns_of(["age", 2]), [0, 2])


def test_a_table_is_a_log(tmp_path):
    log = logged(300)
    columns = {f"x{j}": log.contexts[:, j] for j in range(6)}
    frame = pandas.DataFrame({"ad": log.actions, "click": log.outcomes, **columns, "p": log.propensities})
    frame.to_csv(tmp_path / "log.csv", index=False)
    table = hs.scan_log(tmp_path / "log.csv", action="ad", outcome="click", contexts=list(columns), propensity="p")
    np.testing.assert_allclose(start(table, rng=0).summary.means, start(log, rng=0).summary.means, rtol=1e-6)


# --- what it does about propensities


@pytest.mark.parametrize("has_contexts", [True, False])
def test_wrong_propensities_are_a_cold_start_that_says_the_way_out(has_contexts: bool):
    """Half the true ones: the rows of an action would stand for twice the users. Without them the log is of use."""
    log = logged(1000)
    contexts = log.contexts if has_contexts else None
    policy = start(hs.Log(log.actions, log.outcomes, contexts, log.propensities / 2, n_actions=3), rng=0)
    assert "THE LOG IS NOT USED" in policy.explanation
    assert "leave them out and have them estimated" in policy.explanation
    assert policy.virtual_plays.tolist() == [0, 0, 0]
    assert (start(withheld(log), rng=0).virtual_plays > 0).all()


def test_a_policy_that_had_settled_logged_no_wrong_propensities():
    chances = np.vstack([np.full((30, 2), 0.5), np.tile([0.0, 1.0], (1970, 1))])
    actions = np.where(np.random.default_rng(1).random(2000) < chances[:, 0], 0, 1)
    assert audit(hs.Log(actions, np.ones(2000), propensities=chances)).totals.wrong is None
    lied = hs.Log(actions, np.ones(2000), propensities=np.full((2000, 2), 0.5))
    assert audit(lied).totals.wrong == 0


# --- what the audit says is obeyed


def leaking(n: int = 2000) -> hs.Log:
    """By lot, action 1 better by 0.3; the column `paid` was written down with the outcome."""
    rng = np.random.default_rng(5)
    actions = rng.integers(0, 2, n)
    outcomes = 0.3 * actions + rng.standard_normal(n)
    columns = {"age": rng.standard_normal(n), "paid": outcomes + 0.1 * rng.standard_normal(n)}
    return hs.Log(actions, outcomes, columns, np.full(n, 0.5))


@pytest.mark.parametrize("decide_on", [None, ["age"]])
def test_a_log_that_is_not_to_be_used_is_a_cold_start_out_loud(decide_on):
    policy = start(leaking(), decide_on=decide_on, rng=0)
    assert policy.audit.verdict.decision == "do not use it"
    assert policy.virtual_plays.tolist() == list(policy.audit.verdict.caps) == [0, 0]
    assert policy.worth.tolist() == [0, 0]
    assert "THE LOG IS NOT USED" in policy.explanation
    assert "paid tells the outcome" in policy.explanation
    one, two = policy.prior.components.centres[:, [1, -1]]  # nothing is known of either but the scale
    np.testing.assert_allclose(one, two)


@pytest.mark.parametrize("decide_on", [None, ["age"]])
def test_trust_by_hand_overrules_the_audit(decide_on):
    policy = start(leaking(), decide_on=decide_on, trust=0.8, horizon=1, rng=0)
    assert "used all the same" in policy.explanation
    assert (policy.virtual_plays > 500).all()
    context = None if decide_on is None else [0.3, 0.0]
    assert policy.probabilities(context)[1] == 1.0


def test_a_cap_alone_does_not_overrule_the_audit():
    policy = start(leaking(), cap=50, rng=0)
    assert policy.virtual_plays.tolist() == [0, 0]
    assert "THE LOG IS NOT USED" in policy.explanation
    both = start(leaking(), trust=0.5, cap=50, rng=0)
    assert both.virtual_plays.tolist() == [50, 50]
    assert "used all the same" in both.explanation


def confounded(n: int = 3000) -> hs.Log:
    """Who has x > 0 is shown 1 more often and buys more; no chances were written down."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal(n)
    actions = (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int)
    return hs.Log(actions, x + 0.2 * actions + rng.standard_normal(n), {"x": x})


@pytest.mark.parametrize("decide_on", [None, ["x"]])
def test_the_audit_s_caps_are_the_virtual_plays(decide_on):
    log = confounded()
    found, policy = audit(log), start(log, decide_on=decide_on, rng=0)
    assert found.verdict.decision == "use it with a cap"
    assert policy.virtual_plays.tolist() == list(found.verdict.caps)
    assert (policy.virtual_plays < found.summary.plays).all()
    assert f"at most {sum(found.verdict.caps):,} users' outcomes (virtual plays)" in policy.explanation


def test_a_cap_can_be_given():
    log = confounded()
    assert start(log, cap=50, rng=0).virtual_plays.tolist() == [50, 50]
    assert start(log, cap=[50, 20], rng=0).virtual_plays.tolist() == [50, 20]
    free = start(log, cap=np.inf, rng=0)
    np.testing.assert_array_equal(free.virtual_plays, free.audit.summary.plays)
    narrow, wide = (start(log, decide_on=["x"], cap=cap, rng=0).prior for cap in (20, np.inf))
    assert (narrow.worth < 0.1 * wide.worth).all()


def test_a_healthy_log_is_used_for_all_that_it_is_worth():
    log = logged(1000)
    policy = start(log, rng=0)
    assert policy.audit.verdict.decision == "use it"
    np.testing.assert_array_equal(policy.virtual_plays, policy.audit.summary.plays)
    np.testing.assert_array_equal(policy.virtual_plays, audit(log).verdict.caps)


def test_rows_of_one_person_are_worth_less():
    """Ten rows of each of 300 people who are shown the same throughout: at most 300 people's worth."""
    rng = np.random.default_rng(7)
    people = np.repeat(np.arange(300), 10)
    actions, tastes = rng.integers(0, 2, 300)[people], rng.standard_normal(300)[people]
    log = hs.Log(actions, tastes + 0.2 * rng.standard_normal(3000), propensities=np.full(3000, 0.5), units=people)
    apart = start(log.with_units(None), trust=0.8, rng=0).virtual_plays
    together = start(log, trust=0.8, rng=0).virtual_plays
    assert (apart > 1200).all()
    assert (together < 200).all()
    assert (together > 80).all()


# --- deciding by context


def test_contexts_that_matter_are_decided_on():
    policy = start(logged(300, is_contextual=True, step=0.0), decide_on=range(6), rng=0)  # each action best for some
    assert "linear model" in policy.explanation
    assert policy.n_features == 6


def test_contexts_that_do_not_matter_are_not():
    """4,000 rows of noise: the log is sure that there is nothing to gain, and every user gets the better action."""
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, 4000)
    log = hs.Log(actions, actions + rng.standard_normal(4000), rng.standard_normal((4000, 5)), np.full(4000, 0.5))
    policy = start(log, decide_on=range(5), horizon=1, rng=0)  # nobody to explore for
    assert "gain nothing" in policy.explanation
    for context in rng.standard_normal((100, 5)):
        assert policy.probabilities(context).tolist() == [0.0, 1.0]


def test_columns_that_do_not_vary_cannot_be_decided_on():
    rng = np.random.default_rng(0)
    policy = start(hs.Log(rng.integers(0, 2, 50), rng.random(50), np.ones((50, 2))), decide_on=[0, 1], rng=0)
    assert "None of the columns to decide on varies" in policy.explanation
    assert policy.n_features == 0


def test_a_bent_outcome_calls_for_a_forest():
    """The better action is 1 where |x| > 1: no line tells it."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (1500, 1))
    actions = rng.integers(0, 2, 1500)
    outcomes = np.where((np.abs(x[:, 0]) > 1) == (actions == 1), 1.0, 0.0) + 0.3 * rng.standard_normal(1500)
    policy = start(hs.Log(actions, outcomes, x, np.full(1500, 0.5)), decide_on=[0], horizon=100_000, rng=0)
    assert "forest" in policy.explanation
    chosen = [policy.probabilities([value]) for value in (-1.7, 0.0, 1.7)]
    assert [int(np.argmax(chances)) for chances in chosen] == [1, 0, 1]


def test_columns_to_adjust_for_need_not_be_there_to_decide_on():
    """The confounder is not decided on: weights undo it, and users come with one column or with both."""
    rng = np.random.default_rng(4)
    x, hidden = rng.standard_normal(4000), rng.standard_normal(4000)
    p = 1 / (1 + np.exp(-2 * hidden))
    actions = (rng.random(4000) < p).astype(int)
    outcomes = hidden + np.where(actions == 1, x, 0.0) + 0.3 * rng.standard_normal(4000)
    log = hs.Log(actions, outcomes, {"x": x, "h": hidden}, np.where(actions == 1, p, 1 - p))
    policy = start(log, decide_on=["x"], horizon=1, rng=0)  # nobody to explore for
    np.testing.assert_allclose(policy.probabilities([1.0]), policy.probabilities([1.0, 5.0]))
    assert policy.probabilities([1.0])[1] > 0.9
    assert policy.probabilities([-1.0])[0] > 0.9  # by the raw averages action 1 would win everywhere
    with pytest.raises(ContextError, match="context must be 2 numbers"):
        policy.play([1.0, 2.0, 3.0])


def test_compiled_and_plain_have_the_same_future():
    """The compiled view of a user against the Python one."""
    log = logged(100, is_contextual=True, step=0.0)
    world = Synthetic(n_actions=3, n_log=100, is_contextual=True, step=0.0)

    class Plain:
        def __init__(self, policy: Started) -> None:
            self._policy, self.n_actions = policy, policy.n_actions

        def play(self, context, available=None):
            return self._policy.play(context, available)

        def update(self, context, action, outcome):
            self._policy.update(context, action, outcome)

    curves = simulate(
        world,
        {
            "compiled": lambda *_: start(log, decide_on=range(6), rng=5),
            "plain": lambda *_: Plain(start(log, decide_on=range(6), rng=5)),
            "compiled, free": lambda *_: start(log, rng=5),
            "plain, free": lambda *_: Plain(start(log, rng=5)),
        },
        rounds=100,
        runs=2,
        seed=1,
    )
    for kind in ("", ", free"):
        np.testing.assert_allclose(
            curves[f"compiled{kind}"].regrets, curves[f"plain{kind}"].regrets, rtol=1e-9, atol=1e-9
        )


# --- it decides well


def test_a_good_log_halves_the_regret_of_a_cold_start():
    """The paper's world, 3 actions, 300 rows, 1,000 users: 0.5 of a cold Thompson sampler's regret, with a standard
    error of 0.05 over 60 runs. 30 here: 0.75 is 3.5 of their standard errors of 0.07 away, a chance of 1 in 4,000."""
    curves = simulate(
        Synthetic(n_actions=3, n_log=300),
        {
            "cold": lambda w, log, rng: ThompsonNormal(3, rng=rng),
            "start": lambda w, log, rng: start(log, rng=rng),
            "withheld": lambda w, log, rng: start(withheld(log), rng=rng),
        },
        rounds=1000,
        runs=30,
        seed=1,
    )
    cold = curves["cold"].regrets[:, -1].mean()
    assert curves["start"].regrets[:, -1].mean() < 0.75 * cold
    assert curves["withheld"].regrets[:, -1].mean() < 0.75 * cold


def test_digits_by_context_beat_the_paper_s_linucb():
    """10 runs: 150 against 269 with standard errors of 5 and 3: 1.5 times is 20 of them away."""
    curves = simulate(
        Classification(),
        {
            "start": lambda w, log, rng: start(log, decide_on=range(w.n_features), rng=rng),
            "paper": lambda w, log, rng: hs.WarmStart(hs.LinUCB(10, 65), hs.LinearModel(log), rng=rng),
        },
        rounds=2000,
        runs=3,
        seed=1,
    )
    assert 1.3 * curves["start"].regrets[:, -1].mean() < curves["paper"].regrets[:, -1].mean()


def test_a_guard_takes_the_summary_that_it_started_from():
    log = logged()
    by_itself, told = hs.Guarded(start(log, rng=0)), hs.Guarded(start(log, rng=0), start(log, rng=0).summary)
    for guard in (by_itself, told):
        for _ in range(80):
            guard.update(None, 0, 50.0)
    assert [conflict.action for conflict in by_itself.withdrawals] == [0]
    assert by_itself.withdrawals == told.withdrawals


# --- rejects


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0}, "horizon must be a whole number of at least 1, or None, got 0"),
        ({"horizon": 1.5}, "horizon must be a whole number"),
        ({"decide_on": ["nothing"]}, "decide_on names 'nothing', which is not a column of the log"),
        ({"decide_on": "x0"}, r"decide_on must be a list of columns, got 'x0': write \['x0'\]"),
        ({"decide_on": [6]}, r"decide_on must name columns 0\.\.5, got 6"),
        ({"decide_on": [1.0]}, "decide_on must hold names or indices of columns, got 1.0"),
        ({"decide_on": [None]}, "decide_on must hold names or indices of columns, got None"),
        ({"options": None}, r"options must be StartOptions\(\.\.\.\), got None"),
        ({"options": {"horizon": 5}}, r"options must be StartOptions\(\.\.\.\), got {"),
        ({"decide_on": []}, "decide_on must name at least one column, and each once"),
        ({"decide_on": [0, 0]}, "decide_on must name at least one column, and each once"),
        ({"cap": -1}, "cap must be a number of plays, at least 0, or 3 of them, got -1"),
        ({"cap": [1, 2]}, "cap must be a number of plays, at least 0, or 3 of them"),
        ({"trust": 1.5}, r"trust must be in \[0, 1\], got 1.5"),
        ({"trust": Trust(np.array([0.5]), ())}, "trust must be for 3 actions, got 1"),
    ],
)
def test_settings_outside_their_range(options, message: str):
    with pytest.raises(OptionError, match=message):
        start(logged(), rng=0, **options)


def test_something_else_than_a_log():
    message = r"log must be a Log or a LogTable \(hs\.read_log\(\.\.\.\)\), got"
    with pytest.raises(OptionError, match=rf"^{message} str"):
        start("log.csv")
    with pytest.raises(OptionError, match=rf"^log 1: {message} int"):  # a list is of logs
        start([1, 2, 3])


# --- one wild row


@pytest.mark.parametrize("wild", ["age", "outcome"])
def test_one_wild_row_does_not_undo_the_others(wild: str):
    """Unbounded, age = 1e200 in one row made all other ages the mean, and an outcome of 1e300 all fits infinite."""
    rng = np.random.default_rng(0)
    ages, actions = rng.uniform(18, 80, 2000), rng.integers(0, 2, 2000)
    outcomes = (rng.random(2000) < np.where(actions == (ages > 49), 0.86, 0.06)).astype(float)
    plain = start(hs.Log(actions, outcomes, {"age": ages}, np.full(2000, 0.5)), decide_on=["age"], rng=0)
    if wild == "age":
        ages[77] = 1e200
    else:
        outcomes[77] = 1e300
    policy = start(hs.Log(actions, outcomes, {"age": ages}, np.full(2000, 0.5)), decide_on=["age"], rng=0)
    for each in (plain, policy):
        assert each.probabilities([20.0])[0] > 0.9
        assert each.probabilities([78.0])[1] > 0.9
    name = "age" if wild == "age" else "an outcome"
    assert f"1 of 2000 rows have {name} far outside the others" in policy.explanation
    assert "far outside" not in plain.explanation


# --- names in, names out


def offers(seed: int = 8) -> hs.Log:
    """Labels that are numbers too, and two columns of which one is decided on."""
    rng = np.random.default_rng(seed)
    city, age = rng.choice(["Rome", "Oslo"], 800), rng.uniform(20, 60, 800)
    actions = rng.choice([7, 2, "none"], 800).astype(object)
    actions = np.array([int(a) if a != "none" else a for a in actions], dtype=object)
    outcomes = (city == "Rome") * (actions == 2) + 0.1 * rng.standard_normal(800)
    return hs.Log(actions, outcomes, {"city": city, "age": age}, np.full(800, 1 / 3), action_names=[7, 2, "none"])


def test_a_user_given_by_names_speaks_names():
    policy = start(offers(), decide_on=["city"], horizon=1, rng=0)
    user = {"city": "Rome"}  # nobody looks at the age
    assert policy.play(user) == 2
    assert policy.play([0.0, 1.0, 40.0]) == 1  # its index
    assert policy.probabilities(user) == {7: 0.0, 2: 1.0, "none": 0.0}
    assert policy.play(user, available=[7, "none"]) in (7, "none")
    before = policy.readings().counts.sum()
    policy.update(user, 7, 0.0)
    policy.update({"city": "Oslo", "age": 30, "shoe": 44}, "none", 1.0)  # what nobody looks at may come along
    assert policy.readings().counts.sum() == before + 2


def test_rows_of_a_frame_are_users_and_an_empty_one_will_do_where_nothing_is_looked_at():
    frame = pandas.DataFrame({"city": ["Rome", "Oslo"], "age": [30.0, 31.0]})
    policy = start(offers(), decide_on=["city"], horizon=1, rng=0)
    assert policy.play(frame.iloc[0]) == 2
    assert policy.play(next(frame.itertuples(index=False))) == 2
    for_all = start(offers(), horizon=1, rng=0)
    assert for_all.play({}) == 2
    assert for_all.play() == 1
    assert for_all.play(None, available=["none"]) == "none"  # a text can only be a label
    for_all.update(None, "none", 1.0)
    assert for_all.readings().counts.tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(ActionError, match=r"available must be a list of actions, got 'none': write \['none'\]"):
        for_all.play({}, available="none")


def test_a_name_that_is_not_known_is_said():
    policy = start(offers(), decide_on=["city"], rng=0)
    with pytest.raises(ContextError, match=r"context column 'city' is missing; the policy looks at: city"):
        policy.play({"town": "Rome"})
    with pytest.raises(ActionError, match="unknown action 1; known: 7, 2, 'none'"):
        policy.update({"city": "Rome"}, 1, 0.0)
    with pytest.raises(ActionError, match="unknown action 'nothing'"):
        policy.play({"city": "Rome"}, available=["nothing"])


@pytest.mark.parametrize("trust", [None, 0.9])
def test_a_column_that_leaks_the_outcome_explains_none(trust):
    """It would take the action's own effect off what is learnt of it, whoever overrules the verdict."""
    rng = np.random.default_rng(0)
    x, actions = rng.standard_normal(1000), rng.integers(0, 2, 1000)
    outcomes = x + 0.5 * actions + rng.standard_normal(1000)
    columns = {"age": x, "leak": outcomes + 0.01 * rng.standard_normal(1000)}
    leaking = hs.start(hs.Log(actions, outcomes, columns, np.full(1000, 0.5)), trust=trust, rng=1)
    assert not isinstance(leaking.oracle, Adjusted)
    sound = hs.start(hs.Log(actions, outcomes, {"age": x}, np.full(1000, 0.5)), trust=trust, rng=1)
    assert isinstance(sound.oracle, Adjusted)
