"""A table's sample: uniform, and the same whatever the order of the rows, the threads and the seed's neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headstart.logs.log import Log
from headstart.logs.tables import sampling
from tests.logs.tables.twins import as_multiset, as_table, make_log

FALSE_ALARM = 1e-6


@pytest.fixture(params=["grouped", "below a threshold"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Small tables are grouped whole; large ones are looked at below a threshold of their keys. Both, in small."""
    if request.param == "below a threshold":
        monkeypatch.setattr(sampling, "_SMALL", 0)
    return str(request.param)


def numbered(n: int) -> Log:
    """Rows that differ in nothing but a number that counts up: the structure that a poor key would show."""
    return Log(np.zeros(n, dtype=int), np.zeros(n), np.arange(n, dtype=float).reshape(-1, 1))


def test_every_row_is_sampled_equally_often_and_neighbours_do_not_cling(way: str):
    """30 samples of 1,000 from 10,000. Rows: the squared deviations of the inclusion counts from 3, over their
    variance 30 * 0.1 * 0.9, are near chi-square with 10,000 degrees of freedom. Pairs of neighbours: 30 * 9,999 *
    0.01 expected, near Poisson.
    """
    n, size, seeds = 10_000, 1_000, 30
    table = as_table(numbered(n))
    taken = np.zeros((seeds, n))
    for seed in range(seeds):
        chosen = table.sample(size, rng=seed).contexts[:, 0].astype(int)
        assert np.unique(chosen).size == size
        taken[seed, chosen] = 1.0
    statistic = np.sum((taken.sum(axis=0) - 3.0) ** 2) / 2.7
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n)
    assert low < statistic < high
    pairs, expected = float((taken[:, 1:] * taken[:, :-1]).sum()), seeds * (n - 1) * 0.01
    assert abs(pairs - expected) < stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(expected)
    tenths = taken.reshape(seeds, 10, -1).sum(axis=(0, 2))
    assert stats.chisquare(tenths).pvalue > FALSE_ALARM


def test_of_equal_rows_a_hypergeometric_number_is_taken():
    """600 rows of one kind, 400 of another, 100 taken, 60 times: mean 60, variance 100 * 0.24 * 900/999 = 21.6."""
    actions = np.repeat([0, 1], [600, 400])
    table = as_table(Log(actions, np.zeros(1_000)))
    counts = [int((table.sample(100, rng=seed).actions == 0).sum()) for seed in range(60)]
    variance = 100 * 0.24 * 900 / 999
    bound = stats.norm.isf(FALSE_ALARM / 2)
    assert abs(np.mean(counts) - 60) < bound * np.sqrt(variance / 60)
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 59)
    assert low < 59 * np.var(counts, ddof=1) / variance < high


def test_one_row_that_fills_half_the_log_fills_half_the_sample(way: str):
    """10,000 equal rows among 20,000: of 400 sampled 200 +- 10. Their one key must not decide for all of them."""
    log = numbered(20_000)
    values = np.where(np.arange(20_000) % 2, log.contexts[:, 0], -1.0)
    table = as_table(Log(log.actions, log.outcomes, values.reshape(-1, 1)))
    for seed in range(5):
        equal = (table.sample(400, rng=seed).contexts[:, 0] == -1.0).sum()
        assert abs(equal - 200) < stats.norm.isf(FALSE_ALARM / 2) * 10


@pytest.mark.parametrize("n_values", [3, 10**9])
def test_neither_the_order_of_the_rows_nor_the_threads_matter(way: str, n_values: int):
    log = make_log(5_000, n_values=n_values)
    shuffled = log.take(np.random.default_rng(1).permutation(len(log)))
    one = as_table(log, threads=1).sample(300, rng=3)
    other = as_table(shuffled, threads=4).sample(300, rng=3)
    assert len(one) == 300
    np.testing.assert_array_equal(one.contexts, other.contexts)
    np.testing.assert_array_equal(one.outcomes, other.outcomes)
    np.testing.assert_array_equal(one.propensity_matrix, other.propensity_matrix)


def test_another_seed_is_another_sample_and_a_generator_moves_on():
    table = as_table(numbered(2_000))
    first = as_multiset(table.sample(100, rng=1))
    assert first != as_multiset(table.sample(100, rng=2))
    rng = np.random.default_rng(1)
    assert as_multiset(table.sample(100, rng=rng)) == first
    assert as_multiset(table.sample(100, rng=rng)) != first


def test_no_row_is_sampled_more_often_than_it_occurs():
    log = make_log(1_000)
    rows = as_multiset(log)
    for row in set(drawn := as_multiset(as_table(log).sample(900, rng=0))):
        assert drawn.count(row) <= rows.count(row)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_the_scale_of_a_column_does_not_matter(scale: float):
    """All 3,000 values differ at any scale, and so do their keys: F / n is 1 +- 0.09."""
    values = scale * np.random.default_rng(0).random((3_000, 1))
    table = as_table(Log(np.zeros(3_000, dtype=int), np.zeros(3_000), values))
    rows, n = sampling.with_keys(table.table, ["action", "outcome", "x0"], (), np.random.default_rng(0))
    assert n == 3_000
    assert abs(sampling.copies_of_a_row(rows, n) - 1.0) < 6 * 0.09
    assert len(table.sample(50)) == 50


def test_different_rows_of_small_whole_numbers_have_different_keys():
    """3^8 = 6,561 rows: sums with weights in a simple proportion would meet. Some 0.01 pairs meet by chance."""
    grid = np.stack(np.meshgrid(*[np.arange(3.0)] * 8), axis=-1).reshape(-1, 8)
    table = as_table(Log(np.zeros(len(grid), dtype=int), np.zeros(len(grid)), grid))
    names = ["action", "outcome", *(f"x{j}" for j in range(8))]
    rows, n = sampling.with_keys(table.table, names, (), np.random.default_rng(0))
    assert n == 3**8
    assert np.unique(rows.key.to_pyarrow().to_numpy()).size == n
