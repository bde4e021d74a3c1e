"""Saving and loading a policy: what it is made of, what it has learnt, its randomness, and whose words it speaks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.errors import PolicyFileError
from headstart.logs.any_log import AnyLog
from headstart.logs.fingerprint import Fingerprint
from headstart.parts.abilities import is_oracle, missing_method
from headstart.parts.contracts import Oracle
from headstart.parts.files.archive import as_bytes, document_text, read_archive, write_archive
from headstart.parts.files.classes import KnownClasses
from headstart.parts.files.soundness import check_sound
from headstart.parts.files.tree import TreeReader, TreeWriter
from headstart.parts.identity import Identity, identity_of, keep_identity


class _Written(NamedTuple):
    document: dict[str, Any]
    arrays: list[NDArray[np.generic]]


def save(
    policy: Oracle, path: str | os.PathLike[str], *, log: AnyLog | None = None, parts: Iterable[type] = ()
) -> None:
    """Write a policy to one file: it decides, learns and explains itself in another process, without the log.

    Parameters
    ----------
    path
        The file, whole or not there at all: it is written beside and renamed.
    log
        The log whose columns and labels the policy speaks, for an oracle that was made without one.
    parts
        Classes of your own that the policy is made of; `load` must be given them too.
    """
    written = _write(policy, identity_of(policy, log), parts)
    if not Path(path).parent.is_dir():
        raise PolicyFileError(f"{path}: the folder {Path(path).parent} does not exist")
    write_archive(path, written.document, written.arrays)


def load(path: str | os.PathLike[str], *, log: AnyLog | None = None, parts: Iterable[type] = ()) -> Any:
    """The policy that `save` wrote, with the same future. Nothing in the file is run.

    Parameters
    ----------
    path
        A file that `policy.save` wrote.
    log
        The log that it must come from; a policy of another log is refused.
    parts
        Classes of your own that it is made of.

    Returns
    -------
    Oracle
        The policy.

    Raises
    ------
    PolicyFileError
        If the file holds no policy, is damaged, or is of another log or version.

    Examples
    --------
    >>> import headstart as hs
    >>> import tempfile, os
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> path = os.path.join(tempfile.mkdtemp(), "offers.policy")
    >>> hs.start(log, rng=1).save(path)
    >>> type(hs.load(path)).__name__
    'Started'
    """
    document, arrays = read_archive(path)
    reader = TreeReader(KnownClasses(parts), arrays)
    try:
        policy, identity = reader.read(document.get("policy")), reader.read(document.get("identity"))
        if not is_oracle(policy) or not isinstance(identity, Identity | None):
            raise PolicyFileError("holds no policy")
        check_sound(reader.objects)
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: the file {error}") from error
    if log is not None:
        _check_log(path, identity, log)
    keep_identity(policy, identity)
    return policy


def digest_of(policy: Oracle) -> str:
    """What tells a policy from any other, in 16 hexadecimal digits: another state, another digest."""
    written = _write(policy, None, ())
    told = blake2b(document_text(written.document), digest_size=8)
    for array in written.arrays:
        told.update(as_bytes(array))
    return told.hexdigest()


def _write(policy: Oracle, identity: Identity | None, parts: Iterable[type]) -> _Written:
    if missing_method(policy, "settle") is None:
        policy.settle()  # type: ignore[attr-defined]  # virtual plays that are due are part of what it knows
    writer = TreeWriter(KnownClasses(parts))
    tree = writer.write(policy, type(policy).__name__)
    return _Written({"policy": tree, "identity": writer.write(identity, "identity")}, writer.arrays)


def _check_log(path: str | os.PathLike[str], identity: Identity | None, log: AnyLog) -> None:
    if identity is None or identity.log is None:
        raise PolicyFileError(f"{path}: the file does not say which log its policy comes from")
    other = identity.log.difference(Fingerprint.of(log))
    if other is not None:
        raise PolicyFileError(f"{path}: the policy comes from another log: {other}")
