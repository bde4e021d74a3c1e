"""Where an experiment's log comes from: reading it, its hash, and its columns in the experiment's order."""

from __future__ import annotations

import glob
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headstart.errors import LogError
from headstart.logs.log import Log
from headstart.logs.tables import read_log
from headstart.serve.config import ExperimentConfig
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
        }


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

        log = fill_missing(log).log
    return log


def _align(log: Log, config: ExperimentConfig) -> Log:
    """The same rows with the experiment's actions and encoded columns, in its order."""
    labels = [log.action_names[a] for a in log.actions.tolist()]
    known = {str(label): label for label in config.actions}
    strange = sorted({str(label) for label in labels} - set(known))
    if strange:
        raise LogError(f"experiments.{config.name}.log has the action {strange[0]!r}, which the experiment has not")
    wanted, present = config.encoding.names, list(log.context_names)
    _check_categories(log, config)
    columns = [
        log.contexts[:, present.index(name)] if name in present else np.zeros(len(log))
        for name in wanted
        if name in present or "=" in name
    ]
    names = [name for name in wanted if name in present or "=" in name]
    extra = [name for name in present if name not in wanted]
    columns += [log.contexts[:, present.index(name)] for name in extra]
    return Log(
        [known[str(label)] for label in labels],
        log.outcomes,
        contexts=np.column_stack(columns) if columns else None,
        propensities=log.propensities,
        action_names=config.actions,
        context_names=[*names, *extra],
    )


def _check_categories(log: Log, config: ExperimentConfig) -> None:
    for column, kind in config.contexts.items():
        if kind == "number":
            if column in log.encoding.categories:
                raise LogError(
                    f"experiments.{config.name}.contexts.{column} is a number, but the log has categories: "
                    f"{list(log.encoding.categories[column])[:5]}"
                )
            continue
        known = {str(category) for category in kind}
        for category in log.encoding.categories.get(column, ()):
            if str(category) not in known:
                raise LogError(
                    f"the log has {column} = {category!r}, which experiments.{config.name}.contexts.{column} has not"
                )
