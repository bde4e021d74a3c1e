"""Settings that all tests share."""

import os

import pytest
from hypothesis import settings

# The first example of a test may compile for seconds; and a test that fails must fail again tomorrow.
settings.register_profile("headstart", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("headstart")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With NUMBA_DISABLE_JIT=1 kernels run interpreted, where words that wrap around warn of it."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"))
