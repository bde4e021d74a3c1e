"""The roster: which experiments this process runs, each with its ledger and the thread that opens and writes it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from headstart.errors import HeadstartError, LogError, OptionError
from headstart.logs.log import Log
from headstart.serve.config import ExperimentConfig, ServiceConfig
from headstart.serve.engine.anchor import Anchor
from headstart.serve.engine.declaration import Plan, plan_declaration
from headstart.serve.engine.ledger import Ledger
from headstart.serve.engine.sources import Sources
from headstart.serve.engine.writer import Writer
from headstart.serve.store.reader import Reader
from headstart.serve.store.store import Store

_SNAPSHOT_EVERY = 1_000  # events, at the end
_PATIENCE = 3.0  # seconds until a reload says that an experiment is still at it

logger = logging.getLogger("headstart.serve")


class Roster:
    """Experiments by name. The mappings are replaced, never changed: who reads them needs no lock."""

    def __init__(self, config: ServiceConfig, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock, self._sources = store, clock, Sources()
        self._anchor = Anchor(None if config.anchor is None else Path(config.anchor))
        self._goes_on = config.after_loss == "go on"
        self._declared = dict(config.experiments)
        self._on_commit: Callable[[float, int], None] | None = None
        self.ledgers: Mapping[str, Ledger] = {name: self._make(each) for name, each in config.experiments.items()}
        self.writers: Mapping[str, Writer] = {name: _run(ledger) for name, ledger in self.ledgers.items()}

    def _make(self, config: ExperimentConfig) -> Ledger:
        ledger = Ledger(config, self._store, self._sources, self._clock, anchor=self._anchor, goes_on=self._goes_on)
        ledger.on_commit = self._on_commit
        return ledger

    def watch_commits(self, told: Callable[[float, int], None]) -> None:
        """Have each commit's seconds and number of events told, of experiments to come too."""
        self._on_commit = told
        for ledger in self.ledgers.values():
            ledger.on_commit = told

    def wait(self) -> None:
        """Until each is open or broken. A wrong configuration is raised, and what broke them if all are broken."""
        for ledger in self.ledgers.values():
            ledger.tried.wait()
        failures = [ledger.failure for ledger in self.ledgers.values() if ledger.failure is not None]
        wrong = next((each for each in failures if isinstance(each, OptionError)), None)
        if wrong is not None:
            raise wrong
        if len(failures) == len(self.ledgers):
            raise failures[0]

    def reload(self, config: ServiceConfig) -> dict[str, str]:
        """Take up other experiments: what became of each. Everything is checked before anything is changed."""
        plans = {name: self._plan(each) for name, each in config.experiments.items()}
        told = {name: "closed" for name in self.ledgers if name not in config.experiments}
        ledgers = {name: self.ledgers.get(name) or self._make(each) for name, each in config.experiments.items()}
        gone = {name: (self.ledgers[name], self.writers[name]) for name in told}
        added = {name: _run(ledger) for name, ledger in ledgers.items() if name not in self.ledgers}
        for name, plan in plans.items():
            if isinstance(plan, HeadstartError):
                told[name] = f"left as it is: {plan}"
            elif name not in added:
                ledgers[name].redeclare(config.experiments[name], plan)
        # Who has just found an experiment that goes is refused by its closed writer, so that stays.
        self.writers = {**self.writers, **added}
        self.ledgers, self._declared = ledgers, dict(config.experiments)
        for ledger, writer in gone.values():
            _close(ledger, writer)
        end = time.monotonic() + _PATIENCE
        return {name: _await(each, end, is_new=name in added) for name, each in ledgers.items()} | told

    def _plan(self, config: ExperimentConfig) -> Plan | HeadstartError | None:
        """What its declaration would be; raises what is wrong with it.

        One that has not changed is no reason to refuse the rest: what is wrong with its log is told (or, where that
        has broken it already, it is only tried again).
        """
        before, ledger = self._declared.get(config.name), self.ledgers.get(config.name)
        is_same = before is not None and before.as_dict() == config.as_dict() and not isinstance(config.log, Log)
        if is_same and ledger is not None and ledger.broken is not None:
            return None
        try:
            return plan_declaration(Reader(self._store.query), config, self._sources)
        except LogError as error:
            if not is_same:
                raise
            return error

    def stop_opening(self) -> None:
        """Have those that are still folded for the first time give up."""
        for ledger in self.ledgers.values():
            ledger.is_closing = True

    def close(self) -> None:
        """Finish what was asked, keep snapshots."""
        self.stop_opening()
        for name, ledger in self.ledgers.items():
            _close(ledger, self.writers[name])


def _run(ledger: Ledger) -> Writer:
    """The thread that opens it, then writes."""
    return Writer(ledger.run_group, ledger.look_after)


def _await(ledger: Ledger, end: float, *, is_new: bool) -> str:
    """What became of what was declared."""
    if not ledger.tried.wait(max(0.0, end - time.monotonic())):
        return "still being opened"
    if ledger.failure is not None:
        return f"broken: {ledger.failure}"
    if ledger.is_old:
        return f"not taken up: {ledger.said}"
    return "opened" if is_new else "taken up"


def _close(ledger: Ledger, writer: Writer) -> None:
    ledger.is_closing = True
    writer.close()
    try:
        ledger.note_head(now=True)
        ledger.save_snapshot(every=_SNAPSHOT_EVERY)
        ledger.save_offered()
    except HeadstartError:
        pass  # a snapshot is only a cache
    logger.info("experiment %r is closed at event %d", ledger.name, ledger.fold.position)
