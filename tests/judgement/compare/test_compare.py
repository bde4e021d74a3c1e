"""Compare: replay by rejection is the policy's own life, means and errors are right, and noise is called noise."""

from __future__ import annotations

import math

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import headstart as hs
from headstart.errors import LogError, OptionError, OutcomeError
from headstart.evaluators import IPSWeighting
from headstart.judgement.compare.compare import compare, count_comparison_steps
from headstart.judgement.compare.comparison import Comparison
from headstart.judgement.compare.noise import LifeTally, sides, standard_error
from headstart.judgement.compare.policies import COLD, NAIVE, START, TODAY, default_policies
from headstart.logs.tables import scan_log
from headstart.oracles import UCB, ThompsonBeta
from headstart.simulation.acceptance import REPLAY, ROBUST, Acceptance, choose_acceptance
from headstart.simulation.lending import MOST_WAITING, open_loans, take_lender, wait_to_lend
from headstart.simulation.rejection import Life, live, live_as_logged
from headstart.simulation.replay import Events, replay_events
from headstart.warmstart.warmstart import WarmStart
from headstart.worlds import Cells
from tests.plain import Plain

RATES = np.array([[0.5, 0.3], [0.2, 0.35], [0.3, 0.3]])  # per action and kind of user
POLICY = np.array([[0.2, 0.2, 0.6], [0.6, 0.25, 0.15]])  # of the log, per kind
EVEN = np.full((2, 3), 1 / 3)


def make_log(n: int, rng: np.random.Generator, policy: np.ndarray = POLICY) -> hs.Log:
    """Two kinds of users, one action in three, clicks."""
    kinds = rng.integers(2, size=n)
    p = policy[kinds]
    actions = (p.cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    clicks = (rng.random(n) < RATES[actions, kinds]).astype(float)
    return hs.Log(actions, clicks, kinds.reshape(-1, 1).astype(float), p, n_actions=3)


class Always:
    """One action for everybody; remembers whom it was told of."""

    n_actions = 3

    def __init__(self, action: int) -> None:
        self.action, self.told = action, []

    def play(self, context, available=None):
        return self.action

    def update(self, context, action, outcome):
        self.told.append((float(context[0]), action, outcome))


class AlwaysOfFive(Always):
    """The same of five."""

    n_actions = 5


# --- rejection replay


def test_which_events_are_accepted_by_hand():
    """Action 1 throughout, c = 0.2: of the four events that agree, p = 0.4, 0.2, 0.8, 0.2 accept draws below 0.5, 1,
    0.25, 1."""
    log = hs.Log([1, 0, 1, 1, 1], [1.0, 0.0, 0.0, 1.0, 1.0], np.arange(5.0), [0.4, 0.5, 0.2, 0.8, 0.2], n_actions=3)
    policy = Always(1)
    rule = Acceptance(ROBUST, 0.2, 0.0, 5)
    life = live(policy, log, np.arange(5), np.array([0.6, 0.0, 0.99, 0.2, 0.5]), rule, None)
    assert life.accepted.tolist() == [2, 3, 4]
    assert policy.told == [(2.0, 1, 0.0), (3.0, 1, 1.0), (4.0, 1, 1.0)]
    np.testing.assert_allclose(life.curve(log.outcomes), [0.0, 1 / 2, 2 / 3])


def test_doubly_robust_terms_by_hand():
    """Predictions (0.1, 0.5, 0) for all: an event of action 1 and p = 0.4 contributes 0.5 + (y - 0.5) / 0.4, another
    0.5. The first two rounds end at the third and the fourth event."""
    log = hs.Log([1, 0, 1, 1], [1.0, 0.0, 0.0, 1.0], np.arange(4.0), [0.4, 0.5, 0.2, 0.8], n_actions=3)
    rule = Acceptance(ROBUST, 0.3, 0.1, 2)
    predicted = np.tile([0.1, 0.5, 0.0], (4, 1))
    life = live(Always(1), log, np.arange(4), np.array([0.9, 0.0, 0.99, 0.2]), rule, predicted)
    terms = [0.5 + 0.5 / 0.4, 0.5, 0.5 - 0.5 / 0.2, 0.5 + 0.5 / 0.8]
    np.testing.assert_allclose(life.terms, terms)
    np.testing.assert_allclose(life.curve(log.outcomes), [sum(terms[:3]) / 3, sum(terms) / 4])
    rows, parts, weights = life.contributions(log.outcomes)
    assert weights.tolist() == [1.0] * 4
    assert rows.tolist() == [0, 1, 2, 3]
    assert parts.mean() == pytest.approx(life.curve(log.outcomes)[-1])


def test_a_log_by_lot_is_replayed_as_li_et_al_do():
    log = make_log(600, np.random.default_rng(1), EVEN)
    events = Events(log.contexts, log.actions, log.outcomes, np.ones((1, 3), bool), np.zeros(600, int), (0, 1, 2))
    rule = choose_acceptance(log, 600, 100)
    assert (rule.method, rule.clipped_share, rule.n_rounds) == (REPLAY, 0.0, 100)
    life = live(UCB(3), log, np.arange(600), np.random.default_rng(2).random(600), rule, None)
    np.testing.assert_array_equal(log.outcomes[life.accepted], replay_events(UCB(3), events, rounds=100).outcomes)


def test_compiled_and_plain_agree():
    log = make_log(900, np.random.default_rng(3))
    rule = choose_acceptance(log, 900, 60)
    assert (rule.method, rule.is_lending) == (ROBUST, False)
    uniforms, order = np.random.default_rng(4).random(900), np.random.default_rng(5).permutation(900)
    predicted = np.random.default_rng(6).random((900, 3))
    loaned = Acceptance(ROBUST, 0.3, 0.5, 150)
    for model, how, chances in (
        (None, rule, None),
        (predicted, rule, None),
        (predicted, loaned, log.propensity_matrix),
    ):
        lives = [
            live(WarmStart(wrap(UCB(3)), wrap(IPSWeighting(log)), rng=7), log, order, uniforms, how, model, chances)
            for wrap in (lambda part: part, Plain)
        ]
        assert lives[0].ends.tolist() == lives[1].ends.tolist()
        np.testing.assert_array_equal(lives[0].terms, lives[1].terms)
        assert lives[0].n_lent == lives[1].n_lent
        assert (lives[0].n_lent > 0) == (chances is not None)


def test_a_learning_policy_lives_the_life_it_would_have_lived():
    """40 rounds of Thompson sampling, 3,000 replays of a confounded log against 3,000 lives: clicks, and the share of
    users of kind 1, each within 5 standard errors (6e-7)."""
    rng = np.random.default_rng(8)
    rounds, runs = 40, 3000
    lived, replayed, kinds = np.empty(runs), np.empty(runs), np.empty(runs)
    rule = Acceptance(ROBUST, 0.15, 0.0, rounds)
    for run in range(runs):
        policy, clicks = ThompsonBeta(3, rng=rng), []
        for kind, draw in zip(rng.integers(2, size=rounds), rng.random(rounds), strict=True):
            action = policy.play()
            clicks.append(float(draw < RATES[action, kind]))
            policy.update(None, action, clicks[-1])
        lived[run] = np.mean(clicks)
        # 600 events are 90 accepted on average: fewer than 40 comes once in 10^9, so every replay has its rounds.
        log = make_log(600, rng)
        life = live(ThompsonBeta(3, rng=rng), log, np.arange(600), rng.random(600), rule, None)
        replayed[run] = life.curve(log.outcomes)[-1]
        kinds[run] = log.contexts[life.accepted, 0].mean()
    assert abs(lived.mean() - replayed.mean()) < 5 * math.sqrt((lived.var() + replayed.var()) / runs)
    assert abs(kinds.mean() - 0.5) < 5 * math.sqrt(0.25 / (runs * rounds))


def test_every_policy_accepts_the_same_share_of_events():
    """Binomial (20,000, 0.15), whatever is played: within 5 standard deviations."""
    rng = np.random.default_rng(9)
    log = make_log(20_000, rng)
    rule = Acceptance(ROBUST, 0.15, 0.0, 20_000)
    for policy in (ThompsonBeta(3, rng=1), UCB(3), Always(0), Always(2)):
        n = live(policy, log, np.arange(20_000), rng.random(20_000), rule, None).ends.size
        assert abs(n - 3000) < 5 * math.sqrt(20_000 * 0.15 * 0.85)


def test_the_doubly_robust_value_is_unbiased_for_any_predictions():
    """30,000 events, an action for everybody, predictions that are wrong: the mean of its terms is 0.4, within 5
    standard errors of the terms."""
    rng = np.random.default_rng(10)
    log = make_log(30_000, rng)
    rule = Acceptance(ROBUST, 0.3, 0.5, 30_000)
    life = live(Always(0), log, np.arange(30_000), rng.random(30_000), rule, np.full((30_000, 3), 0.9))
    assert abs(life.terms.mean() - RATES[0].mean()) < 5 * life.terms.std() / math.sqrt(life.terms.size)


# --- rare actions


def rare_log(n: int, rng: np.random.Generator, rare: float = 0.005) -> hs.Log:
    """Five offers by fixed chances, one of them rare, two columns, clicks; only the chance of the action taken."""
    chances = np.array([0.3, 0.25, 0.25, 0.2 - rare, rare])
    x = np.column_stack([rng.integers(2, size=n), rng.standard_normal(n)])
    actions = rng.choice(5, n, p=chances)
    rates = np.array([0.1, 0.12, 0.11, 0.16, 0.1])[actions] + 0.02 * x[:, 0] * (actions == 1)
    clicks = (rng.random(n) < rates).astype(float)
    return hs.Log(actions, clicks, x, chances[actions], n_actions=5)


def test_a_rare_action_does_not_decide_how_long_policies_live():
    """One offer in 200 of 27,822 rows: 139 rounds if all were thinned down to it; 1,000 are aimed at, 4 standard
    deviations of which may be missing."""
    rule = choose_acceptance(rare_log(34_778, np.random.default_rng(25)), 27_822, None)
    assert (rule.method, rule.is_lending) == (ROBUST, True)
    assert rule.chance == pytest.approx(1000 / 27_822)
    assert rule.n_rounds == int(1000 - 4 * math.sqrt(1000 * (1 - rule.chance)))


def test_who_taught_least_lends_the_nearest_first():
    """Rows 3, 5 and 8 wait with scores 0.1, 0.4 and 0.4; row 0 has 0.5: 5 lends, the older of equals, then 8, then 3,
    then 5 again. Row 2, nearest of all, has taught once by itself: it lends when all others have. A full queue lets
    its oldest go."""
    loans = open_loans(np.tile([0.99, 0.01], (9, 1)), 0.1)
    assert loans.columns.tolist() == [-1, 0]
    scores = np.zeros((9, 2))
    scores[[0, 2, 3, 5, 8], 1] = [0.5, 0.5, 0.1, 0.4, 0.4]
    queue = (loans.waiting, loans.counts, loans.times)
    for row in (2, 3, 5, 8):
        wait_to_lend(*queue, 0, row, int(row == 2))
    taken = [take_lender(*queue, 0, scores, 1, 0) for _ in range(5)]
    assert taken == [(5, False), (8, False), (3, False), (2, True), (5, True)]
    assert loans.times[0, :4].tolist() == [2, 1, 2, 1]
    for row in range(10, MOST_WAITING + 12):
        wait_to_lend(*queue, 0, row, 0)
    assert loans.waiting[0].tolist() == list(range(12, MOST_WAITING + 12))
    assert not loans.times.any()


def test_loans_by_hand():
    """Always 1, p(1) = 0.1 and c = 0.4. The first row is of 1 and thinned away (0.9 p < c is false only for p > 4/9,
    here its own p is 0.5), so it waits; nobody waited before it, so it counts 0.1 / 0.4. The second is of 0 with a
    draw of 0.2 < (0.4 - 0.1) / 0.9: it borrows. The third borrows from the same row again. The fourth is of 1 and
    accepted."""
    log = hs.Log([1, 0, 0, 1], [1.0, 0.0, 0.0, 0.0], np.arange(4.0), [0.5, 0.9, 0.9, 0.1], n_actions=3)
    policy, rule = Always(1), Acceptance(ROBUST, 0.4, 1.0, 4)
    chances = np.tile([0.5, 0.1, 0.4], (4, 1))
    uniforms = np.array([0.9, 0.2, 0.2, 0.3])
    life = live(policy, log, np.arange(4), uniforms, rule, np.zeros((4, 3)), chances)
    assert policy.told == [(1.0, 1, 1.0), (2.0, 1, 1.0), (3.0, 1, 0.0)]
    assert (life.n_lent, life.n_again, life.ends.tolist(), life.choices.tolist()) == (2, 1, [1, 2, 3], [1, 1, 1])
    assert life.weights.tolist() == [0.25, 1.0, 1.0, 1.0]
    np.testing.assert_allclose(life.terms, [2.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(life.curve(log.outcomes), [0.5 / 1.25, 0.5 / 2.25, 0.5 / 3.25])


def test_a_learning_policy_with_a_rare_action_lives_the_life_it_would_have_lived():
    """60 rounds of Thompson sampling, one action of three in 5 % of the rows, c = 0.1: 600 replays of 1,500 rows
    against as many lives, plays of the rare action and clicks. While nobody waits the rare action is accepted too
    seldom, and one row of it comes for every two rounds: within 5 standard errors, and a tenth of the plays."""
    rng = np.random.default_rng(28)
    rounds, runs = 60, 600
    chances = np.array([0.5, 0.45, 0.05])
    rates = np.array([0.3, 0.4, 0.35])
    plays, clicks = np.empty((2, runs)), np.empty((2, runs))
    for run in range(runs):
        policy, mine, won = ThompsonBeta(3, rng=rng), 0, 0.0
        for draw in rng.random(rounds):
            action = policy.play()
            policy.update(None, action, float(draw < rates[action]))
            mine, won = mine + (action == 2), won + rates[action]
        actions = rng.choice(3, 1500, p=chances)
        outcomes = (rng.random(1500) < rates[actions]).astype(float)
        log = hs.Log(actions, outcomes, None, chances[actions], n_actions=3)
        rule, matrix = Acceptance(ROBUST, 0.1, 1.0, rounds), np.tile(chances, (1500, 1))
        policy, uniforms = ThompsonBeta(3, rng=rng), rng.random(1500)
        life = live(policy, log, np.arange(1500), uniforms, rule, np.tile(rates, (1500, 1)), matrix)
        plays[:, run] = mine, (life.choices == 2).sum() * rounds / life.ends.size
        clicks[:, run] = won / rounds, life.curve(outcomes)[-1]
    lived, replayed = plays.mean(axis=1)
    assert abs(lived - replayed) < 5 * math.sqrt(plays.var(axis=1).sum() / runs) + 0.1 * lived
    assert abs(clicks[0].mean() - clicks[1].mean()) < 5 * math.sqrt(clicks.var(axis=1).sum() / runs)


def test_a_rare_action_leaves_differences_that_are_more_than_noise():
    """Always the best offer (0.16) against always the first (0.1), a log of 12,000 with one offer in 200: with all
    rows counted the difference 0.06 is clear; thinned to the rare one it was 48 rounds and noise."""
    log = rare_log(12_000, np.random.default_rng(29))
    policies = {
        COLD: lambda part, rng: AlwaysOfFive(0),
        NAIVE: lambda part, rng: AlwaysOfFive(0),
        "best": lambda part, rng: AlwaysOfFive(3),
    }
    found = compare(log, policies, shuffles=4)
    gap = found.difference("best", COLD)
    assert 0.0 < gap.low < 0.06 < gap.high
    assert found["best"].n_counted > 0.75 * found.n_stream  # until the last of the 394 rounds: 7,900 events or so
    assert found["best"].n_accepted == 394
    assert "count in a policy's value (doubly robust)" in found.counts()


def test_a_policy_that_wants_more_of_a_rare_action_than_there_is_meets_its_rows_again():
    """One offer in 200 of 4,800 rows is 24 rows or so, for 179 rounds: all are lived. Every row of the offer teaches
    as it comes, so whatever it lends it lends again."""
    log = rare_log(6000, np.random.default_rng(33))
    policies = {COLD: lambda part, rng: AlwaysOfFive(0), NAIVE: lambda part, rng: AlwaysOfFive(4)}
    found = compare(log, policies, shuffles=2)
    assert found[NAIVE].n_accepted == found.acceptance.n_rounds
    assert found[NAIVE].n_again == found[NAIVE].n_lent > 100
    assert found[COLD].n_again == 0.0
    assert "one that had told it before" in found.verdict()[-1]


def test_an_interval_may_be_longer_on_one_side_where_actions_are_rare():
    """Never shorter than Student's (2 degrees of freedom: 4.30), and longer on the sides that bootstrap logs show."""
    log = rare_log(6000, np.random.default_rng(34))
    policies = {COLD: lambda part, rng: ThompsonBeta(5, rng=rng), NAIVE: lambda part, rng: AlwaysOfFive(4)}
    found = compare(log, policies, shuffles=3)
    assert found.acceptance.rests_on_loans
    halves = np.array([(gap.value - gap.low, gap.high - gap.value) for gap in found.pairs])
    errors = np.array([gap.standard_error for gap in found.pairs])
    assert (halves >= 4.30 * errors[:, None]).all()
    assert (np.abs(halves[:, 0] - halves[:, 1]) > 1e-9).any()


# --- today's policy, and start


def test_todays_policy_is_the_mean_of_its_users():
    log = make_log(600, np.random.default_rng(30))
    life = live_as_logged(log, np.arange(100, 600), 40)
    assert life.curve(log.outcomes).size == 40
    assert life.curve(log.outcomes)[-1] == pytest.approx(log.outcomes[100:].mean())
    found = compare(log, ranked_policies(), shuffles=4, rounds=40)
    assert abs(found[TODAY].mean - log.outcomes.mean()) < 5 * log.outcomes.std() / math.sqrt(480 * 4)
    assert found[TODAY].n_counted == 480
    assert {d.policy for d in found.to_today} == {"a", "b", COLD, NAIVE}
    with pytest.raises(OptionError, match=r"today's policy.* stands in every comparison"):
        compare(log, {TODAY: lambda part, rng: Always(0)}, shuffles=2)


def test_start_stands_beside_the_others_and_is_told_first():
    found = compare(make_log(900, np.random.default_rng(31)), [START], shuffles=2, rounds=30, decide_on=[])
    assert {earning.name for earning in found.earnings} == {START, COLD, NAIVE, TODAY}
    assert found.verdict()[0].startswith("start and today's policy differ by")


def test_units_stay_together_and_widen_the_intervals():
    """60 users of 20 visits each who click always or never: rows say 1,200 outcomes, users 60. The error of today's
    policy is that of a mean of 60 (0.5 / sqrt(60) = 0.065), a fifth either way (2 deviations of a spread)."""
    rng = np.random.default_rng(32)
    users = np.repeat(np.arange(60), 20)
    clicks = np.repeat(rng.integers(2, size=60), 20).astype(float)
    x = rng.random((1200, 1))
    log = hs.Log(rng.integers(3, size=1200), clicks, x, np.full(1200, 1 / 3), n_actions=3, units=users)
    seen = []

    def note(part, rng):
        seen.append(set(part.units.tolist()))
        return Always(0)

    found = compare(log, {COLD: note, NAIVE: note}, shuffles=3, rounds=100)
    assert found.n_units == 60
    assert all(len(start) == 12 for start in seen[:6])  # 240 rows are 12 whole users
    assert 0.8 * 0.065 < found[TODAY].standard_error < 1.2 * 0.065
    assert "of 60 units" in found.notes[0]
    with pytest.raises(OptionError, match="the rows are of 4 units: too few"):
        compare(log.with_units(users % 4), {COLD: note}, shuffles=2)


# --- how events are accepted


def test_the_chance_is_the_smallest_propensity_if_that_leaves_enough():
    log = make_log(10_000, np.random.default_rng(11))
    rule = choose_acceptance(log, 8000, None)
    assert (rule.method, rule.chance, rule.clipped_share) == (ROBUST, 0.15, 0.0)
    assert rule.n_rounds == int(1200 - 4 * math.sqrt(1200 * 0.85))
    assert choose_acceptance(log, 8000, 50).n_rounds == 50


def test_too_few_rounds_are_made_enough_and_who_borrows_is_counted():
    """Kind 1 sees action 2 with chance 0.001: 8 rounds of 8,000. 200 rounds need c = 1/40, above it for kind 1."""
    policy = np.array([[0.2, 0.2, 0.6], [0.6, 0.399, 0.001]])
    log = make_log(10_000, np.random.default_rng(12), policy)
    rule = choose_acceptance(log, 8000, None)
    assert (rule.method, rule.chance) == (ROBUST, 200 / 8000)
    assert rule.clipped_share == pytest.approx(np.mean(log.contexts[:, 0] == 1.0))
    # From the propensities of the actions taken alone: the rows of action 2 in kind 1 stand for 1000 users each.
    taken = log.with_propensities(log.propensities)
    n_rare = int(((log.contexts[:, 0] == 1.0) & (log.actions == 2)).sum())
    assert choose_acceptance(taken, 8000, None).clipped_share == pytest.approx(min(1.0, n_rare * 1000 / 10_000))


def test_a_log_with_hardly_a_round_is_refused():
    log = make_log(10, np.random.default_rng(13), EVEN)
    with pytest.raises(LogError, match=r"of 4 users of the log only about 1\.3 were shown what another policy would"):
        choose_acceptance(log, 4, None)


# --- noise


def test_the_error_by_hand():
    """Two shuffles with gains 1 and 3, two bootstrap logs with (0, 2, 4) and (6, 8, 10). W = (2 + 8 + 8) / 5 = 3.6;
    the logs' gains 2 and 8 have variance 18, so between logs 18 - 3.6 / 3 = 16.8. Mean outcomes equal to the gains
    share 18 - 16 / 4 / 3 with them: 2 * (18 - 4/3) - 16.8, and the shuffles 3.6 / 2, are added to the influences'
    squares."""
    gains = np.array([1.0, 3.0, 0.0, 2.0, 4.0, 6.0, 8.0, 10.0])
    learnt = 2 * (18 - 4 / 3) - 16.8 + 3.6 / 2
    assert standard_error(gains, gains, np.zeros(5), 2) == pytest.approx(math.sqrt(learnt))
    assert standard_error(gains, gains, np.array([3.0, 4.0]), 2) == pytest.approx(math.sqrt(25 + learnt))
    fixed = np.zeros(8)  # a policy that does not learn: the rows alone
    assert standard_error(gains, fixed, np.array([3.0, 4.0]), 2) == pytest.approx(5.0)
    assert standard_error(-gains, gains, np.array([3.0, 4.0]), 2) == pytest.approx(5.0)  # the rows at least
    together = standard_error(gains, fixed, np.array([3.0, 4.0, 5.0]), 2, units=np.array([0, 0, 1]))
    assert together == pytest.approx(math.sqrt(49 + 25))


def test_the_sides_by_hand():
    """Three shuffles; three bootstrap logs with mean outcomes 0, 1 and 5 (mean 2), each 1 apart from shuffle to
    shuffle. Below 2 (4 + 1) / 2 = 5, above 2 * 9 / 2 = 9; 1/3 - 1/3 of what is within a log is taken off: nothing."""
    means = np.array([7.0, 7.0, 7.0, -1.0, 0.0, 1.0, 0.0, 1.0, 2.0, 4.0, 5.0, 6.0])
    assert sides(means, 3) == pytest.approx((math.sqrt(5.0), 3.0))
    assert sides(-means, 3) == pytest.approx((3.0, math.sqrt(5.0)))


def test_what_shuffles_leave_to_chance_is_no_side():
    """Four bootstrap logs of equal means: 0 on both sides, though shuffles differ."""
    assert sides(np.array([5.0, 6.0, 7.0, 8.0] + [0.0, 1.0, 2.0] * 4), 4) == (0.0, 0.0)


def test_a_tally_by_hand():
    """Rows 0, 1 accepted in the first shuffle and 1, 2 in the second, outcomes 1, 2, 6: means 1.5 and 4; row 1 counts
    twice 1/4, so its influence is (2 - 2.75) / 2."""
    outcomes = np.array([1.0, 2.0, 6.0])
    tally = LifeTally(3, 2, np.array([1, 2]))
    for run, rows in enumerate([[0, 1], [1, 2]]):
        tally.add(
            run,
            Life(np.array(rows), np.array([0, 1]), np.empty(0), np.empty(0), np.array([0, 0])),
            outcomes,
            0.1,
            0.5,
        )
    assert tally.mean == pytest.approx(2.75)
    assert tally.curves.tolist() == [[1.0, 1.5], [2.0, 4.0]]
    np.testing.assert_allclose(tally.influences(), [(1 - 2.75) / 4, (2 - 2.75) / 2, (6 - 2.75) / 4])
    assert tally.seconds == 1.0
    assert tally.counted[:2].tolist() == [2.0, 2.0]


def ranked_policies() -> dict:
    return {
        "a": lambda log, rng: Always(0),
        "b": lambda log, rng: Always(1),
        COLD: lambda log, rng: Always(2),
        NAIVE: lambda log, rng: Always(2),
    }


def test_intervals_hold_the_truth():
    """60 confounded logs of 900 rows; always 0 earns 0.4, always 1 0.275, always 2 0.3. Every 95 % interval holds its
    truth in 95 % of logs: fewer than 48 of 60 comes once in 100,000. Means are right within 5 standard errors."""
    rng = np.random.default_rng(14)
    truth = {"a": 0.4, "b": 0.275, COLD: 0.3}
    held, means = dict.fromkeys(truth, 0), {name: [] for name in truth}
    difference = 0
    for run in range(60):
        found = compare(make_log(900, rng), ranked_policies(), shuffles=5, seed=run, rounds=40)
        for name, value in truth.items():
            held[name] += found[name].low <= value <= found[name].high
            means[name].append(found[name].mean)
        seen = found.difference("a", COLD)
        difference += seen.low <= 0.1 <= seen.high
    assert min(*held.values(), difference) >= 48
    for name, value in truth.items():
        assert abs(np.mean(means[name]) - value) < 5 * np.std(means[name], ddof=1) / math.sqrt(60)


def test_policies_of_a_known_world_are_ranked_as_they_are():
    """Two kinds, half each, success (0.9, 0.1, 0.5) and (0.7, 0.3, 0.5): 0.8, 0.2 and 0.5. A log of 3,000 by a design
    that shows the best action mostly to those for whom it is worse."""
    world = Cells([[0.9, 0.1, 0.5], [0.7, 0.3, 0.5]], [0.5, 0.5], [[300, 600, 600], [700, 400, 400]])
    log = world.draw(np.random.default_rng(15)).log
    found = compare(log, ranked_policies(), shuffles=8, seed=1)
    ranks = [earning.name for earning in found.earnings if earning.name != TODAY]
    assert ranks in (["a", COLD, NAIVE, "b"], ["a", NAIVE, COLD, "b"])
    assert found.best == "a"
    assert not any(difference.is_noise for difference in found.to_best)
    assert found.difference("a", COLD).low < 0.3 < found.difference("a", COLD).high
    assert found.difference(COLD, "a").value == -found.difference("a", COLD).value
    assert "a earned most" in found.verdict()[0]
    assert "more than every other policy beyond noise" in found.verdict()[0]


def test_equal_policies_differ_by_noise():
    """Two Thompson samplings with draws of their own, 30 logs: 95 % intervals call 5 % a difference, 8 or more of 30
    once in 10,000."""
    rng = np.random.default_rng(16)
    policies = {
        COLD: lambda log, rng: ThompsonBeta(3, rng=rng),
        "twin": lambda log, rng: ThompsonBeta(3, rng=rng.spawn(1)[0]),
        NAIVE: lambda log, rng: ThompsonBeta(3, rng=rng),
    }
    alarms = 0
    for run in range(30):
        found = compare(make_log(600, rng, EVEN), policies, shuffles=6, seed=run)
        assert found.difference(NAIVE, COLD).value == 0.0
        assert found.difference(NAIVE, COLD).is_noise
        alarms += not found.difference("twin", COLD).is_noise
    assert alarms < 8
    assert "noise at this size" in " ".join(found.verdict())


# --- the call


def test_neither_threads_nor_other_policies_show():
    log = make_log(600, np.random.default_rng(17))
    policies = {"ucb": lambda log, rng: UCB(3), COLD: lambda log, rng: ThompsonBeta(3, rng=rng)}
    one, three = (compare(log, policies, shuffles=4, seed=2, n_jobs=jobs, rounds=30) for jobs in (1, 3))
    assert one.as_dict() == three.as_dict()
    fewer = compare(log, {COLD: policies[COLD]}, shuffles=4, seed=2, rounds=30)
    assert fewer[COLD].mean == one[COLD].mean
    assert fewer[COLD].standard_error == one[COLD].standard_error
    assert compare(log, policies, shuffles=4, seed=3, rounds=30)[COLD].mean != one[COLD].mean


def test_by_time_the_first_rows_are_the_log_and_the_rest_comes_in_order():
    log = hs.Log(np.zeros(50, int), np.arange(50.0) % 2, np.arange(50.0), np.full(50, 0.5), n_actions=2)
    starts, orders = [], []

    class Noting(Always):
        n_actions = 2

        def update(self, context, action, outcome):
            orders[-1].append(float(context[0]))

    def note(part, rng):
        starts.append(part.contexts[:, 0].tolist())
        orders.append([])
        return Noting(0)

    compare(log, {COLD: note, NAIVE: lambda part, rng: UCB(2)}, split="time", shuffles=2, rounds=10)
    assert starts[0] == starts[1] == list(range(10))
    assert len(starts) == 8
    for start, order in zip(starts, orders, strict=True):
        assert start == sorted(start)
        assert max(start) < 10 <= min(order)
        assert order == sorted(order)
    assert starts[2] != starts[5]  # another bootstrap log
    assert starts[2] == starts[3] == starts[4]


def test_default_policies_can_be_asked_for_by_name():
    log = make_log(600, np.random.default_rng(24))
    found = compare(log, ["ucb cold"], shuffles=2, rounds=30)
    assert {earning.name for earning in found.earnings} == {COLD, NAIVE, TODAY, "ucb cold"}


def test_progress_is_counted():
    steps = []
    log = make_log(300, np.random.default_rng(18))
    compare(
        log,
        {COLD: lambda log, rng: Always(0), NAIVE: lambda log, rng: Always(0)},
        shuffles=3,
        rounds=10,
        progress=steps.append,
    )
    assert sum(steps) == count_comparison_steps(2, 3) == 24


def test_missing_propensities_are_estimated_and_that_is_said():
    log = make_log(900, np.random.default_rng(19))
    bare = hs.Log(log.actions, log.outcomes, log.contexts, n_actions=3)
    seen = []

    def note(part, rng):
        seen.append(part.propensities is not None)
        return Always(0)

    found = compare(bare, {COLD: note, NAIVE: note}, shuffles=2, rounds=20)
    assert all(seen)
    assert "they were estimated from its contexts" in found.notes[0]
    told = compare(log, {COLD: note, NAIVE: note}, shuffles=2, rounds=20, notes=["the audit says: use it"])
    assert told.notes == ("the audit says: use it",)


def test_a_table_is_compared_like_its_rows(tmp_path):
    log = make_log(500, np.random.default_rng(20))
    columns = {"ad": log.actions, "click": log.outcomes, "kind": log.contexts[:, 0], "p": log.propensities}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "log.parquet")
    table = scan_log(tmp_path / "log.parquet", action="ad", outcome="click", contexts=["kind"], propensity="p")
    found = compare(table, ranked_policies(), shuffles=2, rounds=20)
    assert (found.n_log, found.n_stream) == (100, 400)
    with pytest.raises(OptionError, match="split='time' needs rows in their order"):
        compare(table, ranked_policies(), split="time")


def test_too_few_rounds_are_told_in_the_verdict():
    policy = np.array([[0.2, 0.2, 0.6], [0.6, 0.399, 0.001]])
    found = compare(make_log(2000, np.random.default_rng(21), policy), ranked_policies(), shuffles=3)
    assert isinstance(found, Comparison)
    assert found.acceptance.method == ROBUST
    assert "of users had a chance below" in found.verdict()[-1]
    assert "an earlier row of that action" in found.verdict()[-1]


def test_the_default_policies_are_policies_for_the_log_they_were_made_for():
    log = make_log(300, np.random.default_rng(22))
    wide = hs.Log(
        log.actions,
        10 * log.outcomes - 3,
        np.column_stack([log.contexts, log.contexts + 1.0]),
        log.propensities,
        n_actions=3,
        context_names=["kind", "other"],
    )
    bare = hs.Log(log.actions, log.outcomes, None, log.propensities, n_actions=3)
    for made, decide_on, n in ((log, None, 10), (wide, None, 10), (wide, ["other"], 10), (bare, None, 8)):
        policies = default_policies(made, decide_on)
        assert len(policies) == n
        assert list(policies)[:3] == [START, COLD, NAIVE]
        for make in policies.values():
            policy = make(made, np.random.default_rng(1))
            assert 0 <= policy.play(made.contexts[0]) < 3
            policy.update(made.contexts[0], 1, float(made.outcomes[0]))


def test_rejects():
    log = make_log(300, np.random.default_rng(23))
    for settings, text in (
        ({"shuffles": 1}, "shuffles must be at least 2, got 1"),
        ({"split": "half"}, "split must be 'random' or 'time', got 'half'"),
        ({"share": 0.001}, "share must leave at least two rows on both sides, got 0.001 of 300"),
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
        ({"n_jobs": 0}, "n_jobs must be at least 1, got 0"),
        ({"level": 1.5}, "level must be a finite number"),
    ):
        with pytest.raises(OptionError, match=text):
            compare(log, ranked_policies(), **settings)
    with pytest.raises(
        OptionError, match="unknown policy 'nobody'; known for this log: start, cold, naive, thompson"
    ):
        compare(log, ["nobody"])
    with pytest.raises(OptionError, match="decide_on names 'age', which is not a column of the log: x0"):
        compare(log, decide_on=["age"])
    with pytest.raises(OptionError, match="int has no play: it is not a policy"):
        compare(log, {COLD: lambda log, rng: 3}, shuffles=2)
    with pytest.raises(OptionError, match="the policy has 2 actions, the log 3"):
        compare(log, {COLD: lambda log, rng: UCB(2)}, shuffles=2)
    wide = hs.Log(log.actions, log.outcomes * 2, log.contexts, log.propensities, n_actions=3)
    with pytest.raises(OutcomeError, match=r"outcomes must be in \[0, 1\] for ThompsonBeta"):
        compare(wide, {COLD: lambda log, rng: ThompsonBeta(3)}, shuffles=2)
    with pytest.raises(KeyError):
        compare(log, ranked_policies(), shuffles=2)["nobody"]
