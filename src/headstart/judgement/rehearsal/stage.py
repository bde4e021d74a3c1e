"""The stage: policies live through a scenario's worlds, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.judgement.rehearsal.policies import AB_TEST, TODAY, WINNER, Candidate
from headstart.judgement.rehearsal.rehearsal import DayKnown, Outlook, OverWorlds
from headstart.judgement.rehearsal.witness import Witness
from headstart.judgement.rehearsal.worlds import Evidence, LogWorlds, Scenario, Truth
from headstart.parts import Oracle
from headstart.simulation.simulate import simulate_asking
from headstart.simulation.streams import streams_of

LEVEL = 0.95  # with which the best action is known


class Stage:
    """Where policies live through a scenario's worlds."""

    def __init__(
        self,
        evidence: Evidence,
        policies: Mapping[str, tuple[Oracle, float]],
        per_day: int,
        days: int,
        runs: int,
        seed: int,
        n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._evidence, self._policies = evidence, policies
        self._per_day, self._days, self._runs = per_day, days, runs
        self._seed, self._n_jobs, self._progress = seed, n_jobs, progress
        self._ends = per_day * np.arange(1, days + 1)

    def play(self, scenario: Scenario) -> list[Outlook]:
        """Every policy's forecast in a scenario."""
        worlds = LogWorlds(self._evidence, scenario)
        truths = [worlds.draw_truth(streams_of(self._seed, run)[0].begin()) for run in range(self._runs)]
        candidates = {
            name: Candidate(policy, floor, self._evidence, self._per_day, LEVEL)
            for name, (policy, floor) in self._policies.items()
        }
        lived = simulate_asking(
            ask_when_known,
            worlds,
            candidates,
            rounds=self._per_day * self._days,
            runs=self._runs,
            seed=self._seed,
            n_jobs=self._n_jobs,
            progress=self._progress,
            delay=self._per_day * scenario.days_late,
        )
        regrets = {name: self._by_day(curve.rounds, curve.regrets) for name, (curve, _) in lived.items()}
        regrets |= {WINNER: self._for_ever(truths), TODAY: self._as_today(truths)}
        known = {name: _find_known(told, truths, scenario.days_late) for name, (_, told) in lived.items()}
        return [
            Outlook(
                policy=name,
                scenario=scenario.name,
                regret=OverWorlds.of(regret[:, -1]),
                over_ab=OverWorlds.of(regrets[AB_TEST][:, -1] - regret[:, -1]),
                over_today=OverWorlds.of(regrets[TODAY][:, -1] - regret[:, -1]),
                known=known.get(name),
                regret_by_day=regret.mean(axis=0),
            )
            for name, regret in regrets.items()
        ]

    def _by_day(self, rounds: Integers, regrets: Floats) -> Floats:
        """Regret at the end of each day, (runs, days)."""
        grid, start_at_0 = np.append(0, rounds), np.zeros((len(regrets), 1))
        whole = np.hstack([start_at_0, regrets])
        return np.array([np.interp(self._ends, grid, each) for each in whole])

    def _for_ever(self, truths: Sequence[Truth]) -> Floats:
        """The regret of the action that the log puts first."""
        leader = self._evidence.leader
        lost = np.array([truth.best - float(truth.expected[:, leader].mean()) for truth in truths])
        return lost[:, None] * self._ends

    def _as_today(self, truths: Sequence[Truth]) -> Floats:
        """The regret of today's policy; below 0 where it chooses by what the others do not look at."""
        lost = np.array([truth.best - self._evidence.value_of_today(truth.means) for truth in truths])
        return lost[:, None] * self._ends


def ask_when_known(policy: Oracle) -> tuple[float, int]:
    """The day on which a run's users told the best action, and which."""
    assert isinstance(policy, Witness)
    return policy.day, policy.winner


def _find_known(told: Sequence[tuple[float, int]], truths: Sequence[Truth], days_late: int) -> DayKnown:
    """When the best action was known, and whether it was the best; a late outcome is known so much later."""
    days = np.array([day + days_late for day, _ in told])
    right = np.array([winner == int(np.argmax(truth.means)) for (_, winner), truth in zip(told, truths, strict=True)])
    return DayKnown.of(days, right.astype(np.float64))
