"""A replica: one process of the service as the simulation sees it, its ledger driven by hand, no thread, no sleep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.answers import Answer
from headstart.serve.engine.asks import Ask, as_decide, as_outcome
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.ledger import Ledger
from headstart.serve.engine.sources import Sources
from headstart.serve.engine.state import State
from headstart.serve.store.sqlite import SQLiteStore
from tests.serve.simulation.failing_connection import Faults


class Ticks:
    """Seconds since anything: what is done now and then is always due."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def __call__(self) -> float:
        self._seconds += 100.0
        return self._seconds


class SimulatedClock:
    """The hour that one machine believes it is."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


class Replica:
    """One ledger per experiment over one file, as `Engine` has them."""

    def __init__(
        self, number: int, path: str, configs: Mapping[str, ExperimentConfig], sources: Sources, clock: SimulatedClock
    ) -> None:
        self.number, self.path, self.clock, self.faults = number, path, clock, Faults()
        self.configs, self._sources = dict(configs), sources
        self._store: SQLiteStore | None = None
        self.ledgers: dict[str, Ledger] = {}

    def open(self) -> None:
        """Open the store, declare, fold: all or nothing."""
        store = SQLiteStore(self.path, self.faults.connect)
        try:
            ledgers = {
                name: Ledger(config, store, self._sources, self.clock, ticks=Ticks())
                for name, config in self.configs.items()
            }
            for ledger in ledgers.values():
                ledger.look_after()  # which opens it
                if ledger.failure is not None:
                    raise ledger.failure
        except BaseException:
            store.close()
            raise
        self._store, self.ledgers = store, ledgers

    def end(self) -> None:
        """Let go of everything, as a killed process does; what it held back is lost."""
        if self._store is not None:
            self._store.close()
        self._store, self.ledgers = None, {}

    def is_whole(self, experiment: str) -> bool:
        """Whether there is a fold to decide by."""
        return self.ledgers[experiment].broken is None

    def fold(self, experiment: str) -> Fold:
        """The folded state."""
        return self.ledgers[experiment].fold

    def epoch(self, experiment: str) -> int:
        """The epoch of the store when it was last met."""
        head = self.ledgers[experiment]._head
        return 0 if head is None else head.epoch

    def state(self, experiment: str) -> State:
        """What people see."""
        return self.ledgers[experiment].see().state

    def now(self) -> int:
        """Microseconds, by this machine's clock."""
        return int(self.clock() * 1e6)

    def as_decide(self, experiment: str, user: dict[str, Any]) -> Ask:
        """A checked ask."""
        return as_decide(self.fold(experiment), user, self.now() // 1000)

    def as_outcome(self, experiment: str, of: Any, outcome: Any, report_id: str | None = None) -> Ask:
        """A checked ask."""
        return as_outcome(self.fold(experiment), of, outcome, report_id)

    def run(self, experiment: str, asks: Sequence[Ask], n_first: int) -> list[Answer]:
        """One group; all but the first of it were asked while it waited for its turn."""
        return self.ledgers[experiment].run_group(list(asks[:n_first]), lambda: list(asks[n_first:]))

    def look_after(self, experiment: str) -> None:
        """What the writer's thread does beside the groups."""
        self.ledgers[experiment].look_after()

    def save_snapshot(self, experiment: str) -> None:
        """As at a clean end, or after many events."""
        self.ledgers[experiment].save_snapshot(1)
