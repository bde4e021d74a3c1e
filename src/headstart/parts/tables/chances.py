"""The chances of many users at once: an oracle's own way over a matrix, compiled rows, or one row after another."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np

from headstart import kernels
from headstart.arrays import Bools, Floats, Integers
from headstart.kernels import call
from headstart.kernels.dispatch import has_implementation
from headstart.kernels.states import copy_state
from headstart.parts.abilities import OracleAbilities, missing_method
from headstart.parts.contracts import Oracle


class Batched(Protocol):
    """An oracle with a way of its own over many users."""

    def batch_probabilities(self, contexts: Floats, available: Bools | None) -> Floats: ...


class Foresight(Protocol):
    """Users who can be asked about with whatever is in flight."""

    def __call__(self, policy: Oracle, rows: Integers | slice) -> Floats: ...


class Foreseeing(Protocol):
    """An oracle that knows what of these users does not depend on what is in flight."""

    def foresee(self, contexts: Floats, available: Bools | None) -> Foresight: ...


def _fill_rows(state: kernels.State, contexts: Floats, available: Bools, out: Floats) -> None:
    for i in range(out.shape[0]):
        kernels.probabilities(state, contexts[i], available[i], out[i])


def chances_of(policy: Oracle, contexts: Floats, available: Bools | None = None) -> Floats:
    """What `policy.probabilities` says of each row, (n, K).

    `contexts` are (n, d), of no columns for a policy that looks at none; `available` is (n, K). Nothing is learnt or
    drawn, and the policy's own state is not written to.
    """
    if missing_method(policy, "batch_probabilities") is None:
        return cast(Batched, policy).batch_probabilities(contexts, available)
    state = _state_of(policy)
    if state is not None:
        return _compiled_rows(copy_state(state), policy.n_actions, contexts, available)
    rows = [
        policy.probabilities(contexts[i] if contexts.shape[1] else None, None if available is None else available[i])
        for i in range(len(contexts))
    ]
    return np.array(rows).reshape(len(contexts), policy.n_actions)


def foresee(policy: Oracle, contexts: Floats, available: Bools | None) -> Foresight:
    """What `chances_of` says of some of these rows, by this policy or by copies with more in flight."""
    if missing_method(policy, "foresee") is None:
        return cast(Foreseeing, policy).foresee(contexts, available)
    return lambda place, rows: chances_of(place, contexts[rows], None if available is None else available[rows])


def can_share(policy: Oracle) -> bool:
    """Whether several threads may ask at once: of a policy in plain Python nobody knows."""
    return missing_method(policy, "batch_probabilities") is None or _state_of(policy) is not None


def _state_of(policy: Oracle) -> kernels.State | None:
    state = OracleAbilities(policy).kernel_state
    return state if state is not None and has_implementation(kernels.probabilities, type(state)) else None


def _compiled_rows(state: kernels.State, n_actions: int, contexts: Floats, available: Bools | None) -> Floats:
    """Row by row over a state of one's own: threads do not share room to work in."""
    out = np.zeros((len(contexts), n_actions))
    masks = np.ones(out.shape, dtype=np.bool_) if available is None else np.ascontiguousarray(available)
    call(_fill_rows, state, np.ascontiguousarray(contexts), masks, out, allocates=True)
    return out
