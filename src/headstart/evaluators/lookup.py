"""Building the table from contexts to keys that matching looks up in."""

from __future__ import annotations

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels import compiled
from headstart.kernels.strata import Lookup, fill_lookup


def make_lookup(contexts: Floats, tags: Integers) -> tuple[Lookup, Integers]:
    """The table of distinct (context, tag) pairs, and each row's key. O(n d) time and memory."""
    n = tags.size
    slots = np.full(1 << (2 * n - 1).bit_length(), -1, dtype=np.int64)
    lookup = Lookup(np.empty((n, contexts.shape[1])), np.empty(n, dtype=np.int64), slots, np.zeros(1))
    keys = np.empty(n, dtype=np.int64)
    n_keys = compiled(fill_lookup, Lookup)(lookup, contexts, tags, keys)
    return lookup._replace(keys=lookup.keys[:n_keys].copy(), tags=lookup.tags[:n_keys].copy()), keys
