"""Building what matching looks up in: the table from points to keys, and the strata of rows behind the keys."""

from __future__ import annotations

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels import compiled
from headstart.kernels.strata import CountedStrata, Lookup, Strata, fill_lookup, make_counted_strata, make_strata
from headstart.logs.log import Log
from headstart.logs.tables.categories import OutcomeCounts
from headstart.randomness import RNG, as_generator, as_words


def make_lookup(contexts: Floats, tags: Integers) -> tuple[Lookup, Integers]:
    """The table of distinct (context, tag) pairs, and each row's key. O(n d) time and memory."""
    n = tags.size
    slots = np.full(1 << (2 * n - 1).bit_length(), -1, dtype=np.int64)
    lookup = Lookup(np.empty((n, contexts.shape[1])), np.empty(n, dtype=np.int64), slots, np.zeros(1))
    keys = np.empty(n, dtype=np.int64)
    n_keys = compiled(fill_lookup, Lookup)(lookup, contexts, tags, keys)
    return lookup._replace(keys=lookup.keys[:n_keys].copy(), tags=lookup.tags[:n_keys].copy()), keys


def look_up_rows(points: Floats, log: Log, rng: RNG) -> tuple[Lookup, Strata]:
    """A stratum for each different point, (n, .), and action of a log's rows."""
    lookup, keys = make_lookup(points, log.actions)
    return lookup, make_strata(keys, log.actions, log.outcomes, lookup.tags.size, log.n_actions, as_generator(rng))


def look_up_counts(found: OutcomeCounts, n_actions: int, rng: RNG) -> tuple[Lookup, CountedStrata]:
    """A stratum for each different point and action of rows that a table has counted."""
    lookup, keys = make_lookup(found.strata, found.actions)
    return lookup, make_counted_strata(
        keys, found.actions, found.outcomes, found.counts, lookup.tags.size, n_actions, as_words(rng)
    )
