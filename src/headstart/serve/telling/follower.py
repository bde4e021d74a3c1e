"""Following: one thread of the process keeps every experiment's account up to date, a small page at a time.

Nobody who looks waits for it: a page and a monitor are told what is folded, and how far that is. While it has much to
fold it sleeps as long as it works, so that decisions have the processor.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import NamedTuple

from headstart.errors import HeadstartError
from headstart.serve.config import Label
from headstart.serve.engine.engine import Engine
from headstart.serve.engine.history import Past, Terms
from headstart.serve.store.events import Body
from headstart.serve.telling.account import Account
from headstart.serve.telling.deeds import Deed
from headstart.serve.telling.guarding import Watched
from headstart.serve.telling.report import FREE, Report
from headstart.serve.telling.sums import Sums

PAGE = 500  # events folded at a time: some milliseconds
SNAPSHOT_EVERY = 20_000  # events, when it has caught up
_SNAPSHOT_ON_THE_WAY = 200_000  # events, while it has not
_TICK_SECONDS = 0.5

logger = logging.getLogger("headstart.serve")


class Told(NamedTuple):
    """An account as somebody reads it: a copy that stands still."""

    sums: Sums
    position: int
    deeds: list[Deed]
    last_deeds: dict[str, Deed]
    watched: Watched
    silence: tuple[int, int, int]  # decisions since the last report, reports and decisions in all
    drifted: list[str]  # columns of contexts that have moved, in words


class Following:
    """One experiment's account. `step` belongs to one thread; `tell` to any."""

    def __init__(self, experiment: str) -> None:
        self._experiment = experiment
        self._told = self._ahead = Account()  # two while everything is folded anew: the old one is told till then
        self._terms: Terms | None = None
        self._saved = 0
        self._changed = threading.Condition()

    def tell(self, actions: list[Label], position: int, patience: float) -> Told:
        """What is folded, over these actions; it is waited for an event for so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._told.mark.position >= position, patience)
            told = self._told
            silence = told.silence, told.reports, told.decisions
            deeds = list(told.deeds), dict(told.last_deeds)
            return Told(
                told.sums.of(actions), told.mark.position, *deeds, told.watched.copied(), silence, told.drift.tell()
            )

    def find_trips(self) -> dict[str, Body]:
        """What is to be recorded of guardrails that have to trip, by name; asked by the thread of `step`."""
        if self._terms is None or self._told is not self._ahead:
            return {}  # all is folded anew, and what is told of is out of date
        return self._told.watched.find_trips(self._terms.bounds.outcome or FREE, self.position)

    @property
    def position(self) -> int:
        """The last event that is told of."""
        return self._told.mark.position

    def step(self, past: Past) -> bool:
        """Fold a page; whether there may be more."""
        if not past.is_open:
            return False
        terms, ahead = self._terms, self._ahead
        if terms is None or terms.rewritten != past.rewritten:
            terms, ahead = self._begin(past)
        if ahead.mark == past.mark():
            self._told = ahead
            return False
        if not past.holds(ahead.mark):  # somebody went on with a store that had lost events
            terms, ahead = self._begin(past)
        page = past.read_page(ahead.mark, ahead.actions, terms, PAGE)
        is_last = page.n_events < PAGE
        with self._changed:
            ahead.add(page)
            if is_last or not self._told.mark.position:
                self._told = ahead
            self._changed.notify_all()
        self.save(past, SNAPSHOT_EVERY if is_last else _SNAPSHOT_ON_THE_WAY)
        return not is_last

    def _begin(self, past: Past) -> tuple[Terms, Account]:
        """Take up the newest snapshot of these terms and this history, or begin with the first event."""
        terms, snapshot = past.terms(), past.snapshot()
        account = None if snapshot is None else Account.load(self._experiment, snapshot)
        if account is None or account.rewritten != terms.rewritten or not past.holds(account.mark):
            account = Account(terms.rewritten)
        self._terms, self._ahead, self._saved = terms, account, account.mark.position
        if not self._told.mark.position:
            self._told = account
        return terms, account

    def save(self, past: Past, every: int) -> None:
        """Offer a snapshot if the account has gone this many events beyond the last one."""
        account = self._ahead
        if past.is_folder and account.mark.position - self._saved >= every:
            past.offer_snapshot(account.mark.position, account.save())
            self._saved = account.mark.position


class Follower:
    """The thread, over all experiments of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._followings: dict[str, Following] = {}
        self._failed: dict[str, str] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._is_closed = False

    def start(self) -> None:
        """Follow from now on."""
        with self._lock:
            if self._thread is None and not self._is_closed:
                Report(Sums("ab")).chi_square()  # imports what the first who looks would wait for
                self._thread = threading.Thread(target=self._run, name="headstart-follower", daemon=True)
                self._thread.start()

    def follow(self, experiment: str) -> Following:
        """An experiment's account, which is brought up to date as soon as may be."""
        self.start()
        self._woken.set()
        return self._find(experiment)

    def _find(self, experiment: str) -> Following:
        with self._lock:
            return self._followings.setdefault(experiment, Following(experiment))

    def close(self) -> None:
        """Stop, and offer what is folded as snapshots."""
        with self._lock:
            self._is_closed = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
            for name in self._engine.experiments:
                self._find(name).save(self._engine.past(name), every=1_000)

    def _run(self) -> None:
        seen = -1e9
        while not self._is_closed:
            self._woken.clear()
            is_time = time.monotonic() - seen >= _TICK_SECONDS
            seen = time.monotonic() if is_time else seen
            has_more = False
            for name in self._engine.experiments:
                started = time.monotonic()
                if self._try_step(name, looks=is_time):
                    has_more = True
                    time.sleep(time.monotonic() - started)
                if self._is_closed:
                    return
            if not has_more:
                self._woken.wait(_TICK_SECONDS)

    def _try_step(self, name: str, *, looks: bool) -> bool:
        """One step; a failure is logged once, and tried again at the next tick."""
        try:
            past = self._engine.past(name)
            if looks and past.is_open:
                self._engine.look(name, patience=0.0)  # so that what was last seen is not old
            following = self._find(name)
            has_more = following.step(past)
            for guardrail, found in () if has_more else following.find_trips().items():
                self._engine.trip(name, guardrail, found)
        except Exception as error:  # whatever it is, the other reports go on
            if self._failed.get(name) != str(error):
                is_ours = isinstance(error, HeadstartError)
                logger.warning("the report of %r cannot be folded now: %s", name, error, exc_info=not is_ours)
            self._failed[name] = str(error)
            return False
        self._failed.pop(name, None)
        return has_more
