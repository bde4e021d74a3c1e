"""Binding: what the warm start of an experiment holds its policy to, by the audit that is recorded in its event.

"Do not use it" leaves the log no virtual play, "use it with a cap" so many. Somebody who knows better says so in the
configuration: `trust = 0.5` uses a log that is not to be used, and leaves the caps of one that is to be capped;
`log.despite_audit = true` lifts these too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headstart.judgement.audit.verdict import CAP, STOP
from headstart.priors.logged import trust_among
from headstart.serve.config import ExperimentConfig
from headstart.serve.store.events import Body

_ONCE_BELIEVED = 0.8  # among two actions: what a start believed a log by when no trust was recorded with it


@dataclass(frozen=True)
class Binding:
    """The caps and the trust in force, per action, and the middle of each column that is a number."""

    decision: str | None = None  # the audit's; None: there is none
    caps: tuple[int, ...] | None = None  # virtual plays; None: as many as the log has
    trust: tuple[float, ...] | None = None  # in what `start` makes of the log; None: it finds that out itself
    centres: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def in_force(cls, config: ExperimentConfig, begun: Body | None) -> Binding:
        """By the configuration and the warm start; one of an earlier headstart binds nothing."""
        if begun is None:
            return FREE
        n = len(config.actions)
        blind = (trust_among(n, _ONCE_BELIEVED),) * n  # of a log that nothing is known against
        if "audit" not in begun:
            return cls(trust=blind)
        decision, centres = begun["audit"]["verdict"]["decision"], begun["centres"]
        caps, trust = begun.get("caps"), begun.get("trust")
        if config.despite_audit:
            return cls(decision, None, blind, centres)
        known = None if caps is None else tuple(caps)
        if config.trust is not None:  # as in `start(log, trust=...)`: caps stay, unless they leave nothing
            return cls(decision, None if decision == STOP else known, (config.trust,) * n, centres)
        return cls(decision, known, None if trust is None else tuple(trust), centres)

    @property
    def is_overruled(self) -> bool:
        """Whether somebody uses a log that the audit speaks against."""
        return self.decision in (CAP, STOP) and self.caps is None

    @property
    def is_cold(self) -> bool:
        """Whether the log is not used."""
        return self.decision == STOP and not self.is_overruled

    @property
    def is_capped(self) -> bool:
        """Whether an evaluator is held to the caps."""
        return self.decision in (CAP, STOP) and self.caps is not None


FREE = Binding()
