"""What a turn knows of units, from the rows that a store finds of them."""

from __future__ import annotations

from headstart.serve.store.events import DECISION, Row, read_body
from headstart.serve.store.store import Found, Known, Trace


def add_trace(found: Found, traces: dict[str, Trace], row: Row) -> None:
    """One event under the event id of a unit's newest decision: (unit, event id, kind, sequence, time, body), and the
    draw that the decision repeats: (event id, sequence, time, body).
    """
    unit, event_id, kind, sequence, time, body, draw_id, drawn, when, draw = row
    known = Known(sequence, time, read_body(body))
    found.setdefault(event_id, {})[kind] = known
    if kind == DECISION:
        number = known.body.get("number", 1)
        traces[unit] = Trace(event_id, number, draw_id, Known(drawn, when, read_body(draw)))
