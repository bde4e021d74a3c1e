"""The overviews of all experiments of an engine, and the thread that keeps them up to date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headstart.serve.engine.engine import Engine
from headstart.serve.telling.callers import Callers
from headstart.serve.telling.follower import Follower
from headstart.serve.telling.overview import Overview


class Overviews(Mapping[str, Overview]):
    """By the experiments that the engine has at that moment."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._follower, self.callers = engine, Follower(engine), Callers()
        self._made: dict[str, Overview] = {}

    def __getitem__(self, experiment: str) -> Overview:
        """One; KeyError for an experiment that the engine has not."""
        if experiment not in self._engine.experiments:
            raise KeyError(experiment)
        return self._made.setdefault(experiment, Overview(self._engine, experiment, self._follower, self.callers))

    def __iter__(self) -> Iterator[str]:
        """The names of the experiments."""
        return iter(self._engine.experiments)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._engine.experiments)

    def start(self) -> None:
        """Follow the events before anybody looks."""
        self._follower.start()

    def close(self) -> None:
        """Stop following; before the engine is closed, which keeps the snapshots."""
        self._follower.close()
