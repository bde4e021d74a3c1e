"""The conformance suite: what the contracts promise, as checks that any oracle or evaluator can be put through."""

from headstart.testing.conformance import check_evaluator, check_oracle

__all__ = ["check_evaluator", "check_oracle"]
