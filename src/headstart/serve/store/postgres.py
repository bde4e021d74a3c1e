"""The shared store: PostgreSQL, for several servers at once.

Sequence numbers of PostgreSQL's own follow the order in which they are drawn, not that of commits: a reader could see
number 8 and never 7, which commits later. Here a writer locks its experiment's row of `heads` first, numbers its
events from it and lets go of it with its commit. So numbers have no gaps, follow the commits, and whatever is visible
is a beginning of the log without holes: a replica may fold it as it reads it. Writers to one experiment wait for each
other, a commit at a time; under load the groups become larger instead. Writers to different experiments do not wait.

While the row is locked nobody else decides, so a turn is two round trips: one that begins, locks and looks up, and
one that inserts, moves the head and commits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from headstart.serve.errors import StoreCorrupt
from headstart.serve.store import schema
from headstart.serve.store.archives import TAKE_AWAY
from headstart.serve.store.chain import link_events
from headstart.serve.store.connections import Connections, Line, in_dialect
from headstart.serve.store.epochs import check_finished
from headstart.serve.store.events import Event, Row, read_body
from headstart.serve.store.leases import Leases
from headstart.serve.store.migration import INSERT_EVENTS, as_json, find_version, migrate
from headstart.serve.store.questions import READ_OF_UNIT
from headstart.serve.store.reader import as_event
from headstart.serve.store.store import NOTHING, Found, Head, Known, Query, Question, Sought, Trace
from headstart.serve.store.traces import add_trace

if TYPE_CHECKING:
    from psycopg import Connection

DEADLINE = 5.0  # seconds
PATIENCE = 60.0  # seconds, of tools that copy or check a store: no user waits for them
_FIRST_HEAD = "INSERT INTO heads VALUES (%s, 0, 0, '') ON CONFLICT DO NOTHING"
_LOCK_HEAD = """
SELECT h.sequence, h.time, h.hash, i.id, i.epoch FROM heads h, identity i WHERE h.experiment = %s FOR UPDATE OF h"""
_MOVE_HEAD = "UPDATE heads SET sequence = %s, time = %s, hash = %s WHERE experiment = %s"
_FIND = """
SELECT e.event_id, e.kind, e.sequence, e.time, e.body
FROM unnest(%s::text[]) AS ids (event_id) JOIN events e ON e.experiment = %s AND e.event_id = ids.event_id"""
# Of each unit the newest decision, the draw that it repeats, and all that is known under its event id. In the
# order of the index: asked for the highest sequence number alone, the planner may walk back through all events.
_FIND_UNITS = f"""
SELECT u.unit, f.event_id, f.kind, f.sequence, f.time, f.body, d.event_id, d.sequence, d.time, d.body
FROM unnest(%s::text[]) AS u (unit)
CROSS JOIN LATERAL (
  SELECT experiment, {schema.POSTGRES_UNIT} AS unit, sequence, event_id, about FROM events
  WHERE kind = 'decision' AND ({schema.POSTGRES_UNIT}) IS NOT NULL
  AND (experiment, {schema.POSTGRES_UNIT}, sequence) <= (%s, u.unit, 9223372036854775807)
  ORDER BY experiment DESC, ({schema.POSTGRES_UNIT}) DESC, sequence DESC LIMIT 1
) e
JOIN events d ON d.experiment = e.experiment AND d.sequence = coalesce(e.about, e.sequence)
JOIN events f ON f.experiment = e.experiment AND f.event_id = e.event_id
WHERE e.experiment = %s AND e.unit = u.unit"""


_OF_UNIT = READ_OF_UNIT.format(unit=schema.POSTGRES_UNIT)
_TAKE_AWAY = TAKE_AWAY.format(unit=schema.POSTGRES_UNIT)


class PostgresStore:
    """Events in a database that several processes write to.

    No call takes longer than `deadline` seconds. `connection_class` is the seam through which tests make writes fail.
    """

    def __init__(
        self, address: str, connection_class: type[Connection[Row]] | None = None, *, deadline: float = DEADLINE
    ) -> None:
        self._connections = Connections(address, deadline, connection_class)
        self._writers: dict[str, _Writer] = {}  # one per experiment
        self._leases = Leases(self.query)
        try:
            if find_version(self.query) < schema.CURRENT:
                self._migrate()
            check_finished(self.query)
        except BaseException:
            self.close()
            raise

    def _migrate(self) -> None:
        with self._connections.translated():
            line = self._connections.open(self._from_now())
            try:
                migrate(line.connection)
            finally:
                line.close()

    def _from_now(self) -> float:
        return time.monotonic() + self._connections.deadline

    @contextmanager
    def writing(self, experiment: str, sought: Sought = NOTHING, ahead: Question | None = None) -> Iterator[_Turn]:
        """A turn of writing. After a failure the connection is thrown away: what it thinks is no longer known."""
        until = self._from_now()
        with self._connections.translated():
            try:
                turn = self._begin(experiment, sought, ahead, until)
                with self._connections.within(self._writers[experiment].line, until):
                    yield turn
                    turn.commit()
            except BaseException:
                self._drop_writer(experiment)
                raise

    def _begin(self, experiment: str, sought: Sought, ahead: Question | None, until: float) -> _Turn:
        writer = self._writers.get(experiment)
        if writer is not None:
            try:
                with self._connections.within(writer.line, until):
                    return _Turn(writer, experiment, sought, ahead)
            except Exception:
                self._drop_writer(experiment)
                if (
                    not writer.line.was_lost
                ):  # one that died in its sleep took nothing with it: a new one begins again
                    raise
        writer = self._writers[experiment] = _Writer(self._connections.open(until))
        with self._connections.within(writer.line, until):
            return _Turn(writer, experiment, sought, ahead)

    def _drop_writer(self, experiment: str) -> None:
        writer = self._writers.pop(experiment, None)
        if writer is not None:
            writer.close()

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, read on one of a few connections."""
        return self._connections.query(statement, parameters)

    def is_folder(self, experiment: str) -> bool:
        """Whether this process holds the experiment's lease; it takes it if nobody has it."""
        return self._leases.holds(experiment)

    def scrub(self) -> bool:
        """PostgreSQL keeps what was overwritten until it vacuums, and in its own write-ahead log: see `shrink`."""
        return True

    def shrink(self) -> None:
        """Write the tables anew; it locks them for as long as it takes."""
        with self._connections.translated():
            line = self._connections.open(self._from_now())
            try:
                line.connection.execute("SET statement_timeout = 0")
                for table in ("events", "snapshots"):
                    line.connection.execute(f"VACUUM FULL {table}")
            finally:
                line.close()

    def close(self) -> None:
        """Close every connection, and leave the leases to others."""
        self._leases.give_up()
        self._connections.close()
        for experiment in list(self._writers):
            self._drop_writer(experiment)


@contextmanager
def reading_postgres(address: str) -> Iterator[Query]:
    """How to ask a store that is only looked at, in sessions that cannot write; it is not brought up to date."""
    connections = Connections(address, PATIENCE, settings=("SET default_transaction_read_only = on",))
    try:
        version = find_version(connections.query)
        if version == 0:
            raise StoreCorrupt("there is no store of headstart in this schema")
        if version < schema.CURRENT:
            raise StoreCorrupt(f"the store has schema version {version}: open it once with this headstart's service")
        check_finished(connections.query)
        yield connections.query
    finally:
        connections.close()


class _Writer:
    """A connection for one experiment's turns. What is executed goes off at the next `sync`, in one round trip.

    It stays in pipeline mode: on leaving it psycopg sends one message more, after which the server no longer counts
    the seconds that a transaction is idle, and a paused process would keep its turn.
    """

    def __init__(self, line: Line) -> None:
        self.line = line
        self.execute = line.connection.execute
        self._mode = line.connection.pipeline()
        self._pipeline = self._mode.__enter__()

    def sync(self) -> None:
        """Send what is waiting, and wait for all results; raises the first error."""
        self._pipeline.sync()

    def close(self) -> None:
        """Let go of it; the server rolls back what was not committed."""
        self.line.close()
        with suppress(Exception):  # there is nobody left to tell that the mode ends
            self._mode.__exit__(None, None, None)


class _Turn:
    """What is written goes off with the commit."""

    def __init__(self, writer: _Writer, experiment: str, sought: Sought, ahead: Question | None) -> None:
        self._writer, self._experiment, self._ahead = writer, experiment, ahead
        self.found: Found = {}
        self.traces: dict[str, Trace] = {}
        writer.execute("BEGIN")
        row = self._begin(sought)
        if row is None:  # the experiment's first turn
            writer.execute(_FIRST_HEAD, (experiment,))
            row = self._begin(sought)
            assert row is not None
        self.head = Head(*row)

    def _begin(self, sought: Sought) -> Row | None:
        """Lock the head; what is asked in the same breath is answered by what the store holds from then on."""
        head = self._writer.execute(_LOCK_HEAD, (self._experiment,))
        keep = self._seek(sought)
        if self._ahead is not None:
            statement, parameters = self._ahead
            self._answered = self._writer.execute(in_dialect(statement), parameters)
        self._writer.sync()
        keep()
        return head.fetchone()

    def find(self, sought: Sought) -> None:
        """Look up event ids and units, in one round trip."""
        if sought.ids or sought.units:
            keep = self._seek(sought)
            self._writer.sync()
            keep()

    def _seek(self, sought: Sought) -> Callable[[], None]:
        """Ask for what is sought; what is returned keeps the answers, once they are there."""
        ids, units, name = list(sought.ids), list(sought.units), self._experiment
        found = self._writer.execute(_FIND, (ids, name)) if ids else ()
        traced = self._writer.execute(_FIND_UNITS, (units, name, name)) if units else ()

        def keep() -> None:
            for event_id, kind, sequence, when, body in found:
                self.found.setdefault(event_id, {})[kind] = Known(sequence, when, read_body(body))
            for row in traced:
                add_trace(self.found, self.traces, row)

        return keep

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, as seen in this turn."""
        if (statement, parameters) == self._ahead:
            self._ahead, found = None, self._answered
        else:
            found = self._writer.execute(in_dialect(statement), parameters)
            self._writer.sync()
        return list(found.fetchall())

    def execute(self, statement: str, parameters: tuple[object, ...] = ()) -> None:
        """Carry out a statement, at the latest with the commit."""
        self._writer.execute(in_dialect(statement), parameters)

    def of_unit(self, unit: str) -> list[Event]:
        """Every decision of a unit."""
        return [as_event(row) for row in self.query(_OF_UNIT, (self._experiment, unit))]

    def take_away(self, through: int, open_after: int) -> None:
        """Delete archived events."""
        name = self._experiment
        self._writer.execute(
            in_dialect(_TAKE_AWAY), (name, name, name, through, name, open_after, through, name, through, name)
        )

    def insert(self, events: list[Event]) -> list[Event]:
        """Append events and move the head."""
        rows = link_events(self.head.hash, events)
        self.append(rows)
        return [event._replace(hash=row[7]) for event, row in zip(events, rows, strict=True)]

    def append(self, rows: list[Row]) -> None:
        """Append rows with their hashes and move the head."""
        sequence, when, hash = rows[-1][0], rows[-1][4], rows[-1][7]
        self._writer.execute(INSERT_EVENTS, (as_json(rows),))
        self._writer.execute(_MOVE_HEAD, (sequence, when, hash, self._experiment))
        self.head = self.head._replace(sequence=sequence, time=when, hash=hash)

    def commit(self) -> None:
        """Send what is to be written, and end the turn."""
        self._writer.execute("COMMIT")
        self._writer.sync()
