"""What is in flight: rows of users and actions that a policy is told to expect outcomes of, or no longer to."""

from __future__ import annotations

from headstart import kernels
from headstart.arrays import Floats, Integers
from headstart.kernels import call, is_implemented
from headstart.parts.abilities import OracleAbilities, missing_method
from headstart.parts.contracts import Oracle
from headstart.parts.wrapper import layers


def weighs_flight(policy: Oracle) -> bool:
    """Whether it is anything to the policy that decisions are in flight."""
    inner = list(layers(policy))[-1]
    state = OracleAbilities(inner).kernel_state
    if state is not None:
        return is_implemented(kernels.expect, type(state))
    return missing_method(inner, "expect") is None


def _expect_rows(state: kernels.State, contexts: Floats, actions: Integers) -> None:
    for i in range(actions.size):
        kernels.expect(state, contexts[i], actions[i])


def _release_rows(state: kernels.State, contexts: Floats, actions: Integers) -> None:
    for i in range(actions.size):
        kernels.release(state, contexts[i], actions[i])


def expect_rows(policy: Oracle, contexts: Floats, actions: Integers) -> None:
    """`expect` for each row, compiled where it can be; `contexts` are (n, d), of no columns if none is looked at."""
    able = OracleAbilities(policy)
    if able.kernel_state is not None and is_implemented(kernels.expect, type(able.kernel_state)):
        call(_expect_rows, able.kernel_state, contexts, actions, allocates=True)
        return
    for i, action in enumerate(actions.tolist()):
        able.expect(contexts[i] if contexts.shape[1] else None, action)


def release_rows(policy: Oracle, contexts: Floats, actions: Integers) -> None:
    """`release` for each row, as `expect_rows`. What was not expected is none the less for it."""
    able = OracleAbilities(policy)
    if able.kernel_state is not None and is_implemented(kernels.release, type(able.kernel_state)):
        call(_release_rows, able.kernel_state, contexts, actions, allocates=True)
        return
    for i, action in enumerate(actions.tolist()):
        able.release(contexts[i] if contexts.shape[1] else None, action)
