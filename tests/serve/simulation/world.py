"""The world of a seed: the store, the replicas over it, their configurations, and the model of each experiment."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headstart.serve.engine.policies import build_policy
from headstart.serve.engine.sources import Sources
from headstart.serve.errors import HistoryLost
from tests.serve.simulation.configurations import Plan
from tests.serve.simulation.model import Model, PromiseBroken
from tests.serve.simulation.raw_store import RawStore
from tests.serve.simulation.replica import Replica

_NAMES = ("ads", "Offers_2")

Tell = Callable[[str], None]
Pair = tuple[int, str]  # a replica's number and an experiment


class World:
    """Everything that steps look at and change. Every draw comes from `rng`."""

    def __init__(self, seed: int, folder: Path, tell: Tell) -> None:
        self.rng, self.tell, self.path = random.Random(seed), tell, str(folder / "events.sqlite")
        names = _NAMES[: self.rng.choice([1, 1, 1, 2])]
        self.plans = {name: Plan(self.rng, name, folder) for name in names}
        self.sources = Sources()
        self.logs: dict[int, str | None] = {}  # the hash of each configuration's log
        for plan in self.plans.values():
            for variant in plan.variants:
                source = self.sources.read(variant)
                self.logs[id(variant)] = source and source.hash
                tell(f"{plan.name}: {variant.as_dict()}")
        self.models = {name: Model(name, self.minds) for name in names}
        self.replicas: list[Replica] = []
        self.lost: set[Pair] = set()  # replicas that folded what the store no longer has
        self.sent: dict[tuple[str, str], dict[str, Any]] = {}  # what was asked of an experiment under an id
        self.has_units = self.rng.random() < 0.6  # some users come back
        self.is_wild = self.rng.random() < 0.3  # users bring numbers of any size
        self._known: dict[tuple[str, int, str | None], tuple[tuple[float, float], bool]] = {}
        self._raw: RawStore | None = None

    @property
    def raw(self) -> RawStore:
        """The store as a stranger sees it; the first replica has made it."""
        if self._raw is None:
            self._raw = RawStore(self.path)
        return self._raw

    def close(self) -> None:
        """Let go of everything."""
        for replica in self.replicas:
            replica.end()
        if self._raw is not None:
            self._raw.close()

    def outcome_range(self, model: Model) -> tuple[float, float]:
        """What the policy can learn, by its configuration and log."""
        return self._know(model)[0]

    def minds(self, model: Model) -> bool:
        """Whether it matters to the policy what is in flight."""
        return self._know(model)[1]

    def _know(self, model: Model) -> tuple[tuple[float, float], bool]:
        key = model.name, max(model.declared), None if model.begun is None else model.begun["hash"]
        if key not in self._known:
            log = None if model.begun is None else self.sources.find(model.present, model.begun).log
            policy = build_policy(model.present, log, model.bounds, model.binding)
            self._known[key] = policy.outcome_range, policy.waits
        return self._known[key]

    def is_present(self, replica: Replica, name: str) -> bool:
        """Whether a replica has folded everything that there is, in the newest epoch."""
        is_current = replica.is_whole(name) and replica.epoch(name) == self.raw.epoch()
        return is_current and replica.fold(name).position == self.models[name].head

    def excuse(self, replica: Replica, name: str, fired: int, error: Exception) -> None:
        """An error needs a cause: a fault of the store since `fired`, or an earlier one that is not mended yet."""
        n = replica.faults.n_fired
        has_cause = n > fired or bool(n and not replica.is_whole(name))
        is_lost, says_so = (replica.number, name) in self.lost, isinstance(error, HistoryLost)
        if not (is_lost if says_so else has_cause):
            raise PromiseBroken(f"an error without a cause, {type(error).__name__}: {error}")

    def check_excuses(self) -> None:
        """A fold that is broken needs a cause too."""
        for replica in self.replicas:
            for name, ledger in replica.ledgers.items():
                has_cause = replica.faults.n_fired or (replica.number, name) in self.lost
                if ledger.broken is not None and not has_cause:
                    raise PromiseBroken(f"{name} of replica {replica.number} is broken: {ledger.broken}")
