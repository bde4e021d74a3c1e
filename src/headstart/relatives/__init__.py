"""Known relatives, by name, to compare with: other ways from a log to an online policy.

MinUCB is the fifth; as an oracle it stands with the oracles.
"""

from headstart.oracles.min_ucb import MinUCB
from headstart.relatives.arrow_cb import ARRoWCB
from headstart.relatives.artificial_replay import artificial_replay
from headstart.relatives.estimate_then_commit import EstimateThenCommit
from headstart.relatives.historical_ucb import historical_ucb

__all__ = ["ARRoWCB", "EstimateThenCommit", "MinUCB", "artificial_replay", "historical_ucb"]
