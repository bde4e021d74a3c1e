"""The account of an experiment: everything that its report tells, folded from its events up to one of them.

A snapshot of it is a cache, as the policy's is: one that does not load, is of another version or of other terms is
none, and the events are folded.
"""

from __future__ import annotations

import logging

import numpy as np

from headstart.serve.engine.history import Decided, Mark, Page
from headstart.serve.engine.snapshot import read_snapshot, write_snapshot
from headstart.serve.store.chain import GENESIS
from headstart.serve.telling.deeds import Deed
from headstart.serve.telling.drift import ContextDrift
from headstart.serve.telling.guarding import Watched
from headstart.serve.telling.sums import Sums

_N_DEEDS = 12  # the newest, for the page

logger = logging.getLogger("headstart.serve")


class Account:
    """What has happened up to `mark`, by the terms that the event `rewritten` set."""

    def __init__(self, rewritten: int = 0) -> None:
        self.rewritten = rewritten
        self.mark = Mark(0, GENESIS)
        self.actions: list[str] = []  # in force
        self.sums = Sums()
        self.deeds: list[Deed] = []
        self.last_deeds: dict[str, Deed] = {}  # the newest of each kind
        self.watched = Watched()  # guardrails
        self.drift = ContextDrift()
        self.reports = self.silence = self.decisions = 0  # of outcomes; decisions since the last of them, and in all

    def add(self, page: Page) -> None:
        """Fold the events after `mark`."""
        for decided in page.decided:
            self._add_decided(decided)
        for event in page.deeds:
            self.watched.take(event)
        heard = page.heard
        if heard.times:
            self.watched.add(heard)
            self.sums.add_outcomes(
                np.array(heard.times),
                self._places(heard.drawn),
                np.array(heard.propensities),
                np.array(heard.outcomes, dtype=np.float64),
                np.array(heard.is_holdout),
                np.array(heard.numbers, dtype=np.float64),
            )
        deeds = [Deed.of(event) for event in page.deeds]
        self.deeds = [*self.deeds, *deeds][-_N_DEEDS:]
        self.last_deeds.update({deed.kind: deed for deed in deeds})
        self.silence = page.silence if page.reports else self.silence + page.silence
        self.reports += page.reports
        self.decisions += sum(len(decided.times) for decided in page.decided)
        self.mark, self.actions = page.mark, page.actions

    def _add_decided(self, decided: Decided) -> None:
        self.sums = self.sums.declare(decided.actions)
        if not decided.times:
            return
        self.drift.add(decided.contexts)
        drawn_from = np.array(decided.chances)  # (n, K of their time)
        chances = np.zeros((len(drawn_from), len(self.sums.actions)))
        chances[:, self._places(decided.actions)] = drawn_from
        self.sums.add_decisions(np.array(decided.times), self._places(decided.drawn), chances)

    def _places(self, labels: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        index = {label: a for a, label in enumerate(self.sums.actions)}
        return np.array([index[label] for label in labels], dtype=np.int64)

    def save(self) -> bytes:
        """A snapshot."""
        return write_snapshot(
            {
                "rewritten": self.rewritten,
                "mark": list(self.mark),
                "actions": self.actions,
                "sums": self.sums.as_dict(),
                "deeds": [list(deed) for deed in self.deeds],
                "drift": self.drift.as_dict(),
                "watched": self.watched.as_dict(),
                "reports": [self.reports, self.silence, self.decisions],
                "last_deeds": [list(deed) for deed in self.last_deeds.values()],
            }
        )

    @classmethod
    def load(cls, experiment: str, snapshot: str) -> Account | None:
        """From a snapshot; None, with a word in the log, for one that cannot be taken up."""
        try:
            saved = read_snapshot(snapshot)
            account = cls(saved["rewritten"])
            account.mark, account.actions = Mark(*saved["mark"]), saved["actions"]
            account.sums = Sums.from_dict(saved["sums"])
            account.reports, account.silence, account.decisions = saved["reports"]
            account.drift = ContextDrift.from_dict(saved["drift"])
            account.watched = Watched.from_dict(saved["watched"])
            account.deeds = [Deed(*deed) for deed in saved["deeds"]]
            account.last_deeds = {deed.kind: deed for deed in (Deed(*each) for each in saved["last_deeds"])}
        except Exception as error:  # whatever is wrong with a cache, what it was made from is there
            logger.warning("a snapshot of the report of %r was dropped, its events are folded: %s", experiment, error)
            return None
        return account
