"""Ids of users: hashed by a key, and none of them twice."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import IO, TYPE_CHECKING

import numpy as np

from headstart.arrays import Words
from headstart.errors import ContextError
from headstart.kernels import compiled
from headstart.kernels.siphash import hash_numbers, hash_texts, part_hashes

if TYPE_CHECKING:
    import pyarrow as pa

_PARTS = 32  # files of hashes, of which one at a time is in memory: 25 MB for 100 million ids


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
    try:
        texts = ids.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise ContextError(f"{place}: an id must be text or a whole number, the column is {kind} ({error})") from None
    ends = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = texts.buffers()[2]
    held = np.frombuffer(letters, dtype=np.uint8) if letters is not None and letters.size else np.zeros(1, np.uint8)
    compiled(hash_texts)(held, ends, key, out)
    return out


class SeenIds:
    """Remembers every id, to find one that comes twice: by their hashes, on disk.

    Whole numbers that only grow cannot repeat, and are not remembered; from the first that does not grow, they are
    asked for again (`before`: the hashes of the ids of so many rows; None: they cannot be, and all are remembered).
    """

    def __init__(self, before: Callable[[int], Iterator[Words]] | None) -> None:
        self._before = before
        self._files: list[IO[bytes]] = []
        self._largest: int | None = None
        self.n = 0

    def add(self, ids: pa.Array, hashes: Words) -> None:
        """Those of the next rows."""
        if not self._files and hashes.size and (self._before is None or not self._grow(ids)):
            self._files = [tempfile.TemporaryFile(prefix="headstart-ids-") for _ in range(_PARTS)]  # noqa: SIM115
            for earlier in self._before(self.n) if self._before is not None else ():
                self._keep(earlier)
        if self._files:
            self._keep(hashes)
        self.n += hashes.size

    def _grow(self, ids: pa.Array) -> bool:
        """Whether these are whole numbers, each larger than all before."""
        import pyarrow as pa

        if not pa.types.is_integer(ids.type) or ids.type == pa.uint64():
            return False
        numbers = ids.to_numpy()
        if (self._largest is not None and numbers[0] <= self._largest) or not (numbers[1:] > numbers[:-1]).all():
            return False
        self._largest = int(numbers[-1])
        return True

    def _keep(self, hashes: Words) -> None:
        parted, ends = np.empty_like(hashes), np.empty(_PARTS + 1, dtype=np.int64)
        compiled(part_hashes)(hashes, parted, ends)
        for i, file in enumerate(self._files):
            file.write(parted[ends[i] : ends[i + 1]].tobytes())

    def find_repeated(self) -> Words:
        """The hashes that came more than once. Ids that differ share one of 2^64 with a chance of n^2 / 2^65."""
        return np.concatenate([np.empty(0, np.uint64), *(_repeated_in(file) for file in self._files)])

    def close(self) -> None:
        """Give the disk back."""
        for file in self._files:
            file.close()


def _repeated_in(file: IO[bytes]) -> Words:
    file.seek(0)
    hashes = np.frombuffer(bytearray(file.read()), dtype=np.uint64)
    hashes.sort()
    repeated: Words = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
    return repeated
