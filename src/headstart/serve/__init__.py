"""The decision service: decisions from a log for live users, each durable before it is answered."""

from headstart.serve.config import ExperimentConfig, ServiceConfig, load_config
from headstart.serve.engine.engine import Engine
from headstart.serve.errors import ConflictError, ServiceError, StoreCorrupt, StoreUnavailable, UnknownExperiment
from headstart.serve.store.events import Decision, Event, Receipt
from headstart.serve.units import Unit

__all__ = [
    "ConflictError",
    "Decision",
    "Engine",
    "Event",
    "ExperimentConfig",
    "Receipt",
    "ServiceConfig",
    "ServiceError",
    "StoreCorrupt",
    "StoreUnavailable",
    "Unit",
    "UnknownExperiment",
    "load_config",
]
