"""Where an experiment's log comes from: reading it as `headstart audit` does, its hash, and how it was read.

A log is read with every column that the audit would take: what is among the experiment's contexts may be decided on,
everything else is adjusted for. How it was read (which columns, in which order, as what) stands in the `warm_start`
event, and whoever reads the log again reads it so: another version may recognise other columns. A warm start that
does not say it is an earlier headstart's, which read the experiment's contexts alone.
"""

from __future__ import annotations

import glob
import inspect
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headstart.errors import LogError
from headstart.logs.log import Log
from headstart.logs.tables import read_log
from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.alignment import align
from headstart.serve.engine.blas import one_blas_thread
from headstart.serve.engine.bounds import suggest_ranges
from headstart.serve.engine.policies import Starts
from headstart.serve.store.events import Body

_CHUNK = 1 << 20
_CHOSEN = ("contexts", "confounders")
_OPTIONS = {name: each.default for name, each in inspect.signature(read_log).parameters.items()}
_OPTIONAL_ROLES: list[str] = [role for role in ("propensity", "timestamp", "id", "unit") if role in _OPTIONS]


class Source(NamedTuple):
    """A log as an experiment takes it up."""

    log: Log  # actions in the experiment's order; its context columns first, then what one only adjusts for
    hash: str
    read: Body  # the options that read it so, whatever is recognised by then
    starts: Starts  # what policies started as from it
    raw: Log | None = None  # as it was read, for an audit: not kept

    def summary(self) -> Body:
        """What the `warm_start` event says of it."""
        log = self.log
        counts = np.bincount(log.actions, minlength=log.n_actions)
        sums = np.bincount(log.actions, log.outcomes, log.n_actions)
        return {
            "hash": self.hash,
            "rows": len(log),
            "has_propensities": log.has_propensities,
            "columns": list(log.context_names),
            "counts": counts.tolist(),
            "means": [s / n if n else None for s, n in zip(sums.tolist(), counts.tolist(), strict=True)],
            "ranges": suggest_ranges(log),
            "read": dict(self.read),
            "centres": {column: float(log.contexts[:, j].mean()) for column, j in log.encoding.numbers.items()},
        }


_Key = tuple[str, str, tuple[str, ...], tuple[Label, ...], str]


class Sources:
    """Logs by their hash and by what the experiment makes of them, its columns and actions: read once."""

    def __init__(self) -> None:
        self._known: dict[_Key, Source] = {}

    def read(self, config: ExperimentConfig, begun: Body | None = None) -> Source | None:
        """The configuration's log as it is now; read as a warm start says, or (None) as a new one reads it."""
        source = read_source(config, begun)
        if source is not None:
            key = _key(config, source.hash, source.read)
            known = self._known.get(key)
            if known is not None and _is_same(known.log, source.log):
                source = source._replace(log=known.log, starts=known.starts)
            kept = self._known[key] = source._replace(raw=None)
            if begun is not None:
                self._known[_key(config, source.hash, begun.get("read"))] = kept
        return source

    def find(self, config: ExperimentConfig, begun: Body) -> Source:
        """The log that an experiment began with, as it was read then."""
        wanted = begun["hash"]
        key = _key(config, wanted, begun.get("read"))
        if key not in self._known:
            source = self.read(config, begun)
            if source is None or source.hash != wanted:
                raise LogError(
                    f"the log of experiment {config.name!r} is not the one it began with (hash {wanted}): "
                    "restore it, or withdraw it"
                )
        return self._known[key]


def _is_same(one: Log, other: Log) -> bool:
    """Whether nobody could tell one log from the other."""
    mine, its = vars(one), vars(other)
    return mine.keys() == its.keys() and all(
        np.array_equal(value, its[name]) if isinstance(value, np.ndarray) else repr(value) == repr(its[name])
        for name, value in mine.items()
    )


def _key(config: ExperimentConfig, wanted: str, read: Body | None) -> _Key:
    return config.name, wanted, config.encoding.names, config.actions, repr(read)


def read_source(config: ExperimentConfig, begun: Body | None = None) -> Source | None:
    """The experiment's log, or None where it has none; read as a warm start says, or as a new one reads it."""
    if config.log is None:
        return None
    if isinstance(config.log, Log):
        raw = config.log
        return Source(align(raw, config), _hash_log(raw), {"contexts": list(raw.encoding.columns)}, {}, raw)
    if "path" not in config.log:
        raise LogError(f"experiment {config.name!r} began with a log in memory: hand it over again to go on")
    given = dict(config.log)
    path, is_estimated = str(given.pop("path")), bool(given.pop("estimate_propensities", False))
    options = given if begun is None else _as_begun(config, given, begun)
    try:
        raw = _read_all(path, options, [] if begun is not None else list(config.contexts))
    except TypeError as error:
        raise LogError(f"{config.at}.log: {error}") from None
    log = _fill(raw) if is_estimated else raw
    return Source(align(log, config), _hash_source(path, raw), _say_read(raw, options), {}, raw)


def _as_begun(config: ExperimentConfig, given: dict[str, Any], begun: Body) -> dict[str, Any]:
    """The options of read_log by which a log is what it was when an experiment began with it."""
    read: Mapping[str, Any] | None = begun.get("read")
    if read is not None:
        return {**{name: value for name, value in given.items() if name not in _CHOSEN}, **read}
    earlier: dict[str, Any] = {"contexts": list(config.contexts) or None, "missing": "drop"}
    if "unit" in _OPTIONAL_ROLES:
        earlier["unit"] = False
    return {**earlier, **given}


def _read_all(path: str, options: dict[str, Any], wanted: list[str]) -> Log:  # options of read_log, which checks them
    """The log with every column that an audit takes, and those that are wanted, whatever they are called."""
    if not wanted or any(options.get(name) is not None for name in _CHOSEN):
        return read_log(path, **options)
    try:
        log = read_log(path, **options)
        if set(wanted) <= set(log.encoding.columns):
            return log
    except LogError:
        pass  # two columns may be the action, and one of them is a context
    return read_log(path, **{**options, "confounders": wanted})


def _say_read(log: Log, options: dict[str, Any]) -> Body:
    """What of the reading another version might do otherwise."""
    assert log.reading is not None  # of read_log
    roles = {role: log.reading.columns.get(role, False) for role in _OPTIONAL_ROLES}
    required = {role: log.reading.columns[role] for role in ("action", "outcome")}
    missing = options.get("missing", _OPTIONS["missing"])
    return {"contexts": list(log.encoding.columns), **required, **roles, "missing": missing}


def _fill(log: Log) -> Log:
    """The log with estimated propensities where it has none."""
    if log.has_propensities:
        return log
    from headstart.estimates.propensity.missing import fill_missing

    with one_blas_thread():
        return fill_missing(log).log


def _hash_source(path: str, log: Log) -> str:
    """By what is in the files; of a table in a database, by its rows."""
    return hash_files(path) if Path(path).exists() or glob.glob(path, recursive=True) else _hash_log(log)


def hash_files(path: str) -> str:
    """The hash of a file, of a folder's files, or of a glob's, by name and content."""
    place = Path(path)
    if place.is_dir():
        files = sorted(file for file in place.rglob("*") if file.is_file())
    else:
        files = [Path(name) for name in sorted(glob.glob(path, recursive=True))] or [place]
    digest = blake2b(digest_size=16)
    for file in files:
        try:
            with file.open("rb") as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
        except OSError as error:
            raise LogError(f"the log {file} cannot be read: {error.strerror or error}") from None
        digest.update(b"\0")
    return digest.hexdigest()


def _hash_log(log: Log) -> str:
    digest = blake2b(repr((log.action_names, log.context_names)).encode(), digest_size=16)
    for part in (log.actions, log.outcomes, log.contexts, log.propensities):
        digest.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
    for more in (log.units, log.times):  # absent as before there were any
        if more is not None:
            digest.update(np.ascontiguousarray(more).tobytes())
    return digest.hexdigest()
