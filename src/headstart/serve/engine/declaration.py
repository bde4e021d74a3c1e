"""Declaring an experiment: its configuration is recorded if it is new, and followed from the store if it is not.

The store's newest configuration is everybody's. A process that declares what an earlier event of the store holds was
started with an old file: it does not put it back for all, but follows the newest one and says so. `revision` says it
on purpose: a higher one than the newest's is always recorded, a lower one never. The same holds for a log whose rows
changed under the same configuration.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import orjson

from headstart.errors import OptionError
from headstart.logs.log import Log
from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.binding import Binding
from headstart.serve.engine.bounds import Bounds
from headstart.serve.engine.fits import Fit, record_fit
from headstart.serve.engine.flight import FORGET_AFTER
from headstart.serve.engine.judging import begin_with
from headstart.serve.engine.policies import build_policy
from headstart.serve.engine.served_policy import ServedPolicy
from headstart.serve.engine.sources import Source, Sources
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body, Event
from headstart.serve.store.questions import SAVE_FIT
from headstart.serve.store.reader import Reader
from headstart.serve.store.store import Store

_FIXED = ("outcome_window", "default_outcome", "outcomes", "value")  # rows already learnt would have been others
_SEED_BITS = 63  # what JSON's readers take for a whole number; nobody can try them all
_KNOWN_SEED = 0  # what experiments had by default, so that callers could choose ids by their draws


class Plan(NamedTuple):
    """What a declaration means, by what the store holds at the moment."""

    config: ExperimentConfig  # with the seed and the rest that it is recorded with
    source: Source | None
    basis: tuple[int, int]  # the newest configuration and warm start that it was made by
    changes: list[tuple[str, dict[str, Any]]]  # kinds and bodies of what is to be recorded
    said: str | None  # what somebody should know
    fit: Fit | None = None  # what the policy was made of its log, where that is to be recorded

    @property
    def is_old(self) -> bool:
        """Whether the store's is followed instead."""
        return self.said is not None and not self.changes


def declare(store: Store, config: ExperimentConfig, sources: Sources, now: int, plan: Plan | None = None) -> Plan:
    """Append the configuration and warm start of an experiment that is new or has changed.

    `plan` was made beforehand: what it was made by may have changed since.
    """
    while True:
        plan = plan or plan_declaration(Reader(store.query), config, sources)
        if not plan.changes:
            return plan
        with store.writing(config.name) as transaction:
            if _find_basis(Reader(transaction.query), config.name) != plan.basis:
                plan = None  # another process declared in between: look again
                continue
            Reader(transaction.query).check_archive(config.name)  # what users taught is learnt again
            if plan.fit is not None:
                transaction.execute(SAVE_FIT, plan.fit)
            time, first = max(now, transaction.head.time), transaction.head.sequence + 1
            transaction.insert(
                [
                    Event(first + i, config.name, kind, None, time, None, body)
                    for i, (kind, body) in enumerate(plan.changes)
                ]
            )
        return plan


def plan_declaration(reader: Reader, config: ExperimentConfig, sources: Sources) -> Plan:
    """What would be recorded; raises for a configuration that must not be."""
    known = list(reader.all_of(config.name, kinds.CONFIGURATION))
    basis = _find_basis(reader, config.name)
    old = _say_old(config, known)
    if old is not None:
        # The log that the newest one needs may be the same: in memory it is only here.
        source = sources.read(config) if isinstance(config.log, Log) else None
        return Plan(config, source, basis, [], old)
    if not known or not _is_same(config, known[-1].body):
        source = sources.read(config)
        _check_fixed(config, known)
        _check_shown(config, known)
        seed, forget_after = _settle_seed(config, known), config.forget_after or FORGET_AFTER
        settled = replace(config, seed=seed, forget_after=forget_after)
        begun, fit = _begin(settled, source)
        changes = [(kinds.CONFIGURATION, _as_json(settled.as_dict()))]
        if begun is not None:
            changes.append((kinds.WARM_START, begun))
        number = f", revision {config.revision}" if config.revision else ""
        return Plan(settled, source, basis, changes, f"its configuration is new and recorded{number}", fit)
    settled = replace(config, seed=known[-1].body["seed"], forget_after=known[-1].body.get("forget_after"))
    return _plan_log(Plan(settled, None, basis, [], None), reader, known[-1].sequence, sources)


def _plan_log(plan: Plan, reader: Reader, declared: int, sources: Sources) -> Plan:
    """The configuration is the newest: are its log's rows? It is read as it was, whatever would be read today."""
    begun = [e.body for e in reader.all_of(plan.config.name, kinds.WARM_START) if e.sequence > declared]
    source = sources.read(plan.config, begun[-1] if begun else None)
    if source is None or (begun and begun[-1]["hash"] == source.hash):
        return plan._replace(source=source)
    if source.hash in [body["hash"] for body in begun]:
        return plan._replace(
            source=source,
            said=f"the log here (hash {source.hash}) is an old one, the store's newest (hash {begun[-1]['hash']}) is "
            f"followed: bring that file here, or raise {plan.config.at}.revision to go back to this one",
        )
    source = sources.read(plan.config)  # other rows are a new beginning
    body, fit = _begin(plan.config, source)
    assert body is not None
    said = "its log has changed and is recorded"
    return plan._replace(source=source, changes=[(kinds.WARM_START, body)], said=said, fit=fit)


def _begin(config: ExperimentConfig, source: Source | None) -> tuple[dict[str, Any] | None, Fit | None]:
    """The body of a warm start, its audit included, and what the policy is made of the log.

    What cannot be built must not be recorded: every replica would fail on it.
    """
    if source is None:
        _check_buildable(config, None, None)
        return None, None
    body = _as_json(begin_with(config, source))
    fit = record_fit(_check_buildable(config, source, body))
    return (body if fit is None else {**body, "fit": fit.hash}), fit


def _find_basis(reader: Reader, name: str) -> tuple[int, int]:
    declared, begun = (reader.last(name, kind) for kind in (kinds.CONFIGURATION, kinds.WARM_START))
    return declared.sequence if declared else 0, begun.sequence if begun else 0


def _say_old(config: ExperimentConfig, known: Sequence[Event]) -> str | None:
    """Why a configuration is an old one; None if it is not."""
    if not known:
        return None
    newest, revision = known[-1], known[-1].body.get("revision", 0)
    if config.revision < revision:
        said = f"this process has revision {config.revision} of its configuration"
    elif config.revision > revision or _is_same(config, newest.body):
        return None
    elif any(_is_same(config, event.body) for event in known[:-1]):
        said = "the configuration of this process is an old one"
    else:
        return None
    return (
        f"{said}, the store's newest (revision {revision}, event {newest.sequence}) is followed: give this process "
        f"that one, or set {config.at}.revision = {revision + 1} to go back"
    )


def _is_same(config: ExperimentConfig, recorded: Body) -> bool:
    declared = _as_json(config.as_dict())
    if config.seed is None:
        declared["seed"] = recorded["seed"]  # whatever it got
    if config.forget_after is None and "forget_after" in recorded:
        declared["forget_after"] = recorded["forget_after"]
    # Equal mappings may differ in their order, and that of contexts is the order of the columns.
    return declared == recorded and list(declared["contexts"]) == list(recorded["contexts"])


def _settle_seed(config: ExperimentConfig, known: Sequence[Event]) -> int:
    """The declared one, or the one it has, or a random one: from a known seed, callers choose ids and so actions."""
    if config.seed is not None:
        return config.seed
    recorded = int(known[-1].body["seed"]) if known else _KNOWN_SEED
    return secrets.randbits(_SEED_BITS) if recorded == _KNOWN_SEED else recorded


def _check_fixed(config: ExperimentConfig, known: Sequence[Event]) -> None:
    declared = _as_json(config.as_dict())
    for key in _FIXED if known else ():
        before, after = known[-1].body.get(key), declared.get(key)
        if before != after:
            raise OptionError(
                f"{config.at}.{key} was {before} and cannot become {after}: what was learnt would have been "
                "something else. Give the experiment a new name"
            )


def _check_shown(config: ExperimentConfig, known: Sequence[Event]) -> None:
    """The value speaks of actions that there are, or were: it stays when one of them goes."""
    formula = config.outcomes.formula
    labels = {str(label) for actions in (config.actions, *(e.body["actions"] for e in known)) for label in actions}
    for label in () if formula is None else formula.shown:
        if label not in labels:
            raise OptionError(
                f"{config.at}.value has shown({label!r}), which is no action; known: {list(config.actions)[:20]}"
            )


def _check_buildable(config: ExperimentConfig, source: Source | None, begun: Body | None) -> ServedPolicy:
    bounds, binding = Bounds.in_force(config, begun), Binding.in_force(config, begun)
    policy = build_policy(config, source and source.log, bounds, binding, source and source.starts)
    low, high = policy.outcome_range
    if config.default_outcome is not None and not low <= config.default_outcome <= high:
        raise OptionError(
            f"{config.at}.default_outcome must be in [{low:g}, {high:g}] for this policy, "
            f"got {config.default_outcome:g}"
        )
    return policy


def _as_json(body: Body) -> dict[str, Any]:
    """As it will be read back."""
    read: dict[str, Any] = orjson.loads(orjson.dumps(body))
    return read
