"""Worlds: contexts and outcomes with a known truth, to measure regret in."""

from headstart.worlds.acic2016 import ACIC2016
from headstart.worlds.actg175 import ACTG175
from headstart.worlds.cells import Cells
from headstart.worlds.classification import Classification
from headstart.worlds.drawn import DrawnWorld
from headstart.worlds.drifting import Drifting
from headstart.worlds.lalonde import LaLonde
from headstart.worlds.linear import Linear
from headstart.worlds.mislogged import Mislogged
from headstart.worlds.moving import Moving
from headstart.worlds.resampled import Resampled
from headstart.worlds.synthetic import Synthetic
from headstart.worlds.table import PotentialOutcomes
from headstart.worlds.trial import Trial
from headstart.worlds.turning import Turning

__all__ = [
    "ACIC2016",
    "ACTG175",
    "Cells",
    "Classification",
    "DrawnWorld",
    "Drifting",
    "LaLonde",
    "Linear",
    "Mislogged",
    "Moving",
    "PotentialOutcomes",
    "Resampled",
    "Synthetic",
    "Trial",
    "Turning",
]
