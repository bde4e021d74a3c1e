"""Worlds: contexts and outcomes with a known truth, to measure regret in."""

from headstart.worlds.cells import Cells
from headstart.worlds.drawn import DrawnWorld
from headstart.worlds.synthetic import Synthetic
from headstart.worlds.table import PotentialOutcomes

__all__ = ["Cells", "DrawnWorld", "PotentialOutcomes", "Synthetic"]
