"""Compiled kernels: the one room that imports numba. See ARCHITECTURE.md, "Speed by composition"."""

from headstart.kernels.compile import Entry, compiled, entry, is_compiling, kernel
from headstart.kernels.composition import states_in
from headstart.kernels.dispatch import State, implements, is_implemented, may_allocate
from headstart.kernels.verbs import (
    absorb,
    draw_context,
    draw_outcome,
    draw_user,
    expect,
    expected_outcomes,
    fill_propensities,
    get_outcome,
    get_variance,
    is_exhausted,
    play,
    probabilities,
    record_context,
    release,
    take_action,
    update,
    withdraw,
)

__all__ = [
    "Entry",
    "State",
    "absorb",
    "compiled",
    "draw_context",
    "draw_outcome",
    "draw_user",
    "entry",
    "expect",
    "expected_outcomes",
    "fill_propensities",
    "get_outcome",
    "get_variance",
    "implements",
    "is_compiling",
    "is_exhausted",
    "is_implemented",
    "kernel",
    "may_allocate",
    "play",
    "probabilities",
    "record_context",
    "release",
    "states_in",
    "take_action",
    "update",
    "withdraw",
]
