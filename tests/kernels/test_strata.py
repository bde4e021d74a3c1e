"""Strata and the look-up: draws without replacement, and keys that merge nothing but -0.0 and 0.0."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headstart.evaluators.lookup import make_lookup
from headstart.kernels import compiled
from headstart.kernels.strata import (
    CountedStrata,
    Lookup,
    Strata,
    are_stopped,
    draw_row,
    find_key,
    make_counted_strata,
    make_strata,
)
from headstart.randomness import as_words

FALSE_ALARM = 1e-6


def _draw(strata, stratum, action):
    return draw_row(strata, stratum, action)


def _find(lookup, context, tag):
    return find_key(lookup, context, tag)


def draw(strata: Strata | CountedStrata, stratum: int, action: int) -> float:
    return compiled(_draw, type(strata))(strata, stratum, action)


def find(lookup: Lookup, context: np.ndarray, tag: int) -> int:
    return compiled(_find, Lookup)(lookup, np.ascontiguousarray(context, dtype=float), tag)


def test_a_stratum_gives_each_of_its_rows_once_and_then_stops_the_action():
    strata = make_strata(
        np.array([0, 1, 0, 1, 2]), np.array([0, 0, 0, 0, 1]), np.arange(5.0), 3, 2, np.random.default_rng(0)
    )
    assert {draw(strata, 0, 0), draw(strata, 0, 0)} == {0.0, 2.0}
    assert np.isnan(draw(strata, 0, 0))
    assert np.isnan(draw(strata, 1, 0))  # stratum 1 still has rows, but the action is stopped for good
    assert draw(strata, 2, 1) == 4.0
    assert are_stopped(strata)


def test_a_stratum_that_does_not_exist_stops_the_action():
    strata = make_strata(np.array([0, 1]), np.array([0, 1]), np.array([5.0, 6.0]), 2, 2, np.random.default_rng(0))
    assert np.isnan(draw(strata, -1, 0))
    assert np.isnan(draw(strata, 0, 0))
    assert draw(strata, 1, 1) == 6.0


def test_an_action_without_rows_is_stopped_from_the_start():
    strata = make_strata(np.array([0]), np.array([1]), np.array([5.0]), 1, 3, np.random.default_rng(0))
    assert strata.is_stopped.tolist() == [True, False, True]


def test_every_order_of_a_stratum_is_equally_likely():
    """4 rows have 24 orders; chi-square over 2,400 shufflings with 23 degrees of freedom, false alarm 1e-6."""
    orders = {order: 0 for order in itertools.permutations(range(4))}
    rng = np.random.default_rng(1)
    for _ in range(2400):
        strata = make_strata(np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64), np.arange(4.0), 1, 1, rng)
        orders[tuple(int(y) for y in strata.outcomes)] += 1
    assert sum((n - 100) ** 2 / 100 for n in orders.values()) < stats.chi2.isf(FALSE_ALARM, 23)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(1, 5)), min_size=1, max_size=60),
    st.integers(0, 100),
)
def test_counts_give_each_of_their_rows_once(groups: list[tuple[int, int, int]], seed: int):
    """Groups of (stratum, outcome, rows) in any order, one action per stratum: what is drawn is what was put in."""
    strata, outcomes, counts = (np.array(column) for column in zip(*groups, strict=True))
    counted = make_counted_strata(strata, strata, outcomes.astype(float), counts, 4, 4, as_words(seed))
    for stratum in range(4):
        rows = np.repeat(outcomes, np.where(strata == stratum, counts, 0))
        drawn = [draw(counted, stratum, stratum) for _ in rows]
        assert sorted(drawn) == sorted(rows.tolist())
        assert np.isnan(draw(counted, stratum, stratum))
    assert are_stopped(counted)


def test_a_stratum_of_counts_that_is_used_up_stops_the_action():
    counted = make_counted_strata(
        np.array([0, 1]), np.array([0, 0]), np.array([5.0, 6.0]), np.array([2, 1]), 2, 1, as_words(0)
    )
    assert [draw(counted, 0, 0), draw(counted, 0, 0)] == [5.0, 5.0]
    assert np.isnan(draw(counted, 0, 0))
    assert np.isnan(draw(counted, 1, 0))  # stratum 1 still has a row
    assert counted.left.tolist() == [1]


def test_draws_from_counts_are_as_likely_as_from_rows():
    """Outcomes 0, 1, 2 in 1, 2 and 3 rows. Of 6 * 5 ordered pairs of rows, 2 * 3 give (1, 2), 3 * 2 give (2, 2), ...

    Chi-square over 3,000 pairs of draws; (0, 0) cannot be: 7 degrees of freedom, false alarm 1e-6.
    """
    rows = [0, 1, 1, 2, 2, 2]
    expected = {pair: 0.0 for pair in itertools.product(range(3), repeat=2) if pair != (0, 0)}
    for pair in itertools.permutations(rows, 2):
        expected[pair] += 3000 / 30
    seen = dict.fromkeys(expected, 0)
    zeros = np.zeros(3, dtype=np.int64)
    for seed in range(3000):
        counted = make_counted_strata(zeros, zeros, np.arange(3.0), np.array([1, 2, 3]), 1, 1, as_words(seed))
        seen[int(draw(counted, 0, 0)), int(draw(counted, 0, 0))] += 1
    statistic = sum((seen[pair] - expected[pair]) ** 2 / expected[pair] for pair in expected)
    assert statistic < stats.chi2.isf(FALSE_ALARM, 7)


NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-52, 5e-324, -1.0, 0.0004, 1e300, 0.1 + 0.2, 0.3])


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 2)), min_size=1, max_size=40))
def test_the_look_up_is_a_dictionary(rows: list[tuple[float, float, int]]):
    contexts = np.array([row[:2] for row in rows])
    tags = np.array([row[2] for row in rows])
    lookup, keys = make_lookup(contexts, tags)
    slow: dict[tuple[float, float, int], int] = {}
    for row, key in zip(rows, keys, strict=True):
        assert slow.setdefault(row, len(slow)) == key  # a dictionary merges -0.0 and 0.0 too, and nothing else
    assert lookup.tags.size == len(slow)
    for row in rows:
        assert find(lookup, np.array(row[:2]), row[2]) == slow[row]
    assert find(lookup, np.array([7.0, 7.0]), 0) == -1
    assert find(lookup, np.array(rows[0][:2]), 3) == -1


def test_minus_zero_is_zero_in_every_column():
    """Tables of many sizes: the sign is one bit of 64, which a small table's slot may not depend on."""
    for n in (2, 100, 5000):
        rest = np.arange(1.0, n + 1)
        contexts = np.column_stack([np.zeros(n), rest, np.zeros(n)])
        lookup, keys = make_lookup(np.vstack([contexts, contexts * [-1, 1, 1]]), np.zeros(2 * n, dtype=np.int64))
        np.testing.assert_array_equal(keys[n:], keys[:n])
        assert [find(lookup, np.array([-0.0, x, -0.0]), 0) for x in rest[:100]] == list(range(min(n, 100)))


def test_many_keys_are_all_found():
    rng = np.random.default_rng(2)
    contexts, tags = rng.standard_normal((5000, 3)), rng.integers(4, size=5000)
    lookup, keys = make_lookup(contexts, tags)
    np.testing.assert_array_equal(keys, np.arange(5000))
    assert all(find(lookup, contexts[i], int(tags[i])) == i for i in range(0, 5000, 7))


def test_contexts_of_no_columns_are_one_key_per_tag():
    lookup, keys = make_lookup(np.empty((4, 0)), np.array([2, 0, 2, 0]))
    assert keys.tolist() == [0, 1, 0, 1]
    assert find(lookup, np.empty(0), 2) == 0


@pytest.mark.parametrize("n", [1, 2, 3, 1024])
def test_the_table_never_fills(n: int):
    lookup, _ = make_lookup(np.arange(float(n)).reshape(-1, 1), np.zeros(n, dtype=np.int64))
    assert (lookup.slots >= 0).sum() == n < lookup.slots.size
