"""Start: one call that audits a log, estimates what is missing, chooses how to decide, and returns a policy."""

from headstart.start.one_call import start
from headstart.start.started import Started

__all__ = ["Started", "start"]
