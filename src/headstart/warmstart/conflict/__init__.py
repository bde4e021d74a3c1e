"""Conflict between a log and the users: a test valid at any time, and policies that withdraw the log by it."""

from headstart.warmstart.conflict.conflicts import Conflict
from headstart.warmstart.conflict.guarded import Guarded
from headstart.warmstart.conflict.linear_watch import LinConflictWatch
from headstart.warmstart.conflict.rates import AlarmRate, measure_alarms, measure_linear_alarms
from headstart.warmstart.conflict.revocable import Revocable
from headstart.warmstart.conflict.watch import ConflictWatch

__all__ = [
    "AlarmRate",
    "Conflict",
    "ConflictWatch",
    "Guarded",
    "LinConflictWatch",
    "Revocable",
    "measure_alarms",
    "measure_linear_alarms",
]
