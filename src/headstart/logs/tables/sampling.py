"""A uniform sample of a table's rows that depends on the rows and the seed alone.

Not on the order of the rows, the files they lie in, the number of threads or the database: every row gets a key from
its own values by arithmetic that all databases do alike (products, sums and floors of doubles; whole numbers below
2^62), and the key decides. Rows that are equal in everything have equal keys, and a key must not decide for all of
them at once, so equal rows are counted and the key draws *how many* of them are taken (a binomial's quantile).

Counting equal rows is a group-by, which for a hundred million different rows no one wants to pay. So a first pass
looks whether there are many: the second moment F = sum over distinct rows of (copies)^2, from how evenly the keys
fall into buckets (Alon, Matias and Szegedy 1996; Thorup and Zhang 2012). F / n is how many copies the average row
has. If it is small, only rows whose key lies below a threshold are looked at, four times as many as are wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headstart.arrays import Integers
from headstart.logs.tables.batches import read_batches
from headstart.logs.tables.statistics import as_array

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

_PRIME = 2147483579  # the largest below 2^31 that is 2 modulo 3, so that cubing is one to one
_ROUNDS = 3
_BUCKETS = 256
_FEW_COPIES = 2.0  # F / n below which the threshold is used; 1 +- 0.09 is what different rows give
_SURPLUS = 4.0  # rows below the threshold for each row that is wanted
_SMALL = 100_000  # rows that are simply grouped
_BATCH = 1 << 16


def draw_rows(
    table: ir.Table, keyed_by: Sequence[str], others: Sequence[str], n_rows: int, rng: np.random.Generator
) -> pa.Table:
    """`n_rows` rows of the columns `keyed_by` and `others`, as an Arrow table; fewer only if there are no more.

    Keys come from `keyed_by`: numbers that every database computes alike. `others` (estimated propensities, say,
    whose last bit may differ, or the text of a unit) come along.
    """
    import pyarrow as pa

    rows, n = with_keys(table, keyed_by, others, rng)
    threshold = 1.0
    if n > max(_SMALL, _SURPLUS * n_rows) and copies_of_a_row(rows, n) <= _FEW_COPIES:
        threshold = _SURPLUS * max(n_rows, 100) / n
    share = (n_rows + 6.0 * np.sqrt(n_rows) + 20.0) / n  # of the rows: falls short of n_rows once in 10^8 times
    while True:
        found = _thin(rows, [*keyed_by, *others], min(threshold, 1.0), min(share, 1.0))
        if found.num_rows >= min(n_rows, n):
            break
        threshold, share = 2.0 * threshold, 2.0 * share
    ordered = found.sort_by([(name, "ascending") for name in ("key", *reversed((*others, *keyed_by)))])
    chosen = np.sort(rng.choice(found.num_rows, min(n_rows, n), replace=False))
    return ordered.take(pa.array(chosen))


def copies_of_a_row(rows: ir.Table, n: int) -> float:
    """An estimate of F / n: how often the average row's values occur. `rows` has keys. One pass.

    Rows fall into buckets by their key; the squared deviations of the buckets' sizes add up to F (1 - 1 / buckets)
    in the mean. Never below 1, as F / n is not. Counts are whole numbers, so what is decided by them is the same
    everywhere. By Cauchy and Schwarz there are at least n / (F / n) distinct rows.
    """
    buckets = rows.select(bucket=rows.key % _BUCKETS)
    found = as_array(buckets.group_by("bucket").aggregate(rows=buckets.count()).to_pyarrow()["rows"], np.float64)
    counts = np.zeros(_BUCKETS)
    counts[: found.size] = np.sort(found)  # the order of the groups is nobody's promise
    return max(1.0, float(np.sum((counts - n / _BUCKETS) ** 2) * _BUCKETS / (_BUCKETS - 1) / n))


def with_keys(
    table: ir.Table, keyed_by: Sequence[str], others: Sequence[str], rng: np.random.Generator
) -> tuple[ir.Table, int]:
    """These columns with a key made of those in `keyed_by` and the seed, and the number of rows."""
    n, scales = _look_over(table, keyed_by)
    weights = 2 * rng.integers(1 << 28, 1 << 29, size=len(keyed_by)) + 1
    words = rng.integers(1, _PRIME, size=2 * _ROUNDS)
    factors = list(zip(keyed_by, scales, weights.tolist(), strict=True))
    return _with_key(table.select(*keyed_by, *others), factors, words.tolist()), n


def _look_over(table: ir.Table, names: Sequence[str]) -> tuple[int, list[float]]:
    """The number of rows, and the power of two that brings each column into [-1, 1]."""
    extremes = {f"top_{name}": table[name].abs().max() for name in names}
    found = table.aggregate(n_rows=table.count(), **extremes).to_pyarrow()
    tops = [float(found[name][0].as_py() or 0.0) for name in extremes]
    return int(found["n_rows"][0].as_py()), [float(2.0 ** -np.frexp(top)[1]) for top in tops]


def _with_key(table: ir.Table, factors: Sequence[tuple[str, float, int]], words: Sequence[int]) -> ir.Table:
    """The table with `key`, a number 0..prime-1 made of columns (with their scales and weights) and the seed's words.

    The columns, scaled to [-1, 1], are added up with the seed's odd weights below 2^30; the sum's bits become two
    whole numbers, which cubes modulo a prime mix with the seed's words (Albrecht et al. 2016, MiMC).
    """
    total: ir.FloatingColumn | float = 0.0
    for name, scale, weight in factors:
        # Both factors are exact in decimal or with an exponent: no database reads another number than we wrote.
        total = total + table[name].cast("float64") * scale * float(weight)
    rows = table.mutate(mixed=total * 2.0**-10)
    high = rows.mixed.floor().cast("int64")
    rows = rows.mutate(
        key=(high % _PRIME + _PRIME) % _PRIME,  # the remainder of a negative number is negative
        low=((rows.mixed - high) * float(1 << 30)).floor().cast("int64"),
    )
    for turn in range(_ROUNDS):  # a subquery each: what a database computes once, and Ibis writes down quickly
        moved = (rows.key * words[2 * turn] + rows.low + words[2 * turn + 1]) % _PRIME
        rows = rows.select(*table.columns, "low", key=(moved * moved % _PRIME) * moved % _PRIME)
    return rows.drop("low")


def _thin(rows: ir.Table, names: Sequence[str], threshold: float, share: float) -> pa.Table:
    """A Poisson sample: of every group of equal rows a binomial number, drawn by the group's key."""
    import pyarrow as pa

    if threshold < 1.0:
        rows = rows.filter(rows.key < int(threshold * _PRIME))
    groups = rows.group_by([*names, "key"]).aggregate(copies=rows.count())
    batches = list(_thinned(read_batches(groups, _BATCH), threshold, share))
    return pa.Table.from_batches(batches, schema=groups.schema().to_pyarrow())


def _thinned(batches: Iterator[pa.RecordBatch], threshold: float, share: float) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        taken = _draw_copies(batch, threshold, share)
        yield batch.take(pa.array(np.repeat(np.arange(batch.num_rows), taken)))


def _draw_copies(batch: pa.RecordBatch, threshold: float, share: float) -> Integers:
    """How many of each group's rows are taken: the binomial's quantile at what the key says, uniform on (0, 1)."""
    from headstart.special import bdtr, bdtrik

    copies = as_array(batch["copies"], np.int64)
    rate = share / threshold
    if rate >= 1.0:
        return copies
    uniform = np.minimum((as_array(batch["key"], np.float64) + 0.5) / (threshold * _PRIME), 1.0 - 1e-12)
    taken = (uniform > 1.0 - rate).astype(np.int64)
    many = np.flatnonzero(copies > 1)
    if many.size:
        above = np.ceil(bdtrik(uniform[many], copies[many], rate))
        below = np.maximum(above - 1.0, 0.0)
        taken[many] = np.where(bdtr(below, copies[many], rate) >= uniform[many], below, above)
    return taken
