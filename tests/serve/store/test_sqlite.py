"""The embedded store's own questions."""

import sqlite3

from headstart.serve.store.sqlite import _FIND, SQLiteStore


def test_an_event_id_is_looked_up_by_the_index_and_not_by_reading_the_log(tmp_path):
    """Without statistics SQLite takes an experiment for ten rows, and would read all of them for each id."""
    path = tmp_path / "events.sqlite"
    SQLiteStore(path).close()
    connection = sqlite3.connect(path)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {_FIND}", ('["u1"]', "ads"))]
    connection.close()
    assert plan[-1] == "SEARCH e USING INDEX one_per_id (experiment=? AND event_id=?)"
