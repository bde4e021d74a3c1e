"""Leases: of all processes on one PostgreSQL, which one closes an experiment's windows and writes its snapshots.

A lease ends by itself, by PostgreSQL's clock, unless its holder renews it: one that is paused, hangs or is cut off
loses it without anybody's help. It is a division of labour and nothing depends on it: two processes that both think
they hold one close each window once, because they do it in turns and each looks at what is closed already.
"""

from __future__ import annotations

import secrets
import time
from contextlib import suppress

from headstart.serve.errors import StoreUnavailable
from headstart.serve.store.store import Query

LEASE_SECONDS = 3.0
RENEW_SECONDS = 1.0  # so another process has it at the latest 4 s after its holder stopped
# A lease that is lost with the server's last moments is taken again: its commit need not wait for the disk.
_TAKE = f"""
INSERT INTO leases (experiment, holder, until)
SELECT ?, ?, clock_timestamp() + interval '{LEASE_SECONDS:g} seconds'
FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (experiment) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE leases.holder = excluded.holder OR leases.until < clock_timestamp() RETURNING experiment"""
_GIVE_UP = "DELETE FROM leases WHERE holder = ? RETURNING experiment"


class Leases:
    """What this process holds. Each experiment is asked about by one thread."""

    def __init__(self, query: Query) -> None:
        self.holder = secrets.token_hex(8)
        self._query = query
        self._held: set[str] = set()
        self._asked: dict[str, float] = {}

    def holds(self, experiment: str) -> bool:
        """Whether this process has the lease; it is renewed, or taken if nobody has it, about once a second.

        A server that does not answer is no `no`: that is raised, and the lease is taken for lost.
        """
        now = time.monotonic()
        if now - self._asked.get(experiment, -1e9) < RENEW_SECONDS:
            return experiment in self._held
        self._asked[experiment] = now
        self._held.discard(experiment)
        if self._query(_TAKE, (experiment, self.holder)):
            self._held.add(experiment)
        return experiment in self._held

    def give_up(self) -> None:
        """Leave everything to others, now."""
        if self._held:
            self._held.clear()
            with suppress(StoreUnavailable):  # the leases end by themselves
                self._query(_GIVE_UP, (self.holder,))
