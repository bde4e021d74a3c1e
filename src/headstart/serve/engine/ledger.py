"""A ledger: one experiment's events and their fold, changed by one thread alone, in the order of the events.

A group of asks is one turn of writing: catch up with what other processes wrote, decide and classify by the state at
that moment, commit; only then fold. An event is durable before it counts anywhere.

The ledger remembers the head that it has folded up to. A store whose head is behind it, or has another hash, has lost
events or was swapped: nothing is read from it or written to it until somebody accepts that (`headstart store
accept`), which begins a new epoch and has every process fold anew.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from headstart.errors import HeadstartError
from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.acceptance import accept_history
from headstart.serve.engine.anchor import Anchor
from headstart.serve.engine.answers import Answer
from headstart.serve.engine.asks import Ask, CloseAsk
from headstart.serve.engine.bounds import describe_bounds
from headstart.serve.engine.clocks import ClockWatch
from headstart.serve.engine.decision import Decider
from headstart.serve.engine.declaration import Plan, declare
from headstart.serve.engine.erasing import clear_files
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.lineage import as_swapped, is_same_epoch
from headstart.serve.engine.opening import load_fold
from headstart.serve.engine.sources import Sources
from headstart.serve.engine.starting import describe_start, is_loud, tell_start
from headstart.serve.engine.state import Sight, describe
from headstart.serve.engine.store_status import StoreStatus
from headstart.serve.engine.turns import Turn, list_sought
from headstart.serve.errors import HistoryLost, StillOpening, StoreCorrupt, StoreUnavailable, TooSlow
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body, Event, Receipt
from headstart.serve.store.questions import CLEAR_PROBE, DROP_SNAPSHOTS, FILL_PROBE, READ_DUE, SAVE_SNAPSHOT
from headstart.serve.store.reader import FOLD, REPORT, Reader, page_after
from headstart.serve.store.store import Head, Store, Transaction

SNAPSHOT_EVERY = 20_000  # events
_PROBE_BYTES = 1 << 18  # a full disk still takes a few: it is writable again when there is room for many
_MEND_SECONDS = 10.0  # between two tries to fold a broken experiment; the first come sooner
_FIRST_MEND = 0.2  # seconds: a read that failed once seldom fails twice
_SCRUB_SECONDS = 1.0  # between two tries to leave nothing of what was erased
_LOOK_SECONDS = 0.2  # between two looks at other processes and at windows

logger = logging.getLogger("headstart.serve")


class Ledger:
    """One experiment over a store. `run_group` and `look_after` belong to one thread; others look under `lock`.

    `clock` gives seconds since 1970, for events; `ticks` seconds since anything, for what is done now and then.
    `goes_on` accepts a loss of events without asking anybody.
    """

    def __init__(
        self,
        config: ExperimentConfig,
        store: Store,
        sources: Sources,
        clock: Callable[[], float],
        *,
        ticks: Callable[[], float] = time.monotonic,
        anchor: Anchor | None = None,
        goes_on: bool = False,
    ) -> None:
        self.name, self.store = config.name, store
        self.on_commit: Callable[[float, int], None] | None = None  # told seconds and events of each commit
        self.lock = threading.RLock()  # the fold changes under it, people look under it
        self.reader, self.clock_watch = Reader(store.query), ClockWatch(config.name)
        self.duplicates = 0
        self.broken: str | None = "it is being opened"  # why there is no fold at present
        self.tried = threading.Event()  # whether what was declared has been taken up, or cannot be for now
        self.failure: Exception | None = None  # why it cannot
        self.is_closing = False
        self.status = StoreStatus(config.name, ticks)
        self.seen: Sight | None = None  # the state when somebody last saw it
        self.offered: tuple[int, bytes] | None = None  # a report's snapshot, and where it stands, to be kept
        self.fold = Fold(config.name, self.reader, sources.find)
        self.decider = Decider(self.fold)
        self.newest = 0  # the head of the store when it was last seen
        self.is_folder = False  # whether this process was the one to close windows when it last looked
        self._head: Head | None = None  # the last event folded
        self._config, self.sources, self._clock, self.ticks = config, sources, clock, ticks
        self._anchor, self._goes_on = anchor or Anchor(None), goes_on
        self.said: str | None = None  # of the last declaration: not at every try
        self.is_old = False  # whether what was declared is, so that the store's is followed
        self._plan: Plan | None = None  # of what was handed over since
        self._has_company = False  # whether another process had written before the last turn
        self._told: Body | None = None  # the warm start that the log has heard of
        self._saved = 0  # the sequence number of the last snapshot
        self._is_scrubbed = False  # whether nothing is left of what was erased
        self._looked = self._mended = self._scrubbed = -1e9
        self._patience = _FIRST_MEND  # seconds until the next try to mend it

    def open(self) -> None:
        """Record what the configuration changed, and fold everything that the store holds."""
        started = self.ticks()
        try:
            self._anchor.check(self.name, self.reader)
        except HistoryLost as loss:
            self._accept(loss)
        self._declare()
        self._load()
        begun = f"from a snapshot at event {self._saved}" if self._saved else "from the first"
        seconds = self.ticks() - started
        logger.info("experiment %r is open: %d events in %.1f s, %s", self.name, self.newest, seconds, begun)
        logger.info("experiment %r: %s", self.name, describe_bounds(self.fold.config, self.fold.reckoning.bounds))
        self._tell_start()

    def _tell_start(self) -> None:
        """Say once what is read of a log, what the audit found and how far the log is used."""
        if self.fold.log is self._told or self.fold.log == self._told:
            return
        self._told, start = self.fold.log, describe_start(self.fold)
        if start is not None:
            *lines, used = tell_start(start)
            for line in lines:
                logger.info("experiment %r: %s", self.name, line)
            logger.log(logging.WARNING if is_loud(start) else logging.INFO, "experiment %r: %s", self.name, used)

    def redeclare(self, config: ExperimentConfig, plan: Plan | None) -> None:
        """Have another configuration declared, by the thread that writes; `tried` says when."""
        self.tried.clear()
        self._config, self._plan = config, plan
        self._mended, self._patience = -1e9, _FIRST_MEND

    def _declare(self) -> None:
        planned, self._plan = self._plan, None
        plan = declare(self.store, self._config, self.sources, self.now(), planned)
        if plan.said is not None and plan.said != self.said:
            logger.log(logging.WARNING if plan.is_old else logging.INFO, "experiment %r: %s", self.name, plan.said)
        self.said, self.is_old = plan.said, plan.is_old

    def _accept(self, loss: HistoryLost) -> None:
        """Go on without the lost events, if that was chosen beforehand; raises the loss otherwise."""
        if not self._goes_on:
            raise loss
        logger.error("%s; after_loss is 'go on', so it is accepted", loss)
        accept_history(self.store, f"after_loss = 'go on': {loss}", by="headstart", clock=self._clock)

    def now(self) -> int:
        """Microseconds since 1970, by the clock; an event's time is this or the last event's, if that is later."""
        return int(self._clock() * 1e6)

    def _load(self) -> None:
        head = self.reader.head(self.name)
        is_opening = self.is_opening

        def tell(position: int) -> None:
            if self.is_closing:
                raise StoreUnavailable("the service is closing")
            if is_opening:
                self.broken = f"it is being opened: {position / head.sequence:.0%} of its events are folded"

        fold, saved = load_fold(self.name, self.reader, self.sources, tell)
        with self.lock:
            self.fold, self.decider, self._saved = fold, Decider(fold), saved
            self.newest = fold.position
            self.see()
            self.broken = None
            self._head = head._replace(sequence=fold.position, hash=fold.hash)  # now it is no longer being opened

    def see(self) -> Sight:
        """The state as it is; under the lock, of a fold that is settled."""
        self.seen = Sight(describe(self.fold, self.decider, self.duplicates, self.now()), self.fold.config)
        return self.seen

    @property
    def is_opening(self) -> bool:
        """Whether it is folded for the first time."""
        return self._head is None and not self.tried.is_set()

    @contextmanager
    def looking(self, seconds: float) -> Iterator[None]:
        """The fold as it is, for people; they do not wait longer than this for what changes it."""
        if not self.lock.acquire(timeout=seconds):
            raise TooSlow.after(seconds)
        try:
            yield
        finally:
            self.lock.release()

    def run_group(self, asks: list[Ask], take_more: Callable[[], list[Ask]] = list) -> list[Answer]:
        """One turn of writing; the answers when it is durable and folded.

        What was asked while it waited for its turn is taken in: `take_more` gives it.
        """
        self._check_settled()  # within a turn, other processes would wait for a policy that is built anew
        with self.status.busy() as started:
            try:
                transaction, turn, answers = self._take_turn(asks, take_more)
            except HeadstartError as error:
                self.status.fail(error)
                if isinstance(error, HistoryLost):
                    self._accept(error)
                raise
        self.status.succeed()
        with self.lock:
            for event in turn.events:
                self._apply(event)
            self._head = transaction.head
            self.duplicates += sum(isinstance(each, Receipt) and each.status == "duplicate" for each in answers)
        self._settle()
        if any(event.kind == kinds.REDACTED for event in turn.events):
            self._scrub()
        if turn.events:
            self.status.committed = self.ticks()
        if self.on_commit is not None:
            self.on_commit(self.ticks() - started, len(turn.events))
        return answers

    def _take_turn(
        self, asks: list[Ask], take_more: Callable[[], list[Ask]]
    ) -> tuple[Transaction, Turn, list[Answer]]:
        """From the lock to the commit."""
        ahead = page_after(self.name, self.fold.position) if self._has_company else None
        with self.store.writing(self.name, list_sought(asks), ahead) as transaction:
            self._meet(transaction.head)
            self._has_company = transaction.head.sequence > self.fold.position  # another process has written
            if self._has_company:
                self._catch_up(Reader(transaction.query))
                self._check_settled()
            more = take_more()
            transaction.find(list_sought(more))
            with self.lock:  # not while a store that hangs is waited for: people look meanwhile
                turn = Turn(transaction, self.decider, self.now())
                answers = turn.run([*asks, *more])
        return transaction, turn, answers

    def check_whole(self) -> None:
        """A fold that failed half-way is not the state of any event: nothing may be decided by it."""
        broken = self.broken
        if broken is not None:
            if self.is_opening:
                raise StillOpening(f"experiment {self.name!r} cannot decide yet: {broken}")
            raise StoreUnavailable(f"experiment {self.name!r} cannot be folded: {broken}")

    def _check_settled(self) -> None:
        """Nothing is decided or taken while what the policy has learnt cannot be read: its range is not known."""
        self._settle()
        self.check_whole()
        if not self.fold.is_settled:
            raise StoreUnavailable(f"experiment {self.name!r} cannot be folded anew now: {self.status.error}")

    def _meet(self, found: Head) -> None:
        """Compare the store's head with what this process has folded."""
        assert self._head is not None
        self.newest = max(self.newest, found.sequence)
        if not is_same_epoch(self.name, self._head, found):
            logger.warning("experiment %r: a new epoch of the store has begun, its events are folded anew", self.name)
            self._load()

    def _apply(self, event: Event) -> None:
        if event.sequence > self.fold.position and self.broken is None:
            if event.event_id is None and event.kind != kinds.WINDOW_CLOSED:  # somebody decided something
                level = logging.WARNING if event.kind == kinds.TRIPPED else logging.INFO
                logger.log(level, "experiment %r: event %d, %s", self.name, event.sequence, event.tell())
            if event.kind == kinds.REDACTED:  # it has let go of the snapshots: another one, soon
                self._saved, self._is_scrubbed = 0, False
            try:
                self.fold.apply(event)
            except Exception as error:  # the event is durable: what fails is this experiment, not the store
                self.stay_broken(f"event {event.sequence}: {error}")

    def stay_broken(self, cause: str) -> None:
        """There is no fold at present: what is asked is refused with this cause, and it is tried again."""
        self.broken = cause
        logger.error("experiment %r cannot be folded: %s", self.name, cause)

    def _catch_up(self, reader: Reader) -> None:
        assert self._head is not None
        try:
            for event in reader.linked(self.name, self._head.sequence, self._head.hash):
                with self.lock:
                    self._apply(event)
                self._head = self._head._replace(sequence=event.sequence, time=event.time, hash=event.hash)
        except StoreCorrupt as error:  # it has more events than were folded, and they follow others
            raise as_swapped(error) from error
        self._settle()

    def look_after(self) -> None:
        """Follow other processes, close windows, keep snapshots: now and then, beside the groups."""
        self._settle()
        if self.ticks() - self._looked < _LOOK_SECONDS:
            return
        self._looked = self.ticks()
        if self.broken is not None:
            self._mend()
            return
        with self.status.busy():
            try:
                self._look()
            except HistoryLost as loss:
                self.status.fail(loss)
                if self._goes_on:
                    self._accept(loss)
            except HeadstartError as error:
                self.status.fail(error)

    def _look(self) -> None:
        if self.status.begin_probe():
            self._probe()
        if not self.tried.is_set():
            self._take_up()
        self._follow()
        self._ask_for_role()
        if self.is_folder:
            if self.fold.closes and self._is_due():
                self.run_group([CloseAsk(self.name)])
            self.save_snapshot(SNAPSHOT_EVERY)
            self.save_offered()
        if not self._is_scrubbed and self.ticks() - self._scrubbed >= _SCRUB_SECONDS:
            self._scrub()

    def _scrub(self) -> None:
        """Leave nothing of what was erased where it is no longer looked for; while somebody reads there, it waits."""
        self._scrubbed = self.ticks()
        if not self._is_scrubbed:
            with suppress(StoreUnavailable, OSError):
                clear_files(self.reader, self.name)
                self._is_scrubbed = self.store.scrub()

    def _settle(self) -> None:
        """What is to be built or counted anew is, before anybody asks: outcomes are checked by the policy's range."""
        if self.broken is None and not self.fold.is_settled:
            try:
                with self.lock:
                    self.fold.settle()
            except StoreUnavailable as error:  # it is tried again at the next look
                self.status.fail(error)
            except Exception as error:
                self.stay_broken(f"its policy: {error}")
            else:
                self._tell_start()

    def _follow(self) -> None:
        self._meet(self.reader.head(self.name))
        if self.newest > self.fold.position:  # what is committed has no gaps, so following needs no turn of writing
            self._catch_up(self.reader)
        if self._head is not None:
            self.clock_watch.look(self._head.time, self.now())
        self.note_head()

    def note_head(self, *, now: bool = False) -> None:
        """Tell the anchor how far this experiment has come."""
        if self._head is not None:
            self._anchor.note(self.name, self._head, now=now)

    def _probe(self) -> None:
        """Write what means nothing and take it back: only a write that succeeded says that the next one may."""
        for statement, parameters in ((FILL_PROBE, ("." * _PROBE_BYTES,)), (CLEAR_PROBE, ())):
            with self.store.writing(self.name) as transaction:
                self._meet(transaction.head)
                transaction.execute(statement, parameters)
        self.status.succeed()

    def _mend(self) -> None:
        """Open it, or fold a broken one anew: a read may have failed, or a log may be back."""
        if self.ticks() - self._mended <= min(self._patience, _MEND_SECONDS):
            return
        self._mended, config = self.ticks(), self._config
        self._patience = min(2.0 * self._patience, _MEND_SECONDS)
        try:
            if self._head is None:  # it was never opened
                self.open()
                self._end_try(config)
            else:
                self._load()
                logger.warning("experiment %r is folded again", self.name)
            self.failure, self._patience = None, _FIRST_MEND
        except Exception as error:
            self.failure = error
            if not isinstance(error, HeadstartError):  # ours to mend, so with its traceback
                logger.exception("experiment %r", self.name)
            if str(error) != self.broken and not self.is_closing:
                self.stay_broken(str(error))
            self._end_try(config)

    def _take_up(self) -> None:
        """Declare the configuration that was handed over since; what is wrong with it leaves all as it is."""
        config = self._config
        try:
            self._declare()
            self.failure = None
        except HeadstartError as error:
            self.failure = error
            logger.error("experiment %r: its configuration was not taken up: %s", self.name, error)
        finally:
            self._end_try(config)

    def _end_try(self, config: ExperimentConfig) -> None:
        if self._config is config:  # no other was handed over meanwhile
            self.tried.set()

    def _ask_for_role(self) -> None:
        is_folder = False  # where the store does not answer: another process may have the role by now
        try:
            is_folder = self.store.is_folder(self.name)
        finally:
            if is_folder != self.is_folder:
                told = "looks" if is_folder else "no longer looks"
                logger.info("experiment %r: this process %s after its windows and snapshots", self.name, told)
            self.is_folder = is_folder

    def _is_due(self) -> bool:
        over = self.now() - self.fold.config.window_length
        return bool(self.store.query(READ_DUE, (self.name, self.fold.closed_through, 1, over))[0][1])

    def save_snapshot(self, every: int) -> None:
        """Keep a snapshot if the fold has gone this many events beyond the last one; the two newest are kept."""
        if self.fold.position - self._saved < every or self.broken is not None:
            return
        with self.lock:
            position, body = self.fold.position, self.fold.save()
        if body is not None:
            self._keep(FOLD, position, body)
        self._saved = position

    def save_offered(self) -> None:
        """Keep the snapshot that a report offered."""
        if self.offered is not None:
            (position, body), self.offered = self.offered, None
            self._keep(REPORT, position, body)

    def _keep(self, kind: str, position: int, body: bytes) -> None:
        with self.store.writing(self.name) as transaction:
            reader = Reader(transaction.query)
            for event in (reader.last(self.name, each) for each in (kinds.REDACTED, kinds.ARCHIVED)):
                if event is not None and event.sequence > position:
                    return  # it may hold what is to be forgotten, or rest on events that are no longer here
            transaction.execute(SAVE_SNAPSHOT, (self.name, kind, position, body.decode()))
            transaction.execute(DROP_SNAPSHOTS, (self.name, kind, self.name, kind))
