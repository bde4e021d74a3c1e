"""A small tree that loses little: grown leaf by leaf, each time where most of what is lost can be won back.

loss[i, a] is what user i loses under action a against the policy's own action. A leaf gives its users the action
that loses least in all; a split is worth by how much that falls. It is the criterion of a policy tree (Athey and
Wager 2021), found greedily, best leaf first. Categories are split into two lists, found by ordering the levels by how
much they gain from each action in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.judgement.rules.columns import Categories, Numbers, Question, answer
from headstart.logs.encoding import Encoding

_LEAST_SHARE = 0.01  # of users that a leaf must have
_LEAST_GAIN = 1e-9  # of all that is at stake


@dataclass(frozen=True)
class Leaf:
    """Users who all get one action."""

    action: int
    share: float  # of the log's users


@dataclass(frozen=True)
class Split:
    """Users who are told apart by a question."""

    question: Question
    yes: Node
    no: Node


Node = Leaf | Split


def leaves(node: Node) -> Iterator[Leaf]:
    """All leaves, from the first yes to the last no."""
    if isinstance(node, Leaf):
        yield node
    else:
        yield from leaves(node.yes)
        yield from leaves(node.no)


def decide_rows(node: Node, contexts: Floats, encoding: Encoding) -> Integers:
    """The tree's action for every row of encoded contexts, (n,)."""
    if isinstance(node, Leaf):
        return np.full(len(contexts), node.action, dtype=np.int64)
    says_yes = answer(node.question, contexts, encoding)
    chosen = np.empty(len(contexts), dtype=np.int64)
    chosen[says_yes] = decide_rows(node.yes, contexts[says_yes], encoding)
    chosen[~says_yes] = decide_rows(node.no, contexts[~says_yes], encoding)
    return chosen


class _Cut(NamedTuple):
    """The best way to part a leaf's users."""

    gain: float
    question: Question
    is_yes: Bools  # of the leaf's rows


@dataclass(eq=False)
class _Growing:
    """A leaf that may be split."""

    rows: Integers
    cut: _Cut | None
    children: tuple[_Growing, _Growing] | None = None


def grow_rules(columns: Sequence[Numbers | Categories], losses: Floats, max_leaves: int) -> Node:
    """The tree of at most so many leaves for users with these columns and losses, (n, K)."""
    n = len(losses)
    least, stake = max(int(np.ceil(_LEAST_SHARE * n)), 1), float(np.abs(losses).sum())

    def plant(rows: Integers) -> _Growing:
        cuts = [_find_cut(column, rows, losses, least) for column in columns]
        found = [cut for cut in cuts if cut is not None and cut.gain > _LEAST_GAIN * stake]
        return _Growing(rows, max(found, key=lambda cut: cut.gain, default=None))

    root = plant(np.arange(n))
    growing = [root]
    for _ in range(max_leaves - 1):
        best = max((leaf for leaf in growing if leaf.cut is not None), key=_gain_of, default=None)
        if best is None or best.cut is None:
            break
        best.children = plant(best.rows[best.cut.is_yes]), plant(best.rows[~best.cut.is_yes])
        growing.remove(best)
        growing.extend(best.children)
    return _harvest(root, losses)


def _gain_of(leaf: _Growing) -> float:
    return 0.0 if leaf.cut is None else leaf.cut.gain


def _harvest(grown: _Growing, losses: Floats) -> Node:
    """The finished tree; a split whose two sides came to the same action is one leaf."""
    if grown.children is not None and grown.cut is not None:
        yes, no = (_harvest(child, losses) for child in grown.children)
        if not (isinstance(yes, Leaf) and isinstance(no, Leaf) and yes.action == no.action):
            return Split(grown.cut.question, yes, no)
    return Leaf(int(np.argmin(losses[grown.rows].sum(axis=0))), grown.rows.size / len(losses))


def _find_cut(column: Numbers | Categories, rows: Integers, losses: Floats, least: int) -> _Cut | None:
    if isinstance(column, Numbers):
        return _cut_numbers(column, column.values[rows], losses[rows], least)
    return _cut_categories(column, column.places[rows], losses[rows], least)


def _cut_numbers(column: Numbers, values: Floats, losses: Floats, least: int) -> _Cut | None:
    order = np.argsort(values, kind="stable")
    ranked, running = values[order], np.cumsum(losses[order], axis=0)
    gains = _gains(running[:-1], running[-1])
    sizes = np.arange(1, values.size)
    allowed = (ranked[1:] > ranked[:-1]) & (sizes >= least) & (values.size - sizes >= least)
    if not allowed.any():
        return None
    at = int(np.argmax(np.where(allowed, gains, -np.inf)))
    question = column.ask(float(ranked[at]), float(ranked[at + 1]))
    is_yes = values > ranked[at] if column.is_mark else values <= ranked[at]
    return _Cut(float(gains[at]), question, np.asarray(is_yes))


def _cut_categories(column: Categories, places: Integers, losses: Floats, least: int) -> _Cut | None:
    n, k = len(column.levels), losses.shape[1]
    counts = np.bincount(places, minlength=n + 1)
    sums: Floats = np.stack([np.bincount(places, losses[:, a], n + 1) for a in range(k)], axis=1).astype(np.float64)
    seen = np.flatnonzero(counts)
    if seen.size < 2:
        return None
    best: tuple[float, Integers] | None = None
    for a in range(k):
        others = np.delete(sums, a, axis=1).min(axis=1) if k > 1 else np.zeros(n + 1)
        order = seen[np.argsort((sums[seen, a] - others[seen]) / counts[seen], kind="stable")]
        gains = _gains(np.cumsum(sums[order], axis=0)[:-1], sums.sum(axis=0))
        sizes = np.cumsum(counts[order])[:-1]
        gains = np.where((sizes >= least) & (places.size - sizes >= least), gains, -np.inf)
        at = int(np.argmax(gains))
        if np.isfinite(gains[at]) and (best is None or gains[at] > best[0]):
            best = float(gains[at]), order[: at + 1]
    if best is None:
        return None
    chosen = best[1]
    if n in chosen or (chosen.size > seen.size - chosen.size and n not in seen):  # the shorter list; never "none"
        chosen = np.setdiff1d(seen, chosen)
    return _Cut(best[0], column.ask(chosen), np.isin(places, chosen))


def _gains(running: Floats, whole: Floats) -> Floats:
    """What each way of parting wins back, of the sums of one side."""
    won: Floats = whole.min() - running.min(axis=1) - (whole - running).min(axis=1)
    return won
