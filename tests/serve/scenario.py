"""A scripted scenario with a client that retries, for stores that fail: what was acknowledged must be there, once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headstart.serve import Engine, StoreUnavailable
from headstart.serve.engine.archiving import archive_events
from headstart.serve.engine.verification import verify_store
from headstart.serve.store.store import Store

Acknowledged = dict[str, Any]
N_USERS = 8
GUARDED = {"safe_action": "image", "guardrails": {"r": {"worse": "lower", "than": 0.0, "then": "fall back"}}}


class Client:
    """Asks again, with the same event id, until it is answered; remembers what was acknowledged. Archives go into a
    folder."""

    def __init__(self, reopen: Callable[[], Engine], folder: Path) -> None:
        self._reopen, self._folder = reopen, folder
        self.n_errors = 0
        self.decisions: dict[str, Any] = {}
        self.outcomes: dict[str, float] = {}
        self.engine: Engine = self.insist(reopen)

    def insist(self, ask: Callable[[], Any]) -> Any:
        for attempt in range(12):
            try:
                return ask()
            except StoreUnavailable:
                self.n_errors += 1
                time.sleep(
                    0.2 * max(attempt - 1, 0)
                )  # what cannot be folded is tried again, soon and then less often
        raise AssertionError("the store did not come back")

    def decide(self, event_id: str) -> None:
        decision = self.insist(lambda: self.engine.decide("ads", event_id=event_id))
        assert self.decisions.setdefault(event_id, decision) == decision

    def outcome(self, event_id: str, outcome: float) -> None:
        # Whether the first try was recorded before it failed, the caller cannot know: either answer is right.
        receipt = self.insist(lambda: self.engine.outcome("ads", event_id, outcome))
        assert receipt.status in ("applied", "duplicate", "waiting")
        self.outcomes[event_id] = outcome

    def run(self) -> None:
        """Decisions and outcomes, one by one and together, with a freeze, a trip and a restart in between.

        Then one of them is erased, and all go into archives.
        """
        for i in range(N_USERS):
            self.decide(f"u{i}")
            if i >= 2:
                self.outcome(f"u{i - 2}", float(i % 2))
            if i == 2:
                body = {"since": 1, "looked_at": 1, "reason": "a script"}
                self.insist(lambda body=body: self.engine.trip("ads", "r", body))
            if i == 6:
                self.insist(lambda: self.engine.resume("ads", "r"))
            if i == 3:
                self.insist(lambda: self.engine.freeze("ads"))
            if i == 4:
                self.insist(lambda: self.engine.unfreeze("ads"))
            if i == 5:
                self.engine.close()
                self.engine = self.insist(self._reopen)
        users = [{"event_id": f"b{i}"} for i in range(5)]
        for decision in self.insist(lambda: self.engine.decide_many("ads", users)):
            self.decisions[decision.event_id] = decision
        pairs = [(f"b{i}", 1.0) for i in range(5)]
        self.insist(lambda: self.engine.outcome_many("ads", pairs))
        self.outcomes.update(pairs)
        self.insist(lambda: self.engine.erase("ads", "u3"))
        self.insist(self._archive)
        self.decide("after")

    def _archive(self) -> None:
        archive_events(self.engine._store, "ads", 2**62, self._folder, {"by": "a test"}, slice_size=20)


def check_nothing_lost(client: Client, open_plain: Callable[[], Engine], open_store: Callable[[], Store]) -> None:
    """Everything acknowledged is there once; the live state was the fold; the store verifies."""
    live = client.engine.fingerprint("ads")
    client.engine.close()
    with open_plain() as engine:
        assert engine.fingerprint("ads") == live
        rows = {row["event_id"]: row for row in engine.export("ads")}
        assert set(rows) == set(client.decisions)
        for event_id, decision in client.decisions.items():
            row = rows[event_id]
            assert (row["action"], row["propensity"], row["version"]) == (
                decision.action,
                decision.propensity,
                decision.version,
            )
            assert row["outcome"] == client.outcomes.get(event_id)
        state = engine.state("ads")
        assert state["learnt"] == sum(a["policy"]["counts"] for a in state["actions"]) == len(client.outcomes)
    store = open_store()
    try:
        assert verify_store(store.query).faults == []
    finally:
        store.close()
