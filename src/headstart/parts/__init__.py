"""Parts: the contracts, what a part may offer beyond them, what wraps a part, and which parts there are."""

from headstart.parts.abilities import (
    Abilities,
    EvaluatorAbilities,
    OracleAbilities,
    is_oracle,
    load_parts,
    missing_method,
    save_parts,
)
from headstart.parts.contracts import ContextLike, Evaluator, Oracle, Readings, Saved, State, UserOutcomes, Weighing
from headstart.parts.wrapper import Wrapper, layers

__all__ = [
    "Abilities",
    "ContextLike",
    "Evaluator",
    "EvaluatorAbilities",
    "Oracle",
    "OracleAbilities",
    "Readings",
    "Saved",
    "State",
    "UserOutcomes",
    "Weighing",
    "Wrapper",
    "is_oracle",
    "layers",
    "load_parts",
    "missing_method",
    "save_parts",
]
