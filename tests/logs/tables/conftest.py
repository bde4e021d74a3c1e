"""Spark as tables meet it: through Ibis."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark(spark_session: Any) -> Any:
    """An Ibis connection to the tests' Spark."""
    import ibis

    return ibis.pyspark.connect(spark_session)
