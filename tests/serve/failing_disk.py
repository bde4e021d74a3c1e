"""A disk that fails on demand, below SQLite: its own file system layer with writes and fsyncs that return an error.

SQLite reaches files through a table of functions (a VFS). This one is the default's, with `xWrite` and `xSync`
counted and, at the n-th call, answered with an error instead: the paths that a broken or full disk takes. What was
carried out can be recorded, so that a test can make the disk that a power cut would have left.
"""

from __future__ import annotations

import ctypes
import sqlite3
import threading
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p, cast, memmove, sizeof
from typing import NamedTuple

FULL = 13  # SQLITE_FULL: what a write answers when the disk has no room
WRITE_ERROR = 10 | (3 << 8)  # SQLITE_IOERR_WRITE
SYNC_ERROR = 10 | (4 << 8)  # SQLITE_IOERR_FSYNC

_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)
_DELETE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
# The name as an address: SQLite keeps the pointer, and a bytes object made of it would be gone after the call.
_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int))


class _Methods(Structure):
    """sqlite3_io_methods: the first six members, then twelve more of pointers."""

    _fields_ = (
        ("version", c_int),
        ("close", c_void_p),
        ("read", c_void_p),
        ("write", c_void_p),
        ("truncate", c_void_p),
        ("sync", c_void_p),
        ("rest", c_void_p * 13),
    )


class _File(Structure):
    _fields_ = (("methods", POINTER(_Methods)),)


class _VFS(Structure):
    """sqlite3_vfs: what is copied as it is, and the members that are not."""

    _fields_ = (
        ("version", c_int),
        ("file_size", c_int),
        ("max_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
        ("delete", c_void_p),
        ("rest", c_void_p * 13),
    )


class Operation(NamedTuple):
    """Something that was done to a file."""

    kind: str  # write (`data` at `offset`), cut (at `offset`), sync, delete (durable when it returns: sync_delete)
    path: str
    offset: int = 0
    data: bytes = b""


class FailingDisk:
    """Counts writes and fsyncs; fails at those that it is told to. One per process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libsqlite3.so.0")
        self._library.sqlite3_vfs_find.restype = POINTER(_VFS)
        self._library.sqlite3_vfs_find.argtypes = [c_char_p]
        self._library.sqlite3_vfs_register.argtypes = [POINTER(_VFS), c_int]
        self._default = self._library.sqlite3_vfs_find(None)
        self._open_default = _OPEN(self._default.contents.open)
        self._vfs = _VFS()
        memmove(byref(self._vfs), self._default, sizeof(_VFS))
        self._delete_default = _DELETE(self._default.contents.delete)
        self._open, self._delete = _OPEN(self._on_open), _DELETE(self._on_delete)
        self._vfs.name, self._vfs.open = b"failing", cast(self._open, c_void_p)
        self._vfs.delete = cast(self._delete, c_void_p)
        self._kept: dict[int, tuple[object, ...]] = {}
        self._library.sqlite3_vfs_register(byref(self._vfs), 0)
        self._lock = threading.Lock()
        self._paths: dict[int, str] = {}  # of open files
        self.recorded: list[Operation] | None = None  # None: nothing is recorded
        self.heal()

    def heal(self) -> None:
        """Count from the beginning, fail never."""
        self.n, self._fails_at, self._goes_on = 0, -1, False
        self.n_failed = 0

    def fail_at(self, n: int, *, goes_on: bool = False) -> None:
        """Fail at the n-th write or fsync from now (the first is 0); `goes_on`: the disk is full, all writes fail."""
        self.heal()
        self._fails_at, self._goes_on = n, goes_on

    def connect(self, path: str) -> sqlite3.Connection:
        """A connection through this disk."""
        return sqlite3.connect(
            f"file:{path}?vfs=failing", uri=True, timeout=10.0, isolation_level=None, check_same_thread=False
        )

    def _fails(self) -> bool:
        with self._lock:
            n, self.n = self.n, self.n + 1
            fails = n == self._fails_at or (self._goes_on and n > self._fails_at >= 0)
            self.n_failed += fails
            return fails

    def _on_open(self, vfs: int, name: int | None, file: int, flags: int, out_flags: object) -> int:
        code = self._open_default(cast(self._default, c_void_p), name, file, flags, out_flags)
        opened = cast(file, POINTER(_File)).contents
        if code == 0 and opened.methods:
            opened.methods = self._replace(opened.methods)
            self._paths[file] = _text(name)
        return code

    def _on_delete(self, vfs: int, name: int | None, is_synced: int) -> int:
        self._record(Operation("sync_delete" if is_synced else "delete", _text(name)))
        return self._delete_default(cast(self._default, c_void_p), name, is_synced)

    def _record(self, operation: Operation) -> None:
        if self.recorded is not None:
            with self._lock:
                self.recorded.append(operation)

    def _replace(self, methods: object) -> object:
        """The same table with our writes; one per table of SQLite's."""
        address = cast(methods, c_void_p).value or 0
        if address not in self._kept:
            table = _Methods()
            memmove(byref(table), methods, sizeof(_Methods))
            real_write, real_sync, real_truncate = _WRITE(table.write), _SYNC(table.sync), _TRUNCATE(table.truncate)

            def write(file: int, data: int, size: int, offset: int) -> int:
                if self._fails():
                    return FULL if self._goes_on else WRITE_ERROR
                self._record(Operation("write", self._paths[file], offset, ctypes.string_at(data, size)))
                return real_write(file, data, size, offset)

            def sync(file: int, flags: int) -> int:
                if self._fails():
                    return SYNC_ERROR
                self._record(Operation("sync", self._paths[file]))
                return real_sync(file, flags)

            def truncate(file: int, size: int) -> int:
                self._record(Operation("cut", self._paths[file], size))
                return real_truncate(file, size)

            kept = _WRITE(write), _SYNC(sync), _TRUNCATE(truncate)
            table.write, table.sync, table.truncate = (cast(each, c_void_p) for each in kept)
            self._kept[address] = (table, kept, real_write, real_sync, real_truncate)
        return ctypes.pointer(self._kept[address][0])


def _text(name: int | None) -> str:
    return "" if name is None else (cast(name, c_char_p).value or b"").decode()
