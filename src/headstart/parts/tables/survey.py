"""A first look at a table of users: how many they are, that no id comes twice, and a sample that no order moves.

The sample is the users with the smallest hashes of their ids (by a key of its own), so every engine takes the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headstart.arrays import Words
from headstart.errors import ContextError
from headstart.logs.tables.ids import SeenIds, hash_ids, key_of
from headstart.logs.tables.users import UserTable

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLED = 1024


class UserSurvey(NamedTuple):
    """What one pass over the users showed."""

    n_users: int
    sample: pa.Table | None  # SAMPLED users at most, by the hash of their id


def survey(users: UserTable, columns: Sequence[str], id: str, salt: str) -> UserSurvey:
    """Count the users, look for ids that come twice, and take the sample, with these columns."""
    key = key_of("sample", salt)
    ids = watch_ids(users, id, key)
    try:
        smallest = _Smallest()
        for rows in users.read(columns):
            hashes = hash_ids(rows.column(id), key, users.place, ids.n)
            ids.add(rows.column(id), hashes)
            smallest.add(rows, hashes)
        if not ids.n:
            raise ContextError(f"{users.place}: there are columns but no users")
        refuse_repeated(users, id, key, ids)
        return UserSurvey(ids.n, smallest.table())
    finally:
        ids.close()


def watch_ids(users: UserTable, id: str, key: Words) -> SeenIds:
    """What finds an id that comes twice, and reads those again that it did not keep."""

    def hashes_before(n: int) -> Iterator[Words]:
        start = 0
        for rows in users.read([id]):
            if start >= n:
                return
            yield hash_ids(rows.column(id).slice(0, n - start), key, users.place, start)
            start += rows.num_rows

    return SeenIds(hashes_before if users.can_overlap else None)


class _Smallest:
    """Keeps the rows of the smallest hashes, in the order of these."""

    def __init__(self) -> None:
        self._rows: pa.Table | None = None
        self._hashes: Words = np.empty(0, dtype=np.uint64)

    @property
    def hashes(self) -> Words:
        return self._hashes

    def add(self, rows: pa.RecordBatch, hashes: Words) -> None:
        import pyarrow as pa

        if self._hashes.size == SAMPLED:
            near = np.flatnonzero(hashes < self._hashes[-1])
        else:
            near = np.arange(hashes.size)
        if near.size > SAMPLED:
            near = near[np.argpartition(hashes[near], SAMPLED)[:SAMPLED]]
        if not near.size:
            return
        chosen = pa.Table.from_batches([rows]).take(pa.array(near))
        both = chosen if self._rows is None else pa.concat_tables([self._rows, chosen])
        joined = np.concatenate([self._hashes, hashes[near]])
        order = np.argsort(joined, kind="stable")[:SAMPLED]
        self._rows, self._hashes = both.take(pa.array(order)), joined[order]

    def table(self) -> pa.Table:
        assert self._rows is not None, "there are users"
        return self._rows.combine_chunks()


def smallest_of(portions: Iterable[tuple[pa.RecordBatch, Words]]) -> tuple[pa.Table, Words] | None:
    """The rows of the smallest hashes among all portions, and these, for engines that look by parts; None: none."""
    kept = _Smallest()
    for rows, hashes in portions:
        kept.add(rows, hashes)
    return (kept.table(), kept.hashes) if kept.hashes.size else None


def refuse_repeated(users: UserTable, id: str, key: Words, ids: SeenIds) -> None:
    """An error with both places if an id came twice; two different ids may share a hash."""
    repeated = ids.find_repeated()
    if not repeated.size:
        return
    seen: dict[str, int] = {}
    first_row = 0
    for rows in users.read([id]):
        found = np.flatnonzero(np.isin(hash_ids(rows.column(id), key, users.place, first_row), repeated))
        for i in found.tolist():
            value = rows.column(id)[i].as_py()
            before = seen.setdefault(str(value), first_row + i)
            if before != first_row + i:
                raise ContextError(
                    f"{users.place}: the id {value!r} comes twice, in rows {before + 1:,} and {first_row + i + 1:,}: "
                    "one user gets one action; leave one of them out"
                )
        first_row += rows.num_rows
