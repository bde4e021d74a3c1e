"""The ledger: the store and the folds of its events, changed by one thread alone, in the order of the events.

A group of asks is one turn of writing: catch up with what other processes wrote, decide and classify by the state at
that moment, commit; only then fold. An event is durable before it counts anywhere.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from headstart.errors import HeadstartError
from headstart.serve.config import ServiceConfig
from headstart.serve.engine.answers import Answer
from headstart.serve.engine.asks import Ask, CloseAsk
from headstart.serve.engine.decision import Decider
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.opening import Sources, declare, load_fold
from headstart.serve.engine.turns import Turn
from headstart.serve.store.events import Event, Receipt
from headstart.serve.store.store import READ_DUE, Reader, Store

SNAPSHOT_EVERY = 20_000  # events
_ERROR_SECONDS = 5.0
_MEND_SECONDS = 10.0
_LOOK_SECONDS = 0.2  # between two looks at other processes and at windows


class Ledger:
    """Folds over a store. `run_group` and `look_after` belong to one thread; others look under `lock`."""

    def __init__(self, config: ServiceConfig, store: Store, clock: Callable[[], float]) -> None:
        self.store, self._clock = store, clock
        self.on_commit: Callable[[float, int], None] | None = None  # told seconds and events of each commit
        self.lock = threading.RLock()  # folds change under it, people look under it
        self.reader = Reader(store.query)
        self._sources = Sources()
        declare(store, config.experiments, self._sources, self.now())
        # The last event folded, of any experiment. What others write while we load is met again after it.
        self.position: int = store.query("SELECT max(sequence) FROM events")[0][0] or 0
        self._saved: dict[str, int] = {}  # the sequence number of each experiment's last snapshot
        self.folds = {name: self._load(name) for name in config.experiments}
        self.deciders = {name: Decider(fold) for name, fold in self.folds.items()}
        self.broken: dict[str, str] = {}  # experiments whose fold failed, and why
        self.duplicates = dict.fromkeys(config.experiments, 0)
        self._error: tuple[float, str] | None = None
        self._looked = self._mended = 0.0

    @property
    def last_error(self) -> str | None:
        """Why the last group failed, if it did so just now: an old failure must not keep new asks away."""
        error = self._error
        return None if error is None or time.monotonic() - error[0] > _ERROR_SECONDS else error[1]

    def now(self) -> int:
        """Microseconds since 1970, by the clock; an event's time is this or the last event's, if that is later."""
        return int(self._clock() * 1e6)

    def _load(self, name: str) -> Fold:
        fold = Fold(name, self.reader.learnt, self._sources.find)
        self._saved[name] = load_fold(fold, self.reader, self.store.query)
        return fold

    def run_group(self, asks: list[Ask]) -> list[Answer]:
        """One turn of writing; the answers when it is durable and folded."""
        started = time.perf_counter()
        try:
            with self.store.writing() as transaction, self.lock:
                if transaction.head.sequence > self.position:  # another process has written
                    self._catch_up(Reader(transaction.query))
                turn = Turn(transaction, self.deciders, self.broken, self.now())
                answers = turn.run(asks)
        except HeadstartError as error:
            self._error = time.monotonic(), str(error)
            raise
        self._error = None
        with self.lock:
            for event in turn.events:
                self._apply(event)
            for ask, answer in zip(asks, answers, strict=True):
                if isinstance(answer, Receipt) and answer.status == "duplicate":
                    self.duplicates[ask.experiment] += 1
        if self.on_commit is not None:
            self.on_commit(time.perf_counter() - started, len(turn.events))
        return answers

    def _apply(self, event: Event) -> None:
        fold = self.folds.get(event.experiment)
        if fold is not None and event.sequence > fold.position and event.experiment not in self.broken:
            try:
                fold.apply(event)
            except Exception as error:  # the event is durable: what fails is this experiment, not the store
                self.broken[event.experiment] = f"event {event.sequence}: {error}"
        self.position = event.sequence

    def _catch_up(self, reader: Reader) -> None:
        for event in reader.events(self.position):
            self._apply(event)

    def look_after(self) -> None:
        """Follow other processes, close windows, keep snapshots: now and then, beside the groups."""
        if time.monotonic() - self._looked < _LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        with self.lock:  # what is committed has no gaps, so following needs no turn of writing
            self._catch_up(self.reader)
        self._mend()
        if self.store.is_folder():
            for name, fold in self.folds.items():
                if fold.learns_at_close and self._is_due(fold):
                    self.run_group([CloseAsk(name)])
            self.save_snapshots(SNAPSHOT_EVERY)

    def _mend(self) -> None:
        """Fold a broken experiment anew: what broke it may have been a read that failed."""
        if self.broken and time.monotonic() - self._mended > _MEND_SECONDS:
            self._mended = time.monotonic()
            for name in list(self.broken):
                fold = self._load(name)
                with self.lock:
                    self.folds[name], self.deciders[name] = fold, Decider(fold)
                    del self.broken[name]

    def _is_due(self, fold: Fold) -> bool:
        over = self.now() - fold.config.window_length
        return bool(self.store.query(READ_DUE, (fold.name, fold.closed_through, 1, over))[0][1])

    def save_snapshots(self, every: int) -> None:
        """Keep a snapshot of each fold that has gone this many events beyond its last one."""
        for name, fold in self.folds.items():
            if fold.position - self._saved[name] >= every and name not in self.broken:
                with self.lock:
                    position, body = fold.position, fold.save()
                if body is not None:
                    self.store.save_snapshot(name, position, body)
                self._saved[name] = position
