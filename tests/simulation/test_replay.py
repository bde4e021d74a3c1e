"""Replay: which events count, what is deleted, and that the outcome is what the policy would have met."""

import numpy as np
import pytest

from headstart.errors import LogError, OptionError
from headstart.evaluators import IPSWeighting
from headstart.oracles import UCB, ABTest
from headstart.simulation.replay import Events, delete_biased, replay_events, split_events
from headstart.warmstart.warmstart import WarmStart
from tests.plain import Plain

EVERYTHING = np.ones((1, 3), dtype=np.bool_)


def make_events(actions, outcomes, pools=EVERYTHING, pool_of=None):
    n = len(actions)
    return Events(
        contexts=np.arange(2.0 * n).reshape(n, 2),
        actions=np.array(actions),
        outcomes=np.array(outcomes, dtype=float),
        pools=np.array(pools, dtype=np.bool_),
        pool_of=np.zeros(n, dtype=np.int64) if pool_of is None else np.array(pool_of),
        action_names=tuple(range(np.shape(pools)[1])),
    )


class Always:
    """Plays one action if it is available, else the lowest that is; remembers what it was told."""

    n_actions = 3

    def __init__(self, action):
        self.action, self.told = action, []

    def play(self, context, available=None):
        return self.action if available[self.action] else int(np.argmax(available))

    def update(self, context, action, outcome):
        self.told.append((context.tolist(), action, outcome))


def uniform_events(rng, n, rates):
    actions = rng.integers(len(rates), size=n)
    outcomes = (rng.random(n) < np.array(rates)[actions]).astype(float)
    return make_events(actions, outcomes, np.ones((1, len(rates))))


def test_only_events_with_the_policys_own_choice_count():
    """Actions 0 1 1 2 1 against a policy that plays 1: events 1, 2 and 4 count, two of them clicks."""
    policy = Always(1)
    result = replay_events(policy, make_events([0, 1, 1, 2, 1], [1, 1, 0, 1, 1]))
    assert result.outcomes.tolist() == [1.0, 0.0, 1.0]
    assert result.n_events == 5
    assert result.mean == pytest.approx(2 / 3)
    assert policy.told == [([2.0, 3.0], 1, 1.0), ([4.0, 5.0], 1, 0.0), ([8.0, 9.0], 1, 1.0)]


def test_the_choice_is_among_the_events_own_candidates():
    """Action 1 is not available in the second event, where the policy falls back to 0 and is matched."""
    events = make_events([1, 0, 0], [1, 1, 1], pools=[[1, 1, 1], [1, 0, 1]], pool_of=[0, 1, 0])
    assert replay_events(Always(1), events).outcomes.size == 2


def test_rounds_stop_the_replay():
    result = replay_events(Always(1), make_events([1, 1, 1, 1], [0, 1, 0, 1]), rounds=2)
    assert result.outcomes.tolist() == [0.0, 1.0]
    assert result.n_events == 2


def test_a_stream_that_is_too_short_is_gone_through_again():
    result = replay_events(Always(1), make_events([1, 0, 1], [0, 1, 1]), rounds=5, rng=1)
    assert result.outcomes.size == 5
    assert sorted(result.outcomes[:2]) == [0.0, 1.0]


def test_a_policy_that_never_agrees_is_an_error_not_an_endless_loop():
    with pytest.raises(LogError, match="the policy agreed with none of 2 events: 1 rounds cannot be counted"):
        replay_events(Always(1), make_events([0, 2], [1, 1]), rounds=1)
    assert replay_events(Always(1), make_events([0, 2], [1, 1])).outcomes.size == 0


def test_compiled_and_plain_agree():
    rng = np.random.default_rng(1)
    pools = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 1]], dtype=np.bool_)
    pool_of = rng.integers(3, size=600)
    actions = np.array([rng.choice(np.flatnonzero(pools[p])) for p in pool_of])
    events = make_events(actions, rng.integers(2, size=600), pools, pool_of)
    log = events.take(np.arange(100)).as_log()
    compiled = WarmStart(UCB(3), IPSWeighting(log), rng=2)
    plain = WarmStart(Plain(UCB(3)), Plain(IPSWeighting(log)), rng=2)
    one, other = (replay_events(policy, events, rounds=300, rng=3) for policy in (compiled, plain))
    assert one.outcomes.tolist() == other.outcomes.tolist()
    assert one.n_events == other.n_events


def test_replay_of_uniform_events_is_what_the_policy_would_have_earned():
    """A learning policy, 40 rounds, 4,000 replays against 4,000 lives: within 5 standard errors (6e-7)."""
    rng = np.random.default_rng(4)
    rates, rounds, runs = (0.2, 0.5, 0.7), 40, 4000
    lived, replayed = np.empty(runs), np.empty(runs)
    for run in range(runs):
        policy = UCB(3, beta=0.3)
        outcomes = []
        for draw in rng.random(rounds):
            action = policy.play()
            outcomes.append(float(draw < rates[action]))
            policy.update(None, action, outcomes[-1])
        lived[run] = np.mean(outcomes)
        # 500 events are 167 matches on average: fewer than 40 comes once in 10^30, so no event is met twice.
        replayed[run] = replay_events(UCB(3, beta=0.3), uniform_events(rng, 500, rates), rounds=rounds).mean
    error = np.sqrt((lived.var() + replayed.var()) / runs)
    assert abs(lived.mean() - replayed.mean()) < 5 * error


def test_a_random_policy_is_matched_as_often_as_chance_has_it():
    """One event in three counts: 30,000 events, 5 standard deviations of the binomial."""
    events = uniform_events(np.random.default_rng(5), 30_000, (0.5, 0.5, 0.5))
    counted = replay_events(ABTest(3, rng=6), events).outcomes.size
    assert abs(counted - 10_000) < 5 * np.sqrt(30_000 * 2 / 9)


def test_split_deals_every_event_once():
    events = make_events(np.arange(10) % 3, np.arange(10) % 2)
    log, stream = split_events(events, 0.2, rng=1)
    assert (len(log), len(stream)) == (2, 8)
    assert sorted(np.concatenate([log.contexts, stream.contexts])[:, 0]) == events.contexts[:, 0].tolist()
    with pytest.raises(OptionError, match="share must leave events on both sides"):
        split_events(events, 1.0)


def test_the_log_has_one_over_the_number_of_candidates():
    events = make_events([0, 2], [1, 0], pools=[[1, 1, 1], [0, 1, 1]], pool_of=[0, 1])
    log = events.as_log()
    assert log.propensities.tolist() == [1 / 3, 1 / 2]
    assert log.n_actions == 3


def test_deletion_by_hand():
    """Averages 1, 1/2, 0 and one top action: against the grain are 0's clicks and the others' misses."""
    events = make_events([0, 0, 1, 1, 2], [1, 1, 1, 0, 0])
    kept = delete_biased(events, n_top=1, chance=0.0, rng=1)
    assert kept.keep_chances.tolist() == [1.0] * 5
    kept = delete_biased(events, n_top=1, chance=1 - 1e-12, rng=1)
    assert kept.contexts[:, 0].tolist() == [4.0]  # only the click of action 1 survives
    assert kept.keep_chances.tolist() == [1.0]


def test_deletion_inverts_the_averages_and_its_chances_mend_them():
    """3 x 30,000 events. Weighted means within 5.5 standard errors of the truth; the raw ones rank 0 last."""
    rates = (0.6, 0.5, 0.4)
    events = uniform_events(np.random.default_rng(2), 90_000, rates)
    log = delete_biased(events, n_top=1, chance=0.9, rng=3).as_log()
    raw = np.bincount(log.actions, log.outcomes) / np.bincount(log.actions)
    assert int(raw.argmin()) == 0
    weights, means = 1 / log.propensities, IPSWeighting(log).means
    squares = np.bincount(log.actions, (weights * (log.outcomes - means[log.actions])) ** 2)
    assert (np.abs(means - rates) < 5.5 * np.sqrt(squares) / np.bincount(log.actions, weights)).all()


def test_rejects():
    with pytest.raises(LogError, match="event 1 shows action 0, which is not among its available ones"):
        make_events([1, 0], [1, 1], pools=[[0, 1, 1]])
    with pytest.raises(LogError, match="there are no events"):
        make_events([], [])
    with pytest.raises(OptionError, match="rounds must be at least 1, got 0"):
        replay_events(UCB(3), make_events([1], [1]), rounds=0)
    with pytest.raises(OptionError, match=r"chance must be in \[0, 1\), got 1"):
        delete_biased(make_events([1], [1]), chance=1.0)
