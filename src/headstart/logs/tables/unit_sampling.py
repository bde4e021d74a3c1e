"""A sample of a table's units, each with all its rows: which ones, the seed and the units' names decide alone.

A unit's digest is the MD5 of the seed and its name, as hexadecimal text: every database that knows MD5 has the same,
whatever the order of the rows, the files they lie in or the threads. A unit is taken if its digest is below a
threshold, so that all have the same chance n_rows / n, large or small: a unit's rows stay together, and the mean over
units is unbiased. The number of rows is n_rows in the mean. One pass counts them, another fetches them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headstart.errors import LogError
from headstart.logs.tables.sampling import draw_rows

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

_DIGITS = 13  # hexadecimal ones of a digest that are compared: 52 bits, as many as a double has
_MOST = 2.0  # times n_rows, beyond which fewer units are taken
_DIGEST = "headstart_digest"


def draw_units(
    table: ir.Table, names: Sequence[str], keyed_by: Sequence[str], n_rows: int, n: int, rng: np.random.Generator
) -> pa.Table:
    """About `n_rows` of a table's `n` rows: those of units drawn at random, `unit` among the columns `names`.

    Never none, and never more than twice as many: a unit that alone has more is thinned by its rows' keys (those of
    the columns `keyed_by`), because what has to fit in memory must.
    """
    word = int(rng.integers(1 << 62))
    rows = table.select(*names, **{_DIGEST: digest(table.unit, word)})
    threshold = n_rows / n
    while True:
        chosen = rows.filter(rows[_DIGEST] < _as_text(threshold)) if threshold < 1.0 else rows
        found = int(chosen.count().to_pyarrow().as_py())
        if 0 < found <= _MOST * n_rows:
            break
        smaller = rows.aggregate(low=rows[_DIGEST].min()).to_pyarrow()["low"][0].as_py() if not found else None
        if smaller is not None:  # the threshold is below every unit: the first one is taken, whatever its size
            threshold = np.nextafter((int(smaller[:_DIGITS], 16) + 1) / 16.0**_DIGITS, 2.0)
            continue
        if _is_one_unit(chosen):
            return draw_rows(chosen, keyed_by, [name for name in names if name not in keyed_by], n_rows, rng)
        threshold = threshold / 2.0
    order = [(name, "ascending") for name in (_DIGEST, *names)]
    return chosen.to_pyarrow().sort_by(order).drop_columns([_DIGEST])


def digest(unit: ir.StringColumn, word: int) -> ir.StringColumn:
    """The digest of each unit under a seed's word, as lower-case hexadecimal text."""
    import ibis
    import ibis.expr.operations as ops

    backend = unit.get_backend()
    text = ibis.literal(f"{word}:") + unit
    if backend.has_operation(ops.HexDigest):
        return text.hexdigest("md5")
    if backend.name == "sqlite":  # it has no digest of its own
        backend.con.create_function("md5", 1, _md5, deterministic=True)
    elif backend.name not in ("postgres", "mysql", "risingwave"):
        raise LogError(
            f"{backend.name} has no MD5, by which whole units are sampled: read all rows (read_log), or say "
            "unit=False to sample rows as if they were independent"
        )

    return ibis.udf.scalar.builtin(_written_md5, name="md5")(text)


def _written_md5(text: str) -> str:  # what Ibis reads the types of the database's own function from
    raise NotImplementedError


def _md5(text: str | None) -> str | None:
    return None if text is None else hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _as_text(threshold: float) -> str:
    """The first digits of the digests below this share of all."""
    return f"{int(threshold * 16.0**_DIGITS):0{_DIGITS}x}"


def _is_one_unit(rows: ir.Table) -> bool:
    found = rows.aggregate(low=rows[_DIGEST].min(), high=rows[_DIGEST].max()).to_pyarrow().to_pylist()[0]
    return bool(found["low"] == found["high"])
