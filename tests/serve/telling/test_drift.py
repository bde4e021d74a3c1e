"""Users of late against the first ones, by column."""

import random

from headstart.serve.telling.drift import BLOCK, Block, ContextDrift


def users(rng, n, age=35.0, phone=0.4):
    return [{"age": rng.gauss(age, 10.0), "device": "phone" if rng.random() < phone else "desktop"} for _ in range(n)]


def test_users_who_stay_the_same_are_no_alarm():
    rng, drift = random.Random(1), ContextDrift()
    for _ in range(30):
        drift.add(users(rng, BLOCK // 2))
        assert drift.tell() == []


def test_columns_that_moved_are_named():
    rng, drift = random.Random(2), ContextDrift()
    drift.add(users(rng, BLOCK))
    drift.add(users(rng, BLOCK, age=40.0, phone=0.6))
    numbers, *categories = drift.tell()
    assert numbers.startswith("Users are no longer those of the beginning: age is 4")
    assert numbers.endswith(" of the first.")
    assert sorted(each.split(": ")[1].split(" for")[0] for each in categories) == [
        "device is desktop",
        "device is phone",
    ]
    drift.add(users(rng, BLOCK))  # they are back
    assert drift.tell() == []


def test_two_users_by_hand_and_what_is_missing_counts_nowhere():
    block = Block()
    block.add({"age": 3.0, "device": "phone", "is_new": True})
    block.add({"age": None, "device": None, "is_new": False})
    assert (block.n, block.numbers, block.categories) == (
        2, {"age": [1.0, 3.0, 9.0]}, {"device": {"phone": 1}, "is_new": {"True": 1, "False": 1}},
    )  # fmt: skip


def test_it_is_kept_as_it_is_and_memory_is_bounded():
    drift = ContextDrift()
    drift.add({"id": f"u{i}", "x": float(i)} for i in range(BLOCK + 10))
    assert len(drift.first.categories["id"]) == 50
    assert ContextDrift.from_dict(drift.as_dict()).as_dict() == drift.as_dict()
