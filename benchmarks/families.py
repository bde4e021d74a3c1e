"""Families of worlds as they are: late outcomes, rare successes, levels that are off or move, truths that turn.

Each run draws a new world, a log and a stream of users, so error bars include worlds. Unless a family says otherwise
(`Confounded`): K = 3 actions, a log of N = 300 rows with its chances logged, T = 2,000 users. Three columns, standard
normal; an action's outcomes are a line of them with a standard deviation of 1, of whose variance 0.3 is slopes that
all actions share and 0.05 an action's own, around a level ~ N(0, 0.4^2). The log's policy is a softmax whose pulls
are the slopes plus noise, so it looks at what moves the outcome, mixed with 5 % even play. For 0/1 outcomes the same
line, without noise, is the log-odds of a success around those of the base rate; revenue is log-normal (sigma 1, mean
1) where that is a success and 0 elsewhere. Families of "paper" are `Synthetic`
with its gaps of 0.5 and no noise beyond the contexts'; those of the league differ in K, N and the kind of outcome.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.league import draw_world
from benchmarks.offers import Offered
from headstart.simulation.simulate import World
from headstart.worlds import DrawnWorld, Linear, Mislogged, Moving, Synthetic, Turning
from headstart.worlds.mislogged import told_with


@dataclass(frozen=True)
class Confounded:
    """Linear worlds as the module says; each draw has its own levels, slopes and policy."""

    n_actions: int = 3
    n_log: int = 300
    outcome: Literal["normal", "binary", "revenue"] = "normal"
    rate: float = 0.5  # of successes at the middle of the levels, or of those who pay
    spread: float = 0.4  # of the levels
    shared: float = 0.3  # of an outcome's variance: slopes that all actions share
    own: float = 0.05  # ... and slopes of the action
    n_features: int = 3
    n_absent: int = 0  # actions, drawn by lot, that the log never shows

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A world, its log and its users."""
        k, d = self.n_actions, self.n_features
        common = rng.standard_normal(d)
        common *= math.sqrt(self.shared) / np.linalg.norm(common)
        own = rng.standard_normal((k, d))
        own *= math.sqrt(self.own) / np.linalg.norm(own, axis=1, keepdims=True)
        offsets = np.zeros(k)
        offsets[rng.permutation(k)[: self.n_absent]] = -np.inf
        middle = math.log(self.rate / (1.0 - self.rate)) if self.outcome != "normal" else 0.0
        return Linear(
            levels=middle + self.spread * rng.standard_normal(k),
            slopes=common + own,
            noise=1.0 if self.outcome == "revenue" else math.sqrt(1.0 - self.shared - self.own),
            outcome=self.outcome,
            n_log=self.n_log,
            offsets=offsets,
            pulls=common + own + 0.5 * rng.standard_normal((k, d)),
        ).draw(rng)


@dataclass(frozen=True)
class Slanted:
    """Confounded worlds whose log lies about one action by 0.5 to 2 standard deviations, as in the league."""

    kind: Literal["inflated", "deflated"]  # a worse action, or the best one
    world: Confounded = Confounded()

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """A world, its log told with the lie."""
        drawn = self.world.draw(rng)
        best, by = int(np.argmax(drawn.expected_outcomes())), float(rng.uniform(0.5, 2.0))
        biases = np.zeros(drawn.n_actions)
        if self.kind == "deflated":
            biases[best] = -by
        else:
            biases[rng.choice(np.delete(np.arange(drawn.n_actions), best))] = by
        return told_with(drawn, biases)


@dataclass(frozen=True)
class OfLeague:
    """The worlds of `benchmarks.league`, one drawn in each run."""

    family: str

    def draw(self, rng: np.random.Generator) -> Any:
        """A world, its log told as the family says."""
        return draw_world(rng, self.family).draw(rng)


@dataclass(frozen=True)
class Family:
    """Worlds of a kind, how many users come, and what `start` is told."""

    world: World
    users: int = 2000
    log: Literal["good", "moved", "lying"] = "good"  # moved: right but for the level of all actions, or the time
    is_told: bool = True  # the number of users
    most_runs: int = 10**9  # where a log is dear
    delay: int = 0  # users in flight
    is_offered: bool = False  # contexts say what a user may be shown (`benchmarks.offers`)

    @property
    def told(self) -> int | None:
        """The number of users, if `start` is told it."""
        return self.users if self.is_told else None


def _season(users: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A sinus of amplitude 1 and a period of a quarter of the users."""
    return np.sin(2.0 * np.pi * 4.0 * np.arange(users) / users)


FAMILIES: dict[str, Family] = {
    "good": Family(Confounded()),
    "good, N = 1,000": Family(Confounded(n_log=1000)),
    "good, a million rows": Family(Confounded(n_log=10**6), most_runs=200),
    "binary 1 %": Family(Confounded(5, 200, "binary", 0.01), 50_000),
    "binary 5 %": Family(Confounded(5, 500, "binary", 0.05), 10_000),
    "revenue, 10 % pay": Family(Confounded(3, 500, "revenue", 0.1), 10_000),
    "revenue, 2 % pay": Family(Confounded(5, 500, "revenue", 0.02), 20_000),
    "paper, binary": Family(Synthetic(n_actions=3, n_log=100, outcome="binary")),
    "paper, good": Family(Synthetic(n_log=300)),
    "paper, level +1": Family(Mislogged(Synthetic(n_log=300), 1.0), log="moved"),
    "paper, level -1": Family(Mislogged(Synthetic(n_log=300), -1.0), log="moved"),
    "paper, good, 100 in flight": Family(Synthetic(n_log=300), delay=100),
    "good, 100 in flight": Family(Confounded(), delay=100),
    "1,000 in flight, K = 3": Family(Confounded(n_absent=1), 10_000, delay=1000),
    "1,000 in flight, K = 20": Family(Confounded(20, 1000, n_absent=5), 10_000, delay=1000),
    "1,000 in flight, binary 5 %": Family(Confounded(5, 500, "binary", 0.05), 10_000, delay=1000),
    "level +1": Family(Mislogged(Confounded(), 1.0), log="moved"),
    "level -1": Family(Mislogged(Confounded(), -1.0), log="moved"),
    "season": Family(Moving(Confounded(), _season(2000)), log="moved"),
    "trend": Family(Moving(Confounded(), np.linspace(0.0, 1.5, 2000)), log="moved"),
    "league, good": Family(OfLeague("given"), 1000),
    "league, withheld": Family(OfLeague("withheld"), 1000),
    "inflated": Family(Slanted("inflated"), log="lying"),
    "league, inflated": Family(OfLeague("inflated"), 1000, log="lying"),
    "deflated": Family(Slanted("deflated"), log="lying"),
    "league, deflated": Family(OfLeague("deflated"), 1000, log="lying"),
    "deflated, a million rows": Family(Slanted("deflated", Confounded(n_log=10**6)), log="lying", most_runs=200),
    "turning": Family(Turning(Confounded(), 500), log="moved"),
    "offered 2 of 6": Family(Offered(Confounded(6), 2), is_offered=True),
    "500 users, not told": Family(Confounded(), 500, is_told=False),
    "500 users, told": Family(Confounded(), 500),
    "500 users, K = 10, not told": Family(Confounded(10), 500, is_told=False),
    "500 users, K = 10, told": Family(Confounded(10), 500),
}
"""What `python -m benchmarks.as_it_is` runs."""
