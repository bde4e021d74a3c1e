"""Reader: an experiment's events in pages, so that neither memory nor a transaction grows with the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headstart.serve.errors import StoreCorrupt
from headstart.serve.store import events as kinds
from headstart.serve.store import questions
from headstart.serve.store.archives import Archive, find_archive_files
from headstart.serve.store.chain import GENESIS, digest_row, next_hash
from headstart.serve.store.events import NOTHING, Body, DecisionBody, Event, Learnt, Row, decision_body, read_body
from headstart.serve.store.store import Head, Query, Question

_ARCHIVE_PAGE = 50_000  # of files, where a page is a search of its own
PAGE = 5_000  # rows read at a time: no reader holds a transaction for long
FOLD, REPORT = "fold", "report"  # kinds of snapshots
CHECKPOINT = "checkpoint"  # a fold that goes on without the events that were archived before it


def as_event(row: Row) -> Event:
    """A row of READ_EVENTS, READ_KIND or READ_STEERING."""
    known = None if row[7] is None else decision_body(read_body(row[7]))
    return Event(row[0], row[1], row[2], row[3], row[4], row[5], read_body(row[6]), known, row[8] or 0, row[9])


def as_learnt(sequence: int, time: int, decided: int, decision: DecisionBody, outcome: Body, about: int) -> Learnt:
    """An `outcome` event that counts as it comes."""
    named = outcome.get("outcomes", NOTHING)
    return Learnt(sequence, time, decided, decision, outcome["outcome"], False, about, named)


def page_after(experiment: str, sequence: int, size: int = PAGE) -> Question:
    """The question for the events after one."""
    return questions.READ_EVENTS, (experiment, sequence, size)


class Reader:
    """Questions about one experiment after another, asked of a store or within a turn of writing.

    What is archived is asked of its files; `folder` says where these are, if not where they were written to.
    """

    def __init__(self, query: Query, folder: Path | None = None) -> None:
        self._query, self._folder = query, folder
        self._opened: dict[str, Archive] = {}

    def archive(self, experiment: str) -> Archive | None:
        """The events that are no longer in the store, if there are any."""
        archived = list(self.all_of(experiment, kinds.ARCHIVED))
        if not archived:
            return None
        files = find_archive_files(archived, self.all_of(experiment, kinds.REDACTED))
        known = self._opened.get(experiment)
        if known is None or known.files != files:
            known = self._opened[experiment] = Archive(experiment, files, self._folder)
        return known

    def check_archive(self, experiment: str) -> None:
        """Raise ArchiveAway if there are archived events whose files are not there."""
        archive = self.archive(experiment)
        if archive is not None:
            archive.check_there()

    def begin_of(self, experiment: str) -> tuple[int, str]:
        """The event, and its hash, after which the store itself has them all."""
        archive = self.archive(experiment)
        return (0, GENESIS) if archive is None else (archive.through, archive.hash)

    def stored(self, experiment: str, through: int) -> Iterator[Event]:
        """The events up to one that are in the store itself, archived or not."""
        after = 0
        while after < through and (rows := self._query(*page_after(experiment, after))):
            yield from (as_event(row) for row in rows if row[0] <= through)
            after = rows[-1][0]

    def _stretches(self, experiment: str, after: int, through: int) -> Iterator[tuple[Query, int, int]]:
        """Whom to ask for the events in (after, through]."""
        archive = self.archive(experiment)
        if archive is not None and after < archive.through:
            yield archive.query, after, min(through, archive.through)
            after = archive.through
        if after < through:
            yield self._query, after, through

    def head(self, experiment: str) -> Head:
        """The last event of an experiment, or the beginning if it has none."""
        return Head(*self._query(questions.READ_HEAD, (experiment,))[0])

    def hash_at(self, experiment: str, sequence: int) -> str | None:
        """The hash of an event, or None if it is not there; that of the beginning is empty."""
        if sequence == 0:
            return GENESIS
        rows = self._query(questions.READ_HASH, (experiment, sequence))
        if not rows:
            archive = self.archive(experiment)
            if archive is not None and sequence <= archive.through:
                rows = [(file.hash,) for file in archive.files if file.through == sequence]
                if not rows and not archive.find_missing():
                    rows = archive.query(questions.READ_HASH, (experiment, sequence))
        return rows[0][0] if rows else None

    def events(self, experiment: str, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Events after a sequence number, each outcome with its decision's body."""
        return map(as_event, self._rows(experiment, after, limit))

    def linked(self, experiment: str, after: int, hash: str) -> Iterator[Event]:
        """Events after one with this hash; StoreCorrupt at the first that does not follow the one before it."""
        redacted: dict[int, str] | None = None
        for row in self._rows(experiment, after, None):
            hash = next_hash(hash, row[:7])
            if hash != row[9]:
                if redacted is None or row[0] not in redacted:  # it may have been erased since the last look
                    redacted = self.redacted(experiment)
                if redacted.get(row[0]) != digest_row(row[:7]):
                    raise StoreCorrupt(
                        f"event {row[0]} of {experiment!r} does not follow the event before it: the store was changed"
                    )
                hash = row[9]
            yield as_event(row)

    def redacted(self, experiment: str) -> dict[int, str]:
        """The decisions that were erased, by sequence number, each with the digest of what is left of it."""
        erasures = self.all_of(experiment, kinds.REDACTED)
        return {sequence: digest for event in erasures for sequence, digest in event.body["decisions"]}

    def _rows(self, experiment: str, after: int, limit: int | None) -> Iterator[Row]:
        left = limit
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            rows = self._query(*page_after(experiment, after, size))
            if rows and rows[-1][0] != after + len(rows):  # there are gaps: of an old schema, or what was archived
                archive = self.archive(experiment)
                if archive is not None and after < archive.through:
                    size = _ARCHIVE_PAGE if left is None else min(_ARCHIVE_PAGE, left)
                    rows = archive.query(*page_after(experiment, after, size))
                    yield from rows
                    after, left = rows[-1][0], None if left is None else left - len(rows)
                    continue
            yield from rows
            if len(rows) < size:
                return
            after, left = rows[-1][0], None if left is None else left - size

    def all_of(self, experiment: str, kind: str) -> Iterator[Event]:
        """Every event of a kind that has no event id, in order."""
        for row in self._query(questions.READ_KIND, (experiment, kind)):
            yield as_event(row)

    def last(self, experiment: str, kind: str) -> Event | None:
        """The last event of a kind that has no event id."""
        rows = self._query(questions.READ_STEERING, (experiment, kind))
        return as_event(rows[0]) if rows else None

    def decision(self, experiment: str, event_id: str) -> Event | None:
        """The decision of an event id."""
        asked = questions.READ_DECISION, (experiment, event_id)
        rows, archive = self._query(*asked), None
        if not rows:
            archive = self.archive(experiment)
        found = rows if archive is None else archive.query(*asked)
        return as_event(found[0]) if found else None

    def of_id(self, experiment: str, event_id: str, limit: int) -> list[Event]:
        """The first events with an event id: its decision, and what came of it."""
        asked = questions.READ_OF_ID, (experiment, event_id, limit)
        rows, archive = self._query(*asked), None
        if not rows:
            archive = self.archive(experiment)
        return [as_event(row) for row in (rows if archive is None else archive.query(*asked))]

    def snapshot(self, experiment: str, kind: str) -> str | None:
        """The newest snapshot of a kind."""
        rows = self._query(questions.READ_SNAPSHOT, (experiment, kind))
        return rows[0][0] if rows else None

    def fit(self, hash: str) -> str | None:
        """What is kept under the hash of a fit; None if nothing is."""
        rows = self._query(questions.READ_FIT, (hash,))
        return rows[0][0] if rows else None

    def learnt(self, experiment: str, after: int, through: int, *, at_close: bool) -> Iterator[Learnt]:
        """The outcomes that began to count in (after, through]."""
        for query, first, last in self._stretches(experiment, after, through):
            if at_close:
                for sequence, time, body in query(questions.READ_CLOSES, (experiment, first, last)):
                    yield from self._closed(query, experiment, sequence, time, read_body(body))
            else:
                yield from self._learnt(query, experiment, first, last)

    def _learnt(self, query: Query, experiment: str, after: int, through: int) -> Iterator[Learnt]:
        size = PAGE if query == self._query else _ARCHIVE_PAGE
        while True:
            rows = query(questions.READ_LEARNT, (experiment, after, through, size))
            for sequence, time, decided, decision, outcome, about in rows:
                yield as_learnt(
                    sequence, time, decided, decision_body(read_body(decision)), read_body(outcome), about
                )
            if len(rows) < size:
                return
            after = rows[-1][0]

    def _closed(self, query: Query, experiment: str, sequence: int, time: int, close: Body) -> Iterator[Learnt]:
        after, default = close["after"], close["default"]
        while True:
            rows = query(questions.READ_CLOSED, (sequence, experiment, after, close["through"], PAGE))
            for about, decided, decision, outcome in rows:
                value = default if outcome is None else read_body(outcome)["outcome"]
                body = decision_body(read_body(decision))
                yield Learnt(sequence, time, decided, body, value, outcome is None, about)
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def joined(self, experiment: str, after: int = 0) -> Iterator[Row]:
        """Decisions with their outcomes: (sequence, event id, time, decision's body, outcome's body, its time)."""
        archive = self.archive(experiment)
        if archive is not None and after < archive.through:
            yield from self._joined_archived(archive, after)
            after = archive.through
        while True:
            rows = self._query(questions.READ_JOINED, (experiment, after, PAGE))
            yield from rows
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def _joined_archived(self, archive: Archive, after: int) -> Iterator[Row]:
        """The archived ones; an outcome that came later is in the store."""
        through, name = archive.through, archive.experiment
        later = {about: (body, time) for about, body, time in
                 self._query(questions.READ_LATER_OUTCOMES, (name, through, through))}  # fmt: skip
        while rows := archive.query(questions.READ_JOINED, (name, after, _ARCHIVE_PAGE)):
            for row in rows:
                yield (*row[:4], *later.get(row[0], row[4:]))
            after = rows[-1][0]
