"""The decision log in the formats that other programs read: JSON lines, dsjson (Vowpal Wabbit), Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import IO

import orjson

from headstart.serve.engine.export import DecisionRow, Export

_ROWS = 50_000  # of a Parquet row group: what is in memory at a time


def as_jsonl(export: Export) -> Iterator[bytes]:
    """headstart's own: every field, the probabilities by action."""
    labels = export.labels
    for row in export:
        yield orjson.dumps({**row, "probabilities": dict(zip(labels, row["probabilities"], strict=True))}) + b"\n"


def as_dsjson(export: Export) -> Iterator[bytes]:
    """One decision a line, the chosen action first, costs for outcomes; decisions without an outcome are left out."""
    labels = export.labels
    index = {label: a for a, label in enumerate(labels)}
    for row in export:
        if row["outcome"] is None:
            continue
        chosen = index[str(row["action"])]
        order = [chosen, *(a for a in range(len(labels)) if a != chosen)]
        yield (
            orjson.dumps(
                {
                    "_label_cost": -row["outcome"] + 0.0,
                    "_label_probability": row["propensity"],
                    "_label_Action": chosen + 1,
                    "_labelIndex": chosen,
                    "Timestamp": datetime.fromtimestamp(row["time"], UTC).isoformat(),
                    "Version": "1",
                    "EventId": row["event_id"],
                    "a": [a + 1 for a in order],
                    "c": {
                        "User": row["context"],
                        "_multi": [{"_tag": label, "Action": {"name": label}} for label in labels],
                    },
                    "p": [row["probabilities"][a] for a in order],
                }
            )
            + b"\n"
        )


def write_parquet(export: Export, file: IO[bytes]) -> None:
    """The same rows as a Parquet file, a row group at a time.

    A context has every column that was ever declared, null where it was not asked for at the time.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns, labels, named = export.columns, export.labels, [(name, pa.float64()) for name in export.outcomes]
    fields = [(name, pa.float64() if kind == "number" else pa.string()) for name, kind in columns.items()]
    schema = pa.schema(
        [
            ("event_id", pa.string()),
            ("time", pa.float64()),
            ("action", pa.string()),
            ("propensity", pa.float64()),
            ("outcome", pa.float64()),
            ("version", pa.int64()),
            ("is_holdout", pa.bool_()),
            ("is_set_aside", pa.bool_()),
            ("unit", pa.string()),
            ("follows", pa.string()),
            *([("outcomes", pa.struct(named))] if named else []),
            *([("context", pa.struct(fields))] if fields else []),
            ("probabilities", pa.struct([(label, pa.float64()) for label in labels])),
        ]
    )
    with pq.ParquetWriter(file, schema) as writer:
        batch: list[dict[str, object]] = []
        for row in export:
            batch.append(_as_parquet(row, columns, labels))
            if len(batch) == _ROWS:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                batch = []
        if batch:
            writer.write_table(pa.Table.from_pylist(batch, schema))


def _as_parquet(row: DecisionRow, columns: Mapping[str, str], labels: Sequence[str]) -> dict[str, object]:
    context: dict[str, object] = {}
    for name, kind in columns.items():
        value = row["context"].get(name)
        context[name] = value if value is None or kind == "number" else str(value)
    return {
        **row,
        "action": str(row["action"]),
        "context": context,
        "probabilities": dict(zip(labels, row["probabilities"], strict=True)),
    }
