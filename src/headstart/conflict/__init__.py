"""Conflict between a log and the users: a test valid at any time, and policies that withdraw the log by it."""

from headstart.conflict.guarded import Guarded
from headstart.conflict.linear_watch import LinConflictWatch
from headstart.conflict.rates import AlarmRate, measure_alarms, measure_linear_alarms
from headstart.conflict.revocable import Revocable
from headstart.conflict.watch import Conflict, ConflictWatch

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
