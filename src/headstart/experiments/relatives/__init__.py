"""Known relatives, by name, to compare with: other ways from a log to an online policy.

MinUCB is one more; as an oracle it stands with the oracles.
"""

from headstart.experiments.relatives.anchor_ts import AnchorTS
from headstart.experiments.relatives.arrow_cb import ARRoWCB
from headstart.experiments.relatives.artificial_replay import artificial_replay
from headstart.experiments.relatives.commensurate import Commensurate
from headstart.experiments.relatives.estimate_then_commit import EstimateThenCommit
from headstart.experiments.relatives.historical_ucb import historical_ucb
from headstart.experiments.relatives.oto import OtO
from headstart.oracles.min_ucb import MinUCB

__all__ = [
    "ARRoWCB",
    "AnchorTS",
    "Commensurate",
    "EstimateThenCommit",
    "MinUCB",
    "OtO",
    "artificial_replay",
    "historical_ucb",
]
