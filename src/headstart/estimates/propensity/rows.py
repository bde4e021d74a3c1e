"""The rows that a regression of actions on contexts learns from: gone through in blocks, as often as it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Bools, Floats, Integers
from headstart.errors import LogError
from headstart.logs.log import Log

BATCH_ROWS = 65_536  # of a table, held at a time
_PIECE = 8_192  # rows whose deviations are formed at a time
Item = TypeVar("Item", bound=np.generic)
_FLAT = 1e-13  # a spread this small beside the mean is rounding: the column is constant


class LabelledRows(NamedTuple):
    """Rows with what was chosen in them: an action each, or chances of all."""

    contexts: Floats  # (n, d)
    actions: Integers  # (n,)
    targets: Floats  # (n, K) chances as labels; (0, K): the actions are the labels
    weights: Floats  # (n,); (0,): every row counts once

    def labels(self, n_actions: int) -> Floats:
        """The chances that are to be learnt, (n, K)."""
        if len(self.targets):
            return self.targets
        labels = np.zeros((self.actions.size, n_actions))
        labels[np.arange(self.actions.size), self.actions] = 1.0
        return labels

    def shares(self, n_actions: int) -> Floats:
        """The weight of each action, (K,)."""
        weights = self.weights if self.weights.size else None
        if len(self.targets) == 0:
            return np.bincount(self.actions, weights, n_actions).astype(np.float64)
        sums: Floats = self.targets.sum(axis=0) if weights is None else weights @ self.targets
        return sums

    def every(self, first: int, stride: int) -> LabelledRows:
        """Rows first, first + stride, ... of the block, as views."""
        rows = slice(first, None, stride)
        return LabelledRows(self.contexts[rows], self.actions[rows], self.targets[rows], self.weights[rows])


Rows = Callable[[], Iterator[LabelledRows]]
"""Called once for each pass over the rows."""


@runtime_checkable
class HasBatches(Protocol):
    """A log of any size, gone through a batch at a time."""

    @property
    def n_actions(self) -> int: ...

    def batches(self, n_rows: int) -> Iterator[Log]: ...


def rows_of(log: Log | HasBatches, weights: Floats | None = None) -> Rows:
    """The rows of a Log, or of anything that gives batches of them."""
    if isinstance(log, Log):
        block = _as_block(log, np.empty(0) if weights is None else weights)
        return lambda: iter((block,))
    if not isinstance(log, HasBatches):
        raise LogError(f"log must be a Log or a table with batches(n_rows), got {type(log).__name__}")
    return lambda: (_as_block(batch, np.empty(0)) for batch in log.batches(BATCH_ROWS))


def _as_block(log: Log, weights: Floats) -> LabelledRows:
    soft = log.propensity_matrix
    targets = np.empty((0, log.n_actions)) if soft is None else soft
    return LabelledRows(log.contexts, log.actions, _read_only(targets), _read_only(weights))


def _read_only(values: NDArray[Item]) -> NDArray[Item]:
    """A view that cannot be written to: a log's own arrays are such, and one kind is one compiled kernel."""
    view = np.ascontiguousarray(values).view()
    view.setflags(write=False)
    return view


def without_targets(rows: Rows) -> Rows:
    """The same rows with the actions taken as labels, whatever propensities are known."""
    return lambda: (block._replace(targets=block.targets[:0]) for block in rows())


def keep_actions(rows: Rows, kept: Bools) -> Rows:
    """The same rows with these actions alone, numbered anew; the others never occur."""
    if kept.all():
        return rows
    place = np.cumsum(kept) - 1

    def narrowed() -> Iterator[LabelledRows]:
        for block in rows():
            targets = _read_only(block.targets[:, kept])
            actions = _read_only(place[block.actions])
            yield LabelledRows(block.contexts, actions, targets, block.weights)

    return narrowed


@dataclass(frozen=True)
class Survey:
    """What one pass over the rows tells."""

    n_rows: int
    weight: float  # of all rows
    shares: Floats  # (K,) weight of each action, summing to `weight`
    centre: Floats  # (d,) weighted means of the columns
    spread: Floats  # (d,) their standard deviations, 1 for a constant column
    sample: LabelledRows  # every so many rows, `n_rows` of them if there are few


def survey_rows(rows: Rows, n_actions: int, sample_rows: Callable[[int], int]) -> Survey:
    """One pass: shares, means, spreads, and an evenly spaced sample of m to 2 m rows, m = sample_rows(d)."""
    n_rows, weight, shares = 0, 0.0, np.zeros(n_actions)
    centre = squares = np.empty(0)
    kept: list[LabelledRows] = []
    stride, n_kept, most = 1, 0, 0
    for block in rows():
        n = block.actions.size
        if n == 0:
            continue
        if n_rows == 0:
            centre, squares = np.zeros((2, block.contexts.shape[1]))
            most = 2 * sample_rows(centre.size)
        while n_kept + -(-n // stride) > most:
            stride *= 2
            kept, n_kept = _thin(kept)
        kept.append(block.every(-n_rows % stride, stride))
        n_kept += kept[-1].actions.size
        for first in range(0, n, _PIECE):
            piece = slice(first, first + _PIECE)
            weight = _add_moments(block.contexts[piece], block.weights[piece], weight, centre, squares)
        shares += block.shares(n_actions)
        n_rows += n
    if n_rows == 0:
        raise LogError("there are no rows to learn propensities from")
    spread = np.sqrt(squares / weight)
    if not np.isfinite(spread).all():
        column = int(np.argmin(np.isfinite(spread)))
        raise LogError(f"context column {column} has values too large to be standardised: rescale it")
    spread[spread <= _FLAT * np.abs(centre)] = 1.0
    return Survey(n_rows, weight, shares, centre, spread, _join(kept))


def _thin(kept: list[LabelledRows]) -> tuple[list[LabelledRows], int]:
    """Every other row of what was kept."""
    if not kept:
        return kept, 0
    half = _join(kept).every(0, 2)
    return [half], half.actions.size


def _join(kept: list[LabelledRows]) -> LabelledRows:
    if len(kept) == 1:
        return kept[0]
    contexts, actions, targets, weights = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return LabelledRows(contexts, actions, targets, weights)


def _add_moments(contexts: Floats, weights: Floats, before: float, centre: Floats, squares: Floats) -> float:
    """Merge these rows' weight, mean and squared deviations into the running ones (Chan et al. 1979)."""
    if weights.size:
        added = float(weights.sum())
        if added == 0.0:
            return before
        mean = np.einsum("i,ij->j", weights, contexts) / added
        deviations = contexts - mean
        inner = np.einsum("i,ij,ij->j", weights, deviations, deviations)
    else:
        added = float(len(contexts))
        mean = contexts.mean(axis=0)
        deviations = contexts - mean
        inner = np.einsum("ij,ij->j", deviations, deviations)
    after = before + added
    shift = mean - centre
    squares += inner + shift * shift * (before * added / after)
    centre += shift * (added / after)
    return after
