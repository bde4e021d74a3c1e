"""One decision of a store that is only looked at: no service has to run, and nothing is written."""

from __future__ import annotations

from headstart.serve.engine.history import StoredPast
from headstart.serve.engine.opening import load_fold
from headstart.serve.engine.sources import Sources
from headstart.serve.errors import UnknownDecision
from headstart.serve.store import events as kinds
from headstart.serve.store.questions import READ_NAMES
from headstart.serve.store.reader import Reader
from headstart.serve.store.store import Query
from headstart.serve.telling.one_decision import OneDecision, tell_recorded


def tell_stored(query: Query, event_id: str, experiment: str | None = None) -> OneDecision:
    """By its event id, looked for in every experiment, or in one. Its experiment is folded as the service would."""
    reader, names = Reader(query), [experiment]
    if experiment is None:
        names = [name for (name,) in query(READ_NAMES)]
    for name in names:
        assert name is not None
        if any(event.kind == kinds.DECISION for event in reader.of_id(name, event_id, 1)):
            fold, _ = load_fold(name, reader, Sources(), lambda _: None)
            return tell_recorded(StoredPast(fold, reader), name, event_id)
    raise UnknownDecision(f"no decision {event_id!r:.80} in {', '.join(map(str, names)) or 'a store without events'}")
