"""PySpark frames: named in their session and spoken to through Ibis, so the cluster does the work."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from headstart.logs.tables.columns import check_names
from headstart.logs.tables.connection import DatabaseLimits
from headstart.logs.tables.sources.opened import Opened, SourceKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def open_spark(frame: DataFrame, settings: DatabaseLimits) -> Opened:
    """The frame as an Ibis table of its own session."""
    import ibis

    check_names(frame.columns, "the Spark frame")
    name = f"headstart_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)
    return Opened(ibis.pyspark.connect(frame.sparkSession).table(name), "Spark frame", "the Spark frame")


def _is_spark(thing: object) -> bool:
    return type(thing).__module__.startswith("pyspark.sql.") and type(thing).__name__ == "DataFrame"


SOURCES = (SourceKind("spark", _is_spark, open_spark),)
