"""The same decisions on a Spark cluster: the rule goes to the executors, the users stay where they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from headstart.errors import ContextError
from headstart.logs.tables.ids import hash_ids, key_of
from headstart.logs.tables.users import UserTable
from headstart.parts.tables.rule import ACTION, DecisionRule
from headstart.parts.tables.survey import UserSurvey, smallest_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_HASH = "headstart hash"


def is_spark(users: object) -> TypeGuard[DataFrame]:
    """Whether these users are a frame of Spark."""
    return type(users).__module__.startswith("pyspark.sql.") and type(users).__name__ == "DataFrame"


def open_spark_users(frame: DataFrame) -> UserTable:
    """The frame's columns; its rows are read on the executors alone."""
    from pyspark.sql.pandas.types import to_arrow_schema

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        raise ContextError("users on Spark are decided for on the executors: take decisions.frame")

    return UserTable("the Spark frame", to_arrow_schema(frame.schema), None, read)


def survey_spark(frame: DataFrame, columns: Sequence[str], id: str, salt: str) -> UserSurvey:
    """Count the users, look for ids that come twice, and take the same sample as every other engine."""
    from pyspark.sql import functions
    from pyspark.sql.types import LongType, StructField, StructType

    chosen, place = frame.select(*columns), "the Spark frame"
    key = key_of("sample", salt)

    def take_smallest(portions: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        seen = ((rows, hash_ids(rows.column(id), key, place, 0)) for rows in portions if rows.num_rows)
        kept = smallest_of(seen)
        if kept is not None:
            table, hashes = kept
            told = pa.array(hashes.view(np.int64))  # Spark has no unsigned numbers
            yield from table.append_column(_HASH, told).combine_chunks().to_batches()

    n_users = chosen.count()
    if not n_users:
        raise ContextError(f"{place}: there are columns but no users")
    repeated = (
        chosen.groupBy(functions.col(id).cast("string").alias(id)).count().filter("count > 1").limit(1).collect()
    )
    if repeated:
        raise ContextError(f"{place}: the id {repeated[0][id]!r} comes twice: one user gets one action")
    schema = StructType([*chosen.schema.fields, StructField(_HASH, LongType())])
    found = chosen.mapInArrow(take_smallest, schema).toArrow()
    hashes = found.column(_HASH).to_numpy().view(np.uint64)
    (rows,) = found.drop_columns([_HASH]).combine_chunks().to_batches()
    kept = smallest_of([(rows, hashes)])
    assert kept is not None
    return UserSurvey(n_users, kept[0])


def decide_on_spark(frame: DataFrame, rule: DecisionRule, users: UserTable) -> DataFrame:
    """The decisions as a frame: computed on the executors, when somebody asks for them."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = rule.asked.columns(rule.names)
    schema = rule.schema(users.schema)
    plain = pa.schema([(f.name, f.type.value_type if f.name == ACTION else f.type) for f in schema])

    def work(portions: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in portions:
            if rows.num_rows:
                decided = rule.decide(rows).rows
                arrays = [decided.column(f.name).cast(f.type) for f in plain]
                yield pa.RecordBatch.from_arrays(arrays, schema=plain)

    return frame.select(*columns).mapInArrow(work, from_arrow_schema(plain))
