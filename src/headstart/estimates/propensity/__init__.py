"""P(action | context): estimated where the log has none, trimmed out loud, and known for any context."""

from headstart.estimates.propensity.calibration_curve import Calibration, calibration
from headstart.estimates.propensity.estimation import TrimmingWarning, estimate_propensities
from headstart.estimates.propensity.logistic import LogisticPropensity, check_vector
from headstart.estimates.propensity.overlap import OverlapWarning

__all__ = [
    "Calibration",
    "LogisticPropensity",
    "OverlapWarning",
    "TrimmingWarning",
    "calibration",
    "check_vector",
    "estimate_propensities",
]
