"""The same decisions on a Spark cluster: the rule goes to the executors, the users stay where they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeGuard

from headstart.arrays import Words
from headstart.errors import ContextError
from headstart.logs.tables.ids import hash_ids, key_of
from headstart.logs.tables.users import UserTable
from headstart.parts.tables.rule import ACTION, DecisionRule
from headstart.parts.tables.survey import UserSurvey, smallest_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_PLACE = "the Spark frame"


def is_spark(users: object) -> TypeGuard[DataFrame]:
    """Whether these users are a frame of Spark."""
    return type(users).__module__.startswith("pyspark.sql.") and type(users).__name__ == "DataFrame"


def open_spark_users(frame: DataFrame) -> UserTable:
    """The frame's columns; its rows are read on the executors alone."""
    from pyspark.sql.pandas.types import to_arrow_schema

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        raise ContextError("users on Spark are decided for on the executors: take decisions.frame")

    return UserTable(_PLACE, to_arrow_schema(frame.schema), None, read)


def survey_spark(frame: DataFrame, columns: Sequence[str], id: str, salt: str, *, has_sample: bool) -> UserSurvey:
    """Count the users, look for ids that come twice, and take the sample of every other engine, if one is asked for.

    Each is a job over the ids alone; of the other columns only the sample's leave the executors.
    """
    from pyspark.sql import functions

    counts = frame.agg(functions.count("*"), functions.count_distinct(id)).first()
    n_users, n_ids = (int(n) for n in counts) if counts is not None else (0, 0)
    if not n_users:
        raise ContextError(f"{_PLACE}: there are columns but no users")
    if n_ids < n_users:  # or ids are missing, which is said where they are hashed
        repeated = frame.filter(frame[id].isNotNull()).groupBy(id).count().filter("count > 1").limit(1).collect()
        if repeated:
            raise ContextError(f"{_PLACE}: the id {str(repeated[0][id])!r} comes twice: one user gets one action")
    return UserSurvey(
        n_users, _take_sample(frame.select(*columns), id, key_of("sample", salt)) if has_sample else None
    )


def _take_sample(chosen: DataFrame, id: str, key: Words) -> pa.Table:
    """The rows of the smallest hashes of ids: found by the ids of each part, and fetched by those that are left."""
    ids = chosen.select(id)

    def take_smallest(portions: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kept = smallest_of((rows, hash_ids(rows.column(0), key, _PLACE, 0)) for rows in portions if rows.num_rows)
        if kept is not None:
            yield from kept[0].to_batches()

    def in_order(rows: pa.Table) -> pa.Table:
        (batch,) = rows.combine_chunks().to_batches()
        kept = smallest_of([(batch, hash_ids(batch.column(id), key, _PLACE, 0))])
        assert kept is not None, "there are users"
        return kept[0]

    smallest = in_order(ids.mapInArrow(take_smallest, ids.schema).toArrow())
    return in_order(chosen.filter(chosen[id].isin(smallest.column(id).to_pylist())).toArrow())


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
