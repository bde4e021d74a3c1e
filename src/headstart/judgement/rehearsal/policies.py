"""The policies that one could switch on, made once from the log, to live through a rehearsal's worlds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart.judgement.rehearsal.floored import Floored
from headstart.judgement.rehearsal.witness import Witness
from headstart.judgement.rehearsal.worlds import Evidence
from headstart.judgement.start.start import start
from headstart.judgement.start.started import Started
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.oracles import ABTest, ThompsonBeta, ThompsonNormal
from headstart.parts import Oracle, OracleAbilities
from headstart.worlds.drawn import DrawnWorld

AB_TEST, COLD, WINNER, TODAY = "A/B test", "cold bandit", "the log's winner", "today's policy"
TRUSTS: Sequence[float | None] = (None, 0.5, 1.0)  # None: the audit's
FLOORS = (0.0, 0.05)
POWER = 1.959963984540054 + 0.8416212335729143  # standard errors that a test at 5 % finds in 8 of 10 cases


@dataclass(frozen=True)
class StartSetting:
    """How `start` is switched on."""

    trust: float | None  # None: what the audit leaves of it
    floor: float  # the share of users who get any action alike

    @property
    def name(self) -> str:
        trust = "start" if self.trust is None else f"start, trust {self.trust:g}"
        return f"{trust}, floor {self.floor:.0%}" if self.floor else trust


SETTINGS = tuple(StartSetting(trust, floor) for floor in FLOORS for trust in TRUSTS)


def find_test_users(evidence: Evidence, n_users: int) -> int:
    """Users of an A/B test that finds a lead as large as the log's in 8 of 10 cases at 5 %; at most half of them."""
    first, second = np.sort(evidence.means)[::-1][:2] if evidence.means.size > 1 else (0.0, 0.0)
    lead, k = float(first - second), evidence.means.size
    most = max(n_users // 2, 1)
    if lead <= 0.0:
        return most
    each = 2.0 * float(evidence.variances.mean()) * (POWER / lead) ** 2
    return int(min(max(math.ceil(k * each), 10 * k), most))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy by name, made anew for each run, with a witness of when its users tell the best action."""

    policy: Oracle
    floor: float
    evidence: Evidence
    per_day: int
    level: float

    def __call__(self, drawn: DrawnWorld, log: Log, rng: np.random.Generator) -> Witness:
        """The policy at its first user, for one run, watched."""
        policy = OracleAbilities(self.policy).copy()
        OracleAbilities(policy).reseed(rng)
        floored = Floored(policy, self.floor, rng) if self.floor else policy
        return Witness(floored, self.evidence.variances, self.per_day, self.level)


def make_policies(
    log: AnyLog, evidence: Evidence, decide_on: Sequence[str | int] | None, n_users: int, first: Started, rng: int
) -> dict[str, tuple[Oracle, float]]:
    """By name: a policy at its first user, and its floor. `first` is the start with the audit's trust."""
    k = evidence.means.size
    cold: Oracle = ThompsonBeta(k, rng=rng) if evidence.is_binary else ThompsonNormal(k, rng=rng)
    if decide_on is not None:
        cold = start(log, decide_on=decide_on, horizon=n_users, trust=0.0, rng=rng)
    made: dict[str, tuple[Oracle, float]] = {
        AB_TEST: (ABTest(k, find_test_users(evidence, n_users), rng=rng), 0.0),
        COLD: (cold, 0.0),
    }
    starts = {
        trust: first if trust is None else start(log, decide_on=decide_on, horizon=n_users, trust=trust, rng=rng)
        for trust in TRUSTS
    }
    return made | {each.name: (starts[each.trust], each.floor) for each in SETTINGS}
