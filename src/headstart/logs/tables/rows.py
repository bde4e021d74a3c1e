"""Rows of a canonical table, come into memory: a Log."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.logs.encoding import Encoding
from headstart.logs.log import Log
from headstart.logs.tables.statistics import as_array, check_indices

if TYPE_CHECKING:
    import pyarrow as pa


def log_columns(columns: list[str], n_features: int, n_actions: int) -> list[str]:
    """What a Log holds of a row, of the columns that a canonical table has."""
    names = ["action", "outcome", *(f"x{j}" for j in range(n_features))]
    chances = [f"p{k}" for k in range(n_actions)]
    names += chances if set(chances) <= set(columns) else [name for name in ("propensity",) if name in columns]
    return names + [name for name in ("unit", "time") if name in columns]


def as_log(rows: pa.Table | pa.RecordBatch, encoding: Encoding, action_names: tuple[Hashable, ...]) -> Log:
    """The Log of these rows. Units are numbered within them."""
    names = set(rows.schema.names)

    def column(name: str) -> Floats:
        return as_array(rows[name], np.float64)

    def matrix(prefix: str, count: int) -> Floats:
        out = np.empty((rows.num_rows, count))
        for j in range(count):
            out[:, j] = column(f"{prefix}{j}")
        return out

    propensities = None
    if "p0" in names:
        propensities = matrix("p", len(action_names))
    elif "propensity" in names:
        propensities = column("propensity")
    return Log.of_encoded(
        check_indices(column("action"), len(action_names)),
        column("outcome"),
        matrix("x", len(encoding.names)),
        propensities,
        encoding=encoding,
        action_names=action_names,
        units=_as_units(rows["unit"]) if "unit" in names else None,
        times=as_times(rows["time"]) if "time" in names else None,
    )


def _as_units(column: pa.Array | pa.ChunkedArray) -> Integers:
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return as_array(whole.dictionary_encode().indices, np.int64)


def as_times(column: pa.Array | pa.ChunkedArray) -> Floats:
    """Numbers as they are, moments and days as seconds since 1970."""
    import pyarrow as pa

    kind = column.type
    if not pa.types.is_temporal(kind):
        return as_array(column.cast(pa.float64()), np.float64)
    moments = column.cast(pa.timestamp("us", tz=kind.tz if pa.types.is_timestamp(kind) else None), safe=False)
    return as_array(moments.cast(pa.int64()), np.float64) / 1e6
