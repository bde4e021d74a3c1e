"""The columns of a log in memory, checked: what is wrong is said with its row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Floats, Integers
from headstart.checks import check_n_actions
from headstart.errors import LogError
from headstart.logs.encoding import is_missing

_SUM_TOLERANCE = 1e-6  # of a propensity row around 1: what rounding to six digits leaves
Kind = TypeVar("Kind", bound=np.generic)


@runtime_checkable
class _HasKind(Protocol):
    """An array or a data frame's column, which knows its kind."""

    @property
    def dtype(self) -> object: ...


def read_only(values: NDArray[Kind]) -> NDArray[Kind]:
    """The values in one piece of memory that nobody may write to."""
    values = np.ascontiguousarray(values)
    values.setflags(write=False)
    return values


def check_column_of_numbers(name: str, values: ArrayLike) -> Floats:
    """One finite number per row, (n,)."""
    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        column = None
    if column is None:
        for row, value in enumerate(np.asarray(values, dtype=object).reshape(-1).tolist()):
            try:
                float(value)
            except (TypeError, ValueError):
                raise LogError(f"{name} in row {row} must be a number, got {value!r}") from None
        raise LogError(f"{name}s must be one number per row, got {type(values).__name__}")
    if column.ndim != 1:
        raise LogError(f"{name}s must be one number per row, got shape {column.shape}")
    finite = np.isfinite(column)
    if not finite.all():
        row = int(np.argmin(finite))
        raise LogError(f"{name} in row {row} must be a finite number, got {column[row]}")
    return read_only(column)


def index_units(units: Iterable[Hashable], n_rows: int) -> Integers:
    """The unit of each row as a whole number, (n,): equal labels have equal numbers."""
    labels = _as_labels(units)
    if labels.shape != (n_rows,):
        raise LogError(f"units must be one label per row, got shape {labels.shape} for {n_rows} rows")
    if labels.dtype.kind in "iuUS":
        return read_only(np.unique(labels, return_inverse=True)[1].astype(np.int64))
    place: dict[Hashable, int] = {}
    for row, label in enumerate(labels.tolist()):
        if is_missing(label):
            raise LogError(f"unit in row {row} is missing, got {label!r}")
    return read_only(np.array([place.setdefault(label, len(place)) for label in labels.tolist()], dtype=np.int64))


def check_times(times: ArrayLike, n_rows: int) -> Floats:
    """One time per row as a number, (n,): numbers stay what they are, dates and times become seconds since 1970."""
    column = np.asarray(times)
    if column.dtype.kind == "O":
        column = np.array([_as_seconds(each) for each in column.tolist()], dtype=object)
    elif column.dtype.kind == "M":
        column = np.where(np.isnat(column), np.nan, column.astype("datetime64[us]").astype(np.float64) / 1e6)
    checked = check_column_of_numbers("time", column)
    if checked.size != n_rows:
        raise LogError(f"times and outcomes must have the same length, got {checked.size} and {n_rows}")
    return checked


def _as_seconds(time: object) -> object:
    """Seconds since 1970 of a date or a time, which is of UTC unless it says otherwise; anything else as it is."""
    if isinstance(time, date) and not isinstance(time, datetime):
        time = datetime.combine(time, datetime.min.time())
    if not isinstance(time, datetime) or is_missing(time):
        return time
    return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()


def index_actions(
    actions: Iterable[Hashable], names: Sequence[Hashable] | None, n_actions: int | None, n_rows: int
) -> tuple[Integers, tuple[Hashable, ...]]:
    """Labels as indices, (n,), and the labels in the order of their indices."""
    labels = _as_labels(actions)
    if labels.ndim != 1:
        raise LogError(f"actions must be one label per row, got shape {labels.shape}")
    if labels.size != n_rows:
        raise LogError(f"actions and outcomes must have the same length, got {labels.size} and {n_rows}")
    if labels.dtype.kind in "fO":
        for row, label in enumerate(labels.tolist()):
            if is_missing(label):
                raise LogError(f"action in row {row} is missing, got {label!r}")
            if not isinstance(label, Hashable):
                raise LogError(f"action in row {row} must be hashable, got {label!r}")
    if names is not None:
        known = tuple(names)
        if n_actions is not None and n_actions != len(known):
            raise LogError(f"n_actions is {n_actions} but action_names has {len(known)} names")
        if len(set(known)) != len(known):
            raise LogError(f"action_names must differ, got {listed(known)}")
        return _look_up(labels, known), known
    if n_actions is not None:
        n_actions = check_n_actions(n_actions)
        if labels.dtype.kind not in "iu":
            raise LogError("n_actions needs actions that are indices 0..n_actions-1; for labels give action_names")
        indices = labels.astype(np.int64)
        wrong = (indices < 0) | (indices >= n_actions)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise LogError(f"action in row {row} must be an index 0..{n_actions - 1}, got {labels[row]}")
        return read_only(indices), tuple(range(n_actions))
    if labels.dtype.kind in "iubUS":
        distinct, indices = np.unique(labels, return_inverse=True)
        return read_only(indices.astype(np.int64)), tuple(distinct.tolist())
    values = labels.tolist()
    try:
        known = tuple(sorted(set(values)))
    except TypeError:  # labels that do not sort: the order of their first row
        known = tuple(dict.fromkeys(values))
    return _look_up(labels, known), known


def _as_labels(actions: Iterable[Hashable]) -> NDArray[np.generic]:
    """Labels as they are: numpy would make "1" of 1 in a list with text, and columns of tuples."""
    if isinstance(actions, _HasKind):
        return np.asarray(actions)
    items = list(actions)
    if len({type(item) for item in items}) == 1 and isinstance(items[0], str | int | float):
        return np.asarray(items)
    labels = np.empty(len(items), dtype=object)
    for row, item in enumerate(items):
        labels[row] = item
    return labels


def _look_up(labels: NDArray[np.generic], known: tuple[Hashable, ...]) -> Integers:
    index = {name: k for k, name in enumerate(known)}
    found = np.empty(labels.size, dtype=np.int64)
    for row, label in enumerate(labels.tolist()):
        place = index.get(label)
        if place is None:
            raise LogError(f"action in row {row} is unknown: {label!r}; known: {listed(known)}")
        found[row] = place
    return read_only(found)


def check_chances(
    propensities: ArrayLike | None, actions: Integers, n_actions: int
) -> tuple[Floats | None, Floats | None]:
    """The chance of the action taken, (n,), and of every action, (n, K), where they are known."""
    if propensities is None:
        return None, None
    try:
        given = np.array(propensities, dtype=np.float64)
    except (TypeError, ValueError):
        raise LogError("propensities must be numbers") from None
    if given.shape == (actions.size, n_actions) and given.ndim == 2:
        wrong = ~((given >= 0.0) & (given <= 1.0 + _SUM_TOLERANCE))
        if wrong.any():
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            raise LogError(f"propensity in row {row}, action {column} must be in [0, 1], got {given[row, column]}")
        sums = given.sum(axis=1)
        off = np.abs(sums - 1.0) > _SUM_TOLERANCE
        if off.any():
            row = int(np.argmax(off))
            raise LogError(f"propensities in row {row} must sum to 1, got {sums[row]:.9g}")
        return _check_taken(given[np.arange(actions.size), actions]), read_only(given)
    if given.shape != actions.shape:
        raise LogError(
            f"propensities must have shape ({actions.size},) or ({actions.size}, {n_actions}), got {given.shape}"
        )
    return _check_taken(given), None


def _check_taken(taken: Floats) -> Floats:
    wrong = ~((taken > 0.0) & (taken <= 1.0 + _SUM_TOLERANCE))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise LogError(f"propensity in row {row} must be in (0, 1], got {taken[row]}")
    return read_only(taken)


def listed(names: Sequence[Hashable]) -> str:
    """The first few, for a message."""
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
