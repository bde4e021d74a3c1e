"""The decision log in the formats that other programs read: JSON lines, dsjson (Vowpal Wabbit), Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import IO

import orjson

from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.export import DecisionRow

_ROWS = 50_000  # of a Parquet row group: what is in memory at a time


def as_jsonl(rows: Iterable[DecisionRow], labels: Sequence[str]) -> Iterator[bytes]:
    """headstart's own: every field, the probabilities by action."""
    for row in rows:
        yield orjson.dumps({**row, "probabilities": dict(zip(labels, row["probabilities"], strict=True))}) + b"\n"


def as_dsjson(rows: Iterable[DecisionRow], labels: Sequence[str]) -> Iterator[bytes]:
    """One decision a line, the chosen action first, costs for outcomes; decisions without an outcome are left out."""
    index = {label: a for a, label in enumerate(labels)}
    for row in rows:
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
                    "c": {"User": row["context"], "_multi": [{"Action": {"name": label}} for label in labels]},
                    "p": [row["probabilities"][a] for a in order],
                }
            )
            + b"\n"
        )


def write_parquet(rows: Iterable[DecisionRow], config: ExperimentConfig, file: IO[bytes]) -> None:
    """The same rows as a Parquet file, a row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [(name, pa.float64() if kind == "number" else pa.string()) for name, kind in config.contexts.items()]
    labels = [str(label) for label in config.actions]
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
            *([("context", pa.struct(columns))] if columns else []),
            ("probabilities", pa.struct([(label, pa.float64()) for label in labels])),
        ]
    )
    with pq.ParquetWriter(file, schema) as writer:
        batch: list[dict[str, object]] = []
        for row in rows:
            batch.append(_as_parquet(row, config, labels))
            if len(batch) == _ROWS:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                batch = []
        if batch:
            writer.write_table(pa.Table.from_pylist(batch, schema))


def _as_parquet(row: DecisionRow, config: ExperimentConfig, labels: Sequence[str]) -> dict[str, object]:
    context = {
        name: row["context"][name] if kind == "number" else str(row["context"][name])
        for name, kind in config.contexts.items()
    }
    return {
        **row,
        "action": str(row["action"]),
        "context": context,
        "probabilities": dict(zip(labels, row["probabilities"], strict=True)),
    }
