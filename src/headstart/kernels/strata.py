"""Draws without replacement from the rows of a stratum: what the matching evaluators share.

`Strata` holds rows: sorted by stratum and shuffled within it once, so that the next unused row of a stratum is a
random one. A draw costs O(1), all draws together O(rows), and no row is drawn twice. `CountedStrata` holds how many
rows have each outcome, for logs too large to hold: a draw costs O(log of the stratum's different outcomes).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers, Scratch, Words
from headstart.kernels.compile import kernel
from headstart.kernels.dispatch import State, implements, verb
from headstart.kernels.random import draw_below

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


class Strata(NamedTuple):
    outcomes: Floats  # (n,) sorted by stratum, shuffled within
    starts: Integers  # (S,) where a stratum's rows begin
    remaining: Integers  # (S,) rows not yet drawn: the first ones
    left: Integers  # (K,) rows not yet drawn per action
    is_stopped: Bools  # (K,) S_a in the paper


def make_strata(
    strata: Integers,
    actions: Integers,
    outcomes: Floats,
    n_strata: int,
    n_actions: int,
    rng: np.random.Generator,
) -> Strata:
    """Strata of rows whose stratum is given; O(n) but for one sort."""
    order = rng.permutation(outcomes.size)
    order = order[np.argsort(strata[order], kind="stable")]
    sizes = np.bincount(strata, minlength=n_strata)
    starts = np.zeros(n_strata, dtype=np.int64)
    np.cumsum(sizes[:-1], out=starts[1:])
    left = np.bincount(actions, minlength=n_actions)
    return Strata(
        np.ascontiguousarray(outcomes[order]), starts, sizes.astype(np.int64), left.astype(np.int64), left == 0
    )


class CountedStrata(NamedTuple):
    outcomes: Floats  # (g,) the different outcomes of each stratum, sorted by stratum
    tree: Integers  # (g,) rows not yet drawn of each, as a Fenwick tree per stratum
    starts: Integers  # (S,) where a stratum's outcomes begin
    sizes: Integers  # (S,) how many different outcomes it has
    remaining: Integers  # (S,) rows not yet drawn
    left: Integers  # (K,) rows not yet drawn per action
    is_stopped: Bools  # (K,) S_a in the paper
    rng: Words  # (4,)


def make_counted_strata(
    strata: Integers,
    actions: Integers,
    outcomes: Floats,
    counts: Integers,
    n_strata: int,
    n_actions: int,
    words: Words,
) -> CountedStrata:
    """Strata of `counts` rows each of the stratum, action and outcome given. Their order does not matter."""
    order = np.lexsort((outcomes, strata))
    counts, sizes = counts[order], np.bincount(strata, minlength=n_strata)
    starts = np.zeros(n_strata, dtype=np.int64)
    np.cumsum(sizes[:-1], out=starts[1:])
    before = np.concatenate([[0], np.cumsum(counts)])  # rows before each place
    place = np.arange(1, counts.size + 1)
    rank = place - starts[strata[order]]  # 1.. within the stratum
    left = np.zeros(n_actions, dtype=np.int64)
    np.add.at(left, actions[order], counts)
    remaining = np.zeros(n_strata, dtype=np.int64)
    np.add.at(remaining, strata[order], counts)
    return CountedStrata(
        np.ascontiguousarray(outcomes[order]),
        # Entry i of a Fenwick tree (1994) is the sum of the (i & -i) entries that end with i.
        before[place] - before[place - (rank & -rank)],
        starts,
        sizes.astype(np.int64),
        remaining,
        left,
        left == 0,
        words,
    )


@verb()
def take_outcome(strata: State, stratum: int) -> float:
    """The outcome of a random unused row of a stratum that has one."""
    raise NotImplementedError


@implements(take_outcome, Strata)
def _take_row(strata: Strata, stratum: int) -> float:
    return float(strata.outcomes[strata.starts[stratum] + strata.remaining[stratum] - 1])


@implements(take_outcome, CountedStrata)
def _take_counted(strata: CountedStrata, stratum: int) -> float:
    start, size = strata.starts[stratum], strata.sizes[stratum]
    rank = draw_below(strata.rng, strata.remaining[stratum])
    step = 1
    while 2 * step <= size:
        step *= 2
    place = 0  # outcomes whose rows all come before the one that was drawn
    while step > 0:
        if place + step <= size and strata.tree[start + place + step - 1] <= rank:
            place += step
            rank -= strata.tree[start + place - 1]
        step //= 2
    entry = place + 1
    while entry <= size:
        strata.tree[start + entry - 1] -= 1
        entry += entry & -entry
    return float(strata.outcomes[start + place])


@kernel
def draw_row(strata: Strata | CountedStrata, stratum: int, action: int) -> float:
    """The outcome of a random unused row; NaN, and the action stopped for good, if there is none."""
    if strata.is_stopped[action]:
        return math.nan
    if stratum < 0 or strata.remaining[stratum] == 0:
        # Going on with the strata that still have data would over-sample them: stop the action.
        strata.is_stopped[action] = True
        return math.nan
    outcome = take_outcome(strata, stratum)
    strata.remaining[stratum] -= 1
    strata.left[action] -= 1
    if strata.left[action] == 0:
        strata.is_stopped[action] = True
    return outcome


@kernel
def are_stopped(strata: Strata | CountedStrata) -> bool:
    """Whether every action is stopped."""
    for a in range(strata.is_stopped.size):
        if not strata.is_stopped[a]:
            return False
    return True


class Lookup(NamedTuple):
    """An open-addressing table from (context, tag) to a key 0..n-1. -0.0 equals 0.0; nothing else is merged."""

    keys: Floats  # (m, d) distinct contexts
    tags: Integers  # (m,)
    slots: Integers  # (power of two,) -1 where empty
    scratch: Scratch  # (1,)


@kernel
def _hash(lookup: Lookup, context: Floats, tag: int) -> int:
    h = np.uint64(tag) * _MULTIPLIER
    bits = lookup.scratch.view(np.uint64)
    for j in range(context.size):
        lookup.scratch[0] = context[j] + 0.0
        h = (h ^ bits[0]) * _MULTIPLIER
        h ^= h >> _SHIFT
    slot: int = np.int64(h & np.uint64(lookup.slots.size - 1))  # type: ignore[assignment]
    return slot


@kernel
def _is_same(keys: Floats, key: int, context: Floats) -> bool:
    for j in range(context.size):
        if keys[key, j] != context[j]:
            return False
    return True


@kernel
def find_key(lookup: Lookup, context: Floats, tag: int) -> int:
    """The key of this context and tag, or -1."""
    slot = _hash(lookup, context, tag)
    while lookup.slots[slot] >= 0:
        key = lookup.slots[slot]
        if lookup.tags[key] == tag and _is_same(lookup.keys, key, context):
            return key
        slot = (slot + 1) & (lookup.slots.size - 1)
    return -1


@kernel
def fill_lookup(lookup: Lookup, contexts: Floats, tags: Integers, found: Integers) -> int:
    """Enter every row's (context, tag); `found` gets each row's key. Returns the number of keys."""
    n_keys = 0
    for i in range(tags.size):
        slot = _hash(lookup, contexts[i], tags[i])
        key = -1
        while lookup.slots[slot] >= 0:
            held = lookup.slots[slot]
            if lookup.tags[held] == tags[i] and _is_same(lookup.keys, held, contexts[i]):
                key = held
                break
            slot = (slot + 1) & (lookup.slots.size - 1)
        if key < 0:
            key = n_keys
            lookup.slots[slot] = key
            lookup.keys[key, :] = contexts[i]
            lookup.tags[key] = tags[i]
            n_keys += 1
        found[i] = key
    return n_keys
