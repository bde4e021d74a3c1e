"""The file around a tree: a zip with one JSON document and one .npy per array. Written whole, read with suspicion."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.errors import PolicyFileError
from headstart.whole_files import write_whole

FORMAT, VERSION = "headstart policy", 1
_DOCUMENT = "policy.json"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same policy is the same bytes, whenever it is written


def write_archive(path: str | os.PathLike[str], document: dict[str, Any], arrays: list[NDArray[np.generic]]) -> None:
    """Write the document and its arrays; the file is there as a whole, or as it was."""
    head = {"format": FORMAT, "version": VERSION, **document}
    with write_whole(path) as written, zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, _DOCUMENT, document_text(head))
        for i, array in enumerate(arrays):
            _add(archive, _name(i), as_bytes(array))


def document_text(document: dict[str, Any]) -> bytes:
    """The document as text, always the same for the same document."""
    return json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def as_bytes(array: NDArray[np.generic]) -> bytes:
    """An array in numpy's format, without pickle."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array, order="C"), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[NDArray[np.generic]]]:
    """The document and its arrays. Whatever is not as it was written is refused, with the file's name."""
    place = Path(path)
    if not place.is_file():
        raise PolicyFileError(f"{place}: no such file")
    try:
        with zipfile.ZipFile(place) as archive:
            return _read(archive, place)
    except PolicyFileError:
        raise
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        raise PolicyFileError(
            f"{place}: not a policy file, or a cut or damaged one ({error}); policy.save(path) writes one"
        ) from error


def _read(archive: zipfile.ZipFile, place: Path) -> tuple[dict[str, Any], list[NDArray[np.generic]]]:
    names = [each.filename for each in archive.infolist()]
    if any(
        each.compress_type != zipfile.ZIP_STORED for each in archive.infolist()
    ):  # so nothing is larger than the file
        raise PolicyFileError(f"{place}: not a policy file: it is compressed")
    if not names or names != [_DOCUMENT, *(_name(i) for i in range(len(names) - 1))]:
        raise PolicyFileError(f"{place}: not a policy file: it holds {', '.join(names[:3]) or 'nothing'}")
    try:
        document = json.loads(archive.read(_DOCUMENT))
    except RecursionError:
        raise PolicyFileError(f"{place}: not a policy file: its document is nested too deep") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise PolicyFileError(f"{place}: not a policy file")
    if document.get("version") != VERSION:
        raise PolicyFileError(
            f"{place}: a policy file of version {document.get('version')!r}; this headstart reads version {VERSION}: "
            "start from the log again, or load it where it was written"
        )
    return document, [_as_array(archive.read(name), f"{place}: {name}") for name in names[1:]]


def _as_array(content: bytes, where: str) -> NDArray[np.generic]:
    """The array of these bytes; its header may claim nothing that they do not hold."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise PolicyFileError(f"{where}: an array of another format")
    shape, is_fortran, kind = np.lib.format.read_array_header_1_0(stream)
    held = len(content) - stream.tell()
    if not is_plain(kind) or is_fortran or min(shape, default=0) < 0:
        raise PolicyFileError(f"{where}: an array of {kind}")
    size = 1
    for length in shape:
        size *= int(length)
    if size * kind.itemsize != held:
        raise PolicyFileError(f"{where}: an array of shape {shape} in {held} bytes")
    return np.frombuffer(content, dtype=kind, offset=stream.tell()).reshape(shape).copy()


def is_plain(kind: np.dtype[Any]) -> bool:
    """Whether an array of this type holds numbers, truths, text or records of them, and no objects."""
    if kind.names is not None:
        return all(is_plain(kind[name]) for name in kind.names)
    return kind.kind in "biufU"


def _name(i: int) -> str:
    return f"arrays/{i}.npy"


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), content)
