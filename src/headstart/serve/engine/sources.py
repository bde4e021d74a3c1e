"""Where an experiment's log comes from: reading it, its hash, and its columns in the experiment's order."""

from __future__ import annotations

import glob
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Integers
from headstart.errors import LogError
from headstart.logs.encoding import Encoding
from headstart.logs.log import Log
from headstart.logs.tables import read_log
from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.blas import one_blas_thread
from headstart.serve.engine.bounds import suggest_ranges
from headstart.serve.store.events import Body

_CHUNK = 1 << 20


class Source(NamedTuple):
    """A log as an experiment takes it up."""

    log: Log  # actions in the experiment's order; its context columns first, then what one only adjusts for
    hash: str

    def summary(self) -> Body:
        """What the `warm_start` event says of it."""
        counts = np.bincount(self.log.actions, minlength=self.log.n_actions)
        sums = np.bincount(self.log.actions, self.log.outcomes, self.log.n_actions)
        return {
            "hash": self.hash,
            "rows": len(self.log),
            "has_propensities": self.log.has_propensities,
            "columns": list(self.log.context_names),
            "counts": counts.tolist(),
            "means": [s / n if n else None for s, n in zip(sums.tolist(), counts.tolist(), strict=True)],
            "ranges": suggest_ranges(self.log),
        }


_Key = tuple[str, str, tuple[str, ...], tuple[Label, ...]]


class Sources:
    """Logs by their hash and by what the experiment makes of them, its columns and actions: read once."""

    def __init__(self) -> None:
        self._known: dict[_Key, Source] = {}

    def read(self, config: ExperimentConfig) -> Source | None:
        """The configuration's log as it is now."""
        source = read_source(config)
        if source is not None:
            self._known[_key(config, source.hash)] = source
        return source

    def find(self, config: ExperimentConfig, wanted: str) -> Source:
        """The log with this hash."""
        key = _key(config, wanted)
        if key not in self._known:
            source = self.read(config)
            if source is None or source.hash != wanted:
                raise LogError(
                    f"the log of experiment {config.name!r} is not the one it began with (hash {wanted}): "
                    "restore it, or withdraw it"
                )
        return self._known[key]


def _key(config: ExperimentConfig, wanted: str) -> _Key:
    return config.name, wanted, config.encoding.names, config.actions


def read_source(config: ExperimentConfig) -> Source | None:
    """The experiment's log, or None where it has none."""
    if config.log is None:
        return None
    if isinstance(config.log, Log):
        return Source(_align(config.log, config), _hash_log(config.log))
    if "path" not in config.log:
        raise LogError(f"experiment {config.name!r} began with a log in memory: hand it over again to go on")
    return Source(_align(_read_log(config, dict(config.log)), config), hash_files(str(config.log["path"])))


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
    return digest.hexdigest()


def _read_log(config: ExperimentConfig, options: dict[str, Any]) -> Log:  # options of read_log, which checks them
    at = f"experiments.{config.name}.log"
    path, is_estimated = options.pop("path"), options.pop("estimate_propensities", False)
    options.setdefault("contexts", list(config.contexts) or None)
    try:
        log = read_log(path, **options)
    except TypeError as error:
        raise LogError(f"{at}: {error}") from None
    if is_estimated and not log.has_propensities:
        from headstart.estimates.propensity.missing import fill_missing

        with one_blas_thread():
            log = fill_missing(log).log
    return log


def _align(log: Log, config: ExperimentConfig) -> Log:
    """The same rows with the experiment's actions and columns, in its order, as far as the log has them."""
    encoding = _align_columns(log.encoding, config)
    # By owner and name: the number column `x=1` is another than the category 1 of the column `x`.
    place = {key: j for j, key in enumerate(zip(log.encoding.owners, log.encoding.names, strict=True))}
    contexts = np.zeros((len(log), len(encoding.names)))  # 0: a category that the log never shows
    for j, key in enumerate(zip(encoding.owners, encoding.names, strict=True)):
        if key in place:
            contexts[:, j] = log.contexts[:, place[key]]
    actions = _align_actions(log, config)
    return Log.of_encoded(
        actions, log.outcomes, contexts, log.propensities, encoding=encoding, action_names=config.actions
    )


def _align_actions(log: Log, config: ExperimentConfig) -> Integers:
    place = {str(label): k for k, label in enumerate(config.actions)}
    shown = {str(log.action_names[a]) for a in np.unique(log.actions)}
    strange = sorted(shown - set(place))
    if strange:
        raise LogError(f"{config.at}.log has the action {strange[0]!r}, which the experiment has not")
    return np.array([place.get(str(label), 0) for label in log.action_names], dtype=np.int64)[log.actions]


def _align_columns(logged: Encoding, config: ExperimentConfig) -> Encoding:
    """The columns that the experiment and its log share, as the experiment declares them, then the log's others."""
    shared = [column for column in config.contexts if column in logged.columns]
    for column in shared:
        _check_kind(column, logged, config)
    extra = [column for column in logged.columns if column not in config.contexts]
    known = {**logged.categories, **config.encoding.categories}
    columns = (*shared, *extra)
    return Encoding(columns, {column: known[column] for column in columns if column in known})


def _check_kind(column: str, logged: Encoding, config: ExperimentConfig) -> None:
    """A column is a number in both, or has in the log no category that the experiment does not declare."""
    at, declared = f"{config.at}.contexts.{column}", config.encoding.categories.get(column)
    found = logged.categories.get(column)
    if declared is None:
        if found is not None:
            raise LogError(f"{at} is a number, but the log has categories: {list(found)[:5]}")
        return
    if found is None:
        raise LogError(f"{at} has categories, but the log has numbers")
    known = {str(category) for category in declared}
    for category in found:
        if str(category) not in known:
            raise LogError(f"the log has {column} = {category!r}, which {at} has not")
