"""Compiled kernels: the one room that imports numba. See ARCHITECTURE.md, "Speed by composition"."""

from headstart.kernels.compile import Entry, compiled, entry, is_compiling, kernel, states_in
from headstart.kernels.verbs import (
    draw_context,
    draw_outcome,
    draw_user,
    expected_outcomes,
    fill_propensities,
    get_outcome,
    implements,
    is_exhausted,
    play,
    probabilities,
    record_context,
    update,
)

__all__ = [
    "Entry",
    "compiled",
    "draw_context",
    "draw_outcome",
    "draw_user",
    "entry",
    "expected_outcomes",
    "fill_propensities",
    "get_outcome",
    "implements",
    "is_compiling",
    "is_exhausted",
    "kernel",
    "play",
    "probabilities",
    "record_context",
    "states_in",
    "update",
]
