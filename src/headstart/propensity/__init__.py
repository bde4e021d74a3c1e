"""P(action | context): estimated where the log has none, trimmed out loud, and known for any context."""

from headstart.propensity.calibrating import Calibration, calibration
from headstart.propensity.estimating import TrimmingWarning, estimate_propensities
from headstart.propensity.logistic import LogisticPropensity, check_vector
from headstart.propensity.overlap import OverlapWarning

__all__ = [
    "Calibration",
    "LogisticPropensity",
    "OverlapWarning",
    "TrimmingWarning",
    "calibration",
    "check_vector",
    "estimate_propensities",
]
