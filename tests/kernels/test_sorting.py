"""Sorting within kernels agrees with numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.kernels import compiled
from headstart.kernels.sorting import sort_pairs


@pytest.mark.parametrize("sort", [sort_pairs, compiled(sort_pairs)], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("n", [0, 1, 2, 9, 10, 100, 3_000])
def test_keys_are_in_order_and_each_keeps_its_item(sort, n):
    keys = np.random.default_rng(n).integers(0, n // 2 + 1, n).astype(float)  # some are equal
    items, before = np.arange(n), keys.copy()
    sort(keys, items, 0, n)
    np.testing.assert_array_equal(keys, np.sort(before))
    np.testing.assert_array_equal(before[items], keys)
    np.testing.assert_array_equal(np.sort(items), np.arange(n))


def test_only_the_stretch_is_sorted_and_a_key_may_be_its_own_item():
    keys = np.array([5.0, 4.0, 3.0, -np.inf, 1.0, 0.0])
    compiled(sort_pairs)(keys, keys, 1, 5)
    assert keys.tolist() == [5.0, -np.inf, 1.0, 3.0, 4.0, 0.0]
