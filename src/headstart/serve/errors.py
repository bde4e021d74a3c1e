"""What the service raises on purpose, beside the library's own errors.

HeadstartError
└── ServiceError
    ├── UnknownExperiment      no experiment of that name is declared
    ├── UnknownDecision        no decision has that event id
    ├── ConflictError          the event id belongs to another decision: nothing was recorded
    │   └── NotNow             the experiment's present state does not allow it
    ├── PolicyFailed           an oracle raised while it decided: nothing was recorded
    ├── StillOpening           the experiment's events are being folded: try again
    ├── StoreUnavailable       the store cannot be written or read now: nothing was applied, try again
    │   ├── ArchiveAway        old events are needed, and the files that they were archived to are not there
    │   ├── HistoryLost        the store lacks events that it once had: somebody has to decide
    │   └── TooSlow            there was no answer by the deadline: it may be recorded or not
    └── StoreCorrupt           the events contradict each other, or the state is not their fold
"""

from __future__ import annotations

from typing import Self

from headstart.errors import HeadstartError


class ServiceError(HeadstartError):
    """The root of the service's errors."""


class UnknownExperiment(ServiceError, KeyError):
    """No experiment of that name is declared."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0]) if self.args else ""


class UnknownDecision(ServiceError):
    """No decision has that event id."""


class ConflictError(ServiceError):
    """The event id belongs to a decision for another context, unit or available actions."""


class NotNow(ConflictError):
    """What people ask of an experiment does not fit its present state."""


class PolicyFailed(ServiceError):
    """An oracle raised while it decided."""


class StillOpening(ServiceError):
    """The service has just begun, and folds this experiment's events before it decides."""


class StoreUnavailable(ServiceError):
    """The store cannot be written (or read) at present. Asking again with the same event id is safe."""


class ArchiveAway(StoreUnavailable):
    """What is asked needs events that were archived, and their files are not where they were."""


class HistoryLost(StoreUnavailable):
    """The store has gone back in time, or is another one: acknowledged events are not there."""


class TooSlow(StoreUnavailable):
    """There was no answer by the deadline. Whether it is recorded is not known: ask again with the same event id."""

    @classmethod
    def after(cls, seconds: float) -> Self:
        """What a caller is told who has waited for so long."""
        told = "it may still be recorded, and asking again with the same event_id is safe"
        return cls(f"no answer within {seconds:g} seconds: {told}")


class StoreCorrupt(ServiceError):
    """The store holds events that contradict each other, or a state that is not their fold."""
