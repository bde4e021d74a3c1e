"""The chances of many users at once: an oracle's own way over a matrix, compiled rows, or one row after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np

from headstart import kernels
from headstart.arrays import Bools, Floats
from headstart.checks import NO_CONTEXT
from headstart.kernels import compiled, states_in
from headstart.kernels.dispatch import has_implementation
from headstart.kernels.states import copy_state
from headstart.parts.abilities import OracleAbilities, missing_method
from headstart.parts.contracts import Oracle

_FEWEST = 2048  # rows that are worth a thread of their own


def _fill_rows(state: kernels.State, contexts: Floats, available: Bools, out: Floats) -> None:
    for i in range(out.shape[0]):
        kernels.probabilities(state, contexts[i], available[i], out[i])


def chances_of(
    policy: Oracle, contexts: Floats, available: Bools | None = None, pool: ThreadPoolExecutor | None = None
) -> Floats:
    """What `policy.probabilities` says of each row, (n, K).

    `contexts` are (n, d), of no columns for a policy that looks at none; `available` is (n, K). Nothing is learnt or
    drawn, and the policy's own state is not written to.
    """
    if missing_method(policy, "batch_probabilities") is None:
        batch = cast(Callable[..., Floats], policy.batch_probabilities)  # type: ignore[attr-defined]
        return _in_threads(lambda part, mask: batch(part, mask), policy, contexts, available, pool)
    state = OracleAbilities(policy).kernel_state
    if state is not None and has_implementation(kernels.probabilities, type(state)):
        return _in_threads(lambda part, mask: _compiled_rows(policy, part, mask), policy, contexts, available, pool)
    return np.array(
        [
            policy.probabilities(
                contexts[i] if contexts.shape[1] else None, None if available is None else available[i]
            )
            for i in range(len(contexts))
        ]
    ).reshape(len(contexts), policy.n_actions)


def _compiled_rows(policy: Oracle, contexts: Floats, available: Bools | None) -> Floats:
    live = OracleAbilities(policy).kernel_state
    assert live is not None
    state = copy_state(live)  # threads do not share room to work in
    out = np.zeros((len(contexts), policy.n_actions))
    rows = np.ascontiguousarray(contexts if contexts.shape[1] else np.broadcast_to(NO_CONTEXT, (len(contexts), 0)))
    masks = np.ones(out.shape, dtype=np.bool_) if available is None else np.ascontiguousarray(available)
    compiled(_fill_rows, *states_in((state,)))(state, rows, masks, out)
    return out


def _in_threads(
    fill: Callable[[Floats, Bools | None], Floats],
    policy: Oracle,
    contexts: Floats,
    available: Bools | None,
    pool: ThreadPoolExecutor | None,
) -> Floats:
    n = len(contexts)
    if pool is None or n < 2 * _FEWEST:
        return fill(contexts, available)
    n_parts = min(pool._max_workers, n // _FEWEST)
    ends = [n * i // n_parts for i in range(n_parts + 1)]
    tasks: Sequence[Floats] = list(
        pool.map(
            lambda i: fill(
                contexts[ends[i] : ends[i + 1]], None if available is None else available[ends[i] : ends[i + 1]]
            ),
            range(n_parts),
        )
    )
    return np.concatenate(tasks)
