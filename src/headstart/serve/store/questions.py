"""The questions that both kinds of store answer, in words that both understand; `?` stands for a parameter."""

from __future__ import annotations

_COLUMNS = "e.sequence, e.experiment, e.kind, e.event_id, e.time, e.about, e.body"
READ_EVENTS = f"""
SELECT {_COLUMNS}, d.body, d.time, e.hash FROM events e
LEFT JOIN events d ON d.experiment = e.experiment AND d.sequence = e.about
WHERE e.experiment = ? AND e.sequence > ? ORDER BY e.sequence LIMIT ?"""
READ_STEERING = f"""
SELECT {_COLUMNS}, NULL, NULL, e.hash FROM events e
WHERE e.experiment = ? AND e.event_id IS NULL AND e.kind = ? ORDER BY e.sequence DESC LIMIT 1"""
READ_KIND = f"""
SELECT {_COLUMNS}, NULL, NULL, e.hash FROM events e
WHERE e.experiment = ? AND e.event_id IS NULL AND e.kind = ? ORDER BY e.sequence"""
READ_OF_ID = f"""
SELECT {_COLUMNS}, NULL, NULL, e.hash FROM events e
WHERE e.experiment = ? AND e.event_id = ? ORDER BY e.sequence LIMIT ?"""
READ_OF_UNIT = f"""
SELECT {_COLUMNS}, NULL, NULL, e.hash FROM events e
WHERE e.experiment = ? AND e.kind = 'decision' AND ({{unit}}) IS NOT NULL AND ({{unit}}) = ? ORDER BY e.sequence"""
READ_LEARNT = """
SELECT o.sequence, o.time, d.time, d.body, o.body, o.about FROM events o
JOIN events d ON d.experiment = o.experiment AND d.sequence = o.about
WHERE o.experiment = ? AND o.kind = 'outcome' AND o.sequence > ? AND o.sequence <= ? ORDER BY o.sequence LIMIT ?"""
READ_CLOSES = """
SELECT e.sequence, e.time, e.body FROM events e
WHERE e.experiment = ? AND e.event_id IS NULL AND e.kind = 'window_closed' AND e.sequence > ? AND e.sequence <= ?
ORDER BY e.sequence"""
READ_CLOSED = """
SELECT d.sequence, d.time, d.body, o.body FROM events d
LEFT JOIN events o
  ON o.experiment = d.experiment AND o.event_id = d.event_id AND o.kind = 'outcome' AND o.sequence < ?
WHERE d.experiment = ? AND d.kind = 'decision' AND d.sequence > ? AND d.sequence <= ? ORDER BY d.sequence LIMIT ?"""
READ_DUE = """
SELECT max(w.sequence), count(*) FROM (
  SELECT e.sequence, e.time FROM events e
  WHERE e.experiment = ? AND e.sequence > ? AND e.kind = 'decision' ORDER BY e.sequence LIMIT ?
) w WHERE w.time < ?"""
READ_DECIDED = """
SELECT d.sequence, d.event_id, d.time, d.body FROM events d
WHERE d.experiment = ? AND d.kind = 'decision' AND d.sequence > ? AND d.sequence <= ? ORDER BY d.sequence"""
READ_PARTS = """
SELECT p.about, p.body FROM events p
WHERE p.experiment = ? AND p.kind = 'part' AND p.about > ? AND p.about <= ? ORDER BY p.about, p.sequence"""
READ_JOINED = """
SELECT d.sequence, d.event_id, d.time, d.body, o.body, o.time FROM events d
LEFT JOIN events o ON o.experiment = d.experiment AND o.event_id = d.event_id AND o.kind = 'outcome'
WHERE d.experiment = ? AND d.kind = 'decision' AND d.sequence > ? ORDER BY d.sequence LIMIT ?"""
READ_DECISION = f"""
SELECT {_COLUMNS}, NULL, NULL, e.hash FROM events e
WHERE e.experiment = ? AND e.event_id = ? AND e.kind = 'decision'"""
OVERWRITE = "UPDATE events SET body = ? WHERE experiment = ? AND sequence = ?"
READ_HEAD = """
SELECT coalesce(e.sequence, 0), coalesce(e.time, 0), coalesce(e.hash, ''), i.id, i.epoch FROM identity i
LEFT JOIN (SELECT sequence, time, hash FROM events WHERE experiment = ? ORDER BY sequence DESC LIMIT 1) e ON 1 = 1"""
READ_HASH = "SELECT hash FROM events WHERE experiment = ? AND sequence = ?"
READ_LATER_OUTCOMES = """
SELECT o.about, o.body, o.time FROM events o
WHERE o.experiment = ? AND o.kind = 'outcome' AND o.sequence > ? AND o.about <= ?"""
READ_ROWS = """
SELECT sequence, experiment, kind, event_id, time, about, body, hash FROM events
WHERE experiment = ? AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?"""
READ_BEFORE = "SELECT max(sequence) FROM events WHERE experiment = ? AND time < ?"
READ_NAMES = "SELECT DISTINCT experiment FROM events ORDER BY experiment"

READ_SNAPSHOT = """
SELECT body FROM snapshots WHERE experiment = ? AND kind = ? ORDER BY sequence DESC LIMIT 1"""
READ_SNAPSHOTS = "SELECT sequence, body FROM snapshots WHERE experiment = ? AND kind = ?"
SAVE_SNAPSHOT = """
INSERT INTO snapshots (experiment, kind, sequence, body) VALUES (?, ?, ?, ?)
ON CONFLICT (experiment, kind, sequence) DO UPDATE SET body = excluded.body"""
DROP_SNAPSHOTS = """
DELETE FROM snapshots WHERE experiment = ? AND kind = ? AND sequence NOT IN
(SELECT sequence FROM snapshots WHERE experiment = ? AND kind = ? ORDER BY sequence DESC LIMIT 2)"""

FORGET_SNAPSHOTS = "DELETE FROM snapshots WHERE experiment = ? AND kind = ?"

READ_FIT = "SELECT body FROM fits WHERE hash = ?"
SAVE_FIT = "INSERT INTO fits (hash, body) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING"

NEW_EPOCH = "UPDATE identity SET epoch = ?"
FILL_PROBE = "INSERT INTO probe (filler) VALUES (?)"
CLEAR_PROBE = "DELETE FROM probe"
