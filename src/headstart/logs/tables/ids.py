"""Ids of users: hashed by a key, and none of them twice."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from headstart.arrays import Floats, Integers, Words
from headstart.errors import ContextError
from headstart.kernels import compiled
from headstart.kernels.siphash import as_uniforms, hash_numbers, hash_texts

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 1 << 24  # hashes that are compared in memory: 128 MB


def key_of(purpose: str, salt: str) -> Words:
    """The two words that ids are hashed with, by what for and by the salt."""
    told = blake2b(f"headstart\0{purpose}\0{salt}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return np.frombuffer(told, dtype="<u8").astype(np.uint64)


def hash_ids(ids: pa.Array, key: Words, place: str, first_row: int) -> Words:
    """The keyed hash of each id, (n,); an id is the text that one would write, whatever its column's type."""
    import pyarrow as pa

    if ids.null_count:
        row = first_row + int(np.flatnonzero(ids.is_null().to_numpy(zero_copy_only=False))[0])
        raise ContextError(f"{place}, row {row + 1:,}: the id is missing: every user needs one")
    out = np.empty(len(ids), dtype=np.uint64)
    kind = ids.type
    if pa.types.is_dictionary(kind):
        ids, kind = ids.cast(kind.value_type), kind.value_type
    if pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_nested(kind):
        raise ContextError(f"{place}: an id must be text or a whole number, the column is {kind}")
    if pa.types.is_integer(kind) and kind != pa.uint64():
        compiled(hash_numbers)(ids.cast(pa.int64()).to_numpy(), key, out)
        return out
    texts = ids.cast(pa.large_string())
    ends = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = texts.buffers()[2]
    held = np.frombuffer(letters, dtype=np.uint8) if letters is not None and letters.size else np.zeros(1, np.uint8)
    compiled(hash_texts)(held, ends, key, out)
    return out


def uniforms_of(hashes: Words) -> Floats:
    """A number in [0, 1) for each hash: its first 53 bits."""
    out = np.empty(hashes.size)
    compiled(as_uniforms)(hashes, out)
    return out


class SeenIds:
    """Remembers the hash of every id, on disk, to find one that comes twice."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="headstart-ids-")  # noqa: SIM115  # closed in `close`
        self.n = 0

    def add(self, hashes: Words) -> None:
        """Those of the next rows."""
        self._file.write(hashes.tobytes())
        self.n += hashes.size

    def find_repeated(self) -> Words:
        """The hashes that came more than once. Ids that differ share one of 2^64 with a chance of n^2 / 2^65."""
        self._file.flush()
        n_parts = 1 << max(0, int(np.ceil(np.log2(max(self.n, 1) / _AT_ONCE))))
        found = [self._repeated_of(part, n_parts) for part in range(n_parts)]
        return np.unique(np.concatenate(found))

    def _repeated_of(self, part: int, n_parts: int) -> Words:
        kept = [chunk[chunk % np.uint64(n_parts) == part] if n_parts > 1 else chunk for chunk in self._chunks()]
        hashes = np.sort(np.concatenate(kept)) if kept else np.empty(0, np.uint64)
        repeated: Words = hashes[1:][hashes[1:] == hashes[:-1]]
        return repeated

    def rows_of(self, wanted: Words) -> Integers:
        """The rows, from 0, whose hash is one of these."""
        found, start = [], 0
        for chunk in self._chunks():
            found.append(start + np.flatnonzero(np.isin(chunk, wanted)))
            start += chunk.size
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def _chunks(self) -> Iterator[Words]:
        self._file.seek(0)
        while chunk := self._file.read(1 << 23):
            yield np.frombuffer(chunk, dtype=np.uint64)

    def close(self) -> None:
        """Give the disk back."""
        self._file.close()
