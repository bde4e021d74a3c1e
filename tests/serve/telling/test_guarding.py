"""What a guardrail counts and finds: the same sequences as everywhere, from its own beginning on."""

import math

import numpy as np
import pytest
from benchmarks.guardrails import count_false, find_harm

from headstart.estimates.sequences import MomentSums, differences, sequences
from headstart.serve import Engine, load_config
from headstart.serve.guardrails import Guardrail
from headstart.serve.store.events import Event
from headstart.serve.telling.follower import Follower
from headstart.serve.telling.guarding import GuardSums, Watched
from headstart.serve.telling.overview import Overview
from headstart.serve.telling.report import FREE
from tests.serve.experiments import Clock

BOUND = Guardrail("refunds", None, is_worse_higher=True, bound=0.05)
APART = Guardrail("sales", None, is_worse_higher=False, bound=None, margin=0.01)


def sums_of(outcomes, is_holdout=None, numbers=None):
    sums, n = GuardSums(0), len(outcomes)
    held, counts = np.zeros(n, bool) if is_holdout is None else is_holdout, np.ones(n) if numbers is None else numbers
    sums.add(np.array(outcomes, dtype=float), np.array(held), np.array(counts, dtype=float))
    return sums


def moments(outcomes):
    y = np.array(outcomes, dtype=float)
    rows = [(y != 0.0).sum(), *([y.size, y.sum(), (y**2).sum()] * 2), y.size, y.sum(), (y**2).sum(), (y**3).sum()]
    return MomentSums(*(np.array([each], dtype=float) for each in rows))


def test_against_a_bound_it_is_the_lower_end_of_the_users_own_sequence():
    outcomes = [1.0] * 60 + [0.0] * 440
    harm = sums_of(outcomes).judge(BOUND, FREE)
    low = sequences(moments(outcomes), 2.0 * BOUND.level, is_binary=True).low[0]
    assert (harm.users, harm.value, harm.is_rate) == (500, 0.12, True)
    assert harm.at_least == pytest.approx(low - 0.05)
    assert harm.at_least > 0.0


def test_against_the_hold_out_it_is_the_end_of_their_difference():
    """90 of 300 of the policy's users bought, 150 of 300 of the hold-out's: 20 points less."""
    outcomes, held = [1.0] * 90 + [0.0] * 210 + [1.0] * 150 + [0.0] * 150, [False] * 300 + [True] * 300
    harm = sums_of(outcomes, held).judge(APART, FREE)
    both = MomentSums(*np.concatenate([moments(outcomes[:300]), moments(outcomes[300:])], axis=1)).as_groups()
    assert (harm.value, harm.against, harm.holdout_users) == (pytest.approx(0.3), pytest.approx(0.5), 300)
    assert harm.at_least == pytest.approx(-differences(both, np.array(0), 0.1, is_binary=True).high[1])
    assert 0.0 < harm.at_least < harm.worse_by == pytest.approx(0.2)


def test_with_nothing_to_compare_with_nothing_is_found():
    assert math.isnan(GuardSums(0).judge(BOUND, FREE).at_least)
    assert math.isnan(sums_of([1.0, 0.0]).judge(APART, FREE).at_least)
    assert not sums_of([0.0] * 50).judge(BOUND, FREE).at_least > 0.0


def test_no_purchase_at_all_is_worse_than_a_bound_where_the_range_says_that_it_is_a_share():
    lower = Guardrail("sales", "sale", is_worse_higher=False, bound=0.2, range=(0.0, 1.0))
    assert sums_of([0.0] * 400).judge(lower, (0.0, 1.0)).at_least > 0.0


def test_the_repeats_of_a_unit_prove_less_than_as_many_users():
    outcomes = [1.0] * 30 + [0.0] * 170
    alone, repeated = (
        sums_of(outcomes),
        sums_of(outcomes, numbers=[*[1] * 20, *range(1, 11), *[1] * 160, *range(1, 11)]),
    )
    assert repeated.judge(BOUND, FREE).at_least < alone.judge(BOUND, FREE).at_least


def test_what_it_counts_begins_anew_when_somebody_resumes():
    table = {"actions": ["a", "b"], "guardrails": {"r": {"worse": "higher", "than": 0.5}}}
    watched = Watched()
    watched.take(Event(1, "ads", "configuration", None, 0, None, table))
    watched.sums["r"].add(np.ones(200), np.zeros(200, bool), np.ones(200))
    assert watched.find_trips(FREE, 99)["r"]["users"] == 200
    watched.take(Event(100, "ads", "tripped", None, 0, None, {"guardrail": "r", "reason": "too many"}))
    assert watched.find_trips(FREE, 100) == {}
    kept = Watched.from_dict(watched.as_dict())
    assert (kept.guards.tripped, kept.sums["r"].values.tolist()) == ({"r": 100}, watched.sums["r"].values.tolist())
    watched.take(Event(101, "ads", "resumed", None, 0, None, {"guardrail": "r"}))
    assert (watched.sums["r"].since, watched.sums["r"].values.sum()) == (101, 0.0)


def test_without_a_difference_few_of_many_runs_ever_trip():
    """80 runs of 2,000 users, a look after every 20: each kind at most 5 %, and 3 standard errors of that (12 %)."""
    found = count_false("30%", runs=80, n_users=2000)
    assert all(n <= 80 * (0.05 + 3.0 * math.sqrt(0.05 * 0.95 / 80)) for n in found.values())


def test_a_harm_of_a_tenth_is_found():
    assert np.isfinite(find_harm("30%", "bound", runs=5)).all()


SHOP = {
    "actions": ["mail", "nothing"], "oracle": "ABTest", "seed": 7, "outcome_window": 60, "safe_action": "nothing",
    "outcomes": {"refund": {"default": 0}, "revenue": {"default": 0}}, "value": "revenue - 5 * refund",
    "guardrails": {"refunds": {"outcome": "refund", "worse": "higher", "than": 0.1, "then": "fall back"}},
}  # fmt: skip


def live(engine, clock, first, n, refunds):
    """Users, each with an outcome, whose windows close."""
    users = [{"event_id": f"u{first + i}"} for i in range(n)]
    engine.decide_many("shop", users)
    engine.outcome_many("shop", [(user["event_id"], {"refund": refunds(i)}) for i, user in enumerate(users)])
    clock.seconds += 61
    engine.close_windows()


def wait_for(overview, follower, engine, question):
    for _ in range(200):
        follower.follow("shop").tell(["mail", "nothing"], engine.state("shop")["position"], 1.0)
        report = overview.as_dict()
        if question(report):
            return report
    raise AssertionError(report["guardrails"])


def test_a_follower_trips_it_and_the_report_says_so_first(address):
    clock = Clock()
    config = load_config({"store": address, "experiments": {"shop": SHOP}})
    with Engine.open(config, clock=clock) as engine:
        follower = Follower(engine)
        overview = Overview(engine, "shop", follower)
        live(engine, clock, 0, 200, lambda i: float(i % 20 == 0))
        report = wait_for(overview, follower, engine, lambda report: report["guardrails"][0]["users"] == 200)
        told = report["guardrails"][0]
        assert (told["value"], told["is_tripped"], told["status"]) == (0.05, False, "Watching.")
        assert report["alarms"] == []
        live(engine, clock, 200, 200, lambda i: float(i % 2 == 0))
        report = wait_for(overview, follower, engine, lambda report: report["guardrails"][0]["is_tripped"])
        told = report["guardrails"][0]
        assert told["text"].startswith("refund is 27.5 % (400 users), above the bound of 10 %, by at least ")
        assert report["alarms"][0]["message"].startswith("The guardrail refunds has tripped: refund is 27.5 %")
        assert "All but the hold-out are shown nothing, the safe action" in report["alarms"][0]["message"]
        assert report["sentence"].startswith("Shown now: nothing to all who are not held out")
        assert report["outcome"] == "value"
        event = engine.last_event("shop", "tripped")
        assert event.body["users"] == 400
        assert engine.decide("shop").probabilities == (0.0, 1.0)
        engine.resume("shop", "refunds", "a broken report", by="ann")
        report = wait_for(overview, follower, engine, lambda report: not report["guardrails"][0]["is_tripped"])
        assert report["guardrails"][0]["users"] == 0
        assert [deed["what"] for deed in report["deeds"][:2]] == [
            "resumed after the guardrail refunds", "the guardrail refunds tripped",
        ]  # fmt: skip
        follower.close()
