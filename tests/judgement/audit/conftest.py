"""The audit's tests on Spark use the same Spark as those of tables."""

from tests.logs.tables.conftest import spark

__all__ = ["spark"]
