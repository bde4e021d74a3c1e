"""Virtual plays as kernels: the offline phase of Algorithms 1 and 2 around any oracle and evaluator."""

from __future__ import annotations

import math
from typing import NamedTuple

from headstart.arrays import Bools, Floats, Integers, Scratch
from headstart.kernels import (
    State,
    absorb,
    draw_context,
    expect,
    get_outcome,
    get_variance,
    implements,
    is_exhausted,
    kernel,
    play,
    probabilities,
    record_context,
    release,
    update,
)


class WarmStartState(NamedTuple):
    oracle: State
    evaluator: State
    contexts: State
    columns: Integers  # (c,) the columns that the oracle decides on
    context: Scratch  # (d,) what the evaluator sees
    seen: Scratch  # (c,) what the oracle sees
    answered: Bools  # (K,) the actions of virtual plays: those that the log can ever answer for
    virtual_plays: Integers  # (K,)
    is_due: Bools  # (1,) whether the offline phase of the coming round is still to run
    low: float  # the oracle's range of outcomes: a model's answer just outside is moved to its border
    high: float
    is_batch: bool


@kernel
def _select(context: Floats, columns: Integers, out: Floats) -> None:
    for j in range(columns.size):
        out[j] = context[columns[j]]


@kernel
def _learn(state: WarmStartState, action: int, outcome: float) -> None:
    """A virtual outcome for the oracle: with the variance around it, if the answer was an average."""
    variance = get_variance(state.evaluator, state.context, action)
    absorb(state.oracle, state.seen, action, min(max(outcome, state.low), state.high), variance)
    state.virtual_plays[action] += 1


@kernel
def _each_round(state: WarmStartState) -> None:
    """Algorithm 1, lines 4-11."""
    while True:
        draw_context(state.contexts, state.context)
        _select(state.context, state.columns, state.seen)
        action = play(state.oracle, state.seen, state.answered)
        outcome = get_outcome(state.evaluator, state.context, action)
        if math.isnan(outcome):
            break
        _learn(state, action, outcome)


@kernel
def _batch(state: WarmStartState) -> None:
    """Algorithm 2, lines 4-12: every action in turn, until the log has no answer for it."""
    for action in range(state.answered.size):
        while True:
            draw_context(state.contexts, state.context)
            outcome = get_outcome(state.evaluator, state.context, action)
            if math.isnan(outcome):
                break
            _select(state.context, state.columns, state.seen)
            _learn(state, action, outcome)


@kernel
def offline_phase(state: WarmStartState) -> None:
    """Run the virtual plays that are due. A log that is used up costs nothing and draws nothing."""
    if not state.is_due[0]:
        return
    state.is_due[0] = False
    if is_exhausted(state.evaluator):
        return
    if state.is_batch:
        _batch(state)
    else:
        _each_round(state)


@kernel
def end_round(state: WarmStartState, context: Floats) -> None:
    """A user has come and gone: the next offline phase is due, and knows of one more context."""
    if not state.is_batch:
        state.is_due[0] = True
        if not is_exhausted(state.evaluator):
            record_context(state.contexts, context)


@implements(play, WarmStartState)
def _play(state: WarmStartState, context: Floats, available: Bools) -> int:
    offline_phase(state)
    _select(context, state.columns, state.seen)
    return play(state.oracle, state.seen, available)


@implements(update, WarmStartState)
def _update(state: WarmStartState, context: Floats, action: int, outcome: float) -> None:
    _select(context, state.columns, state.seen)
    update(state.oracle, state.seen, action, outcome)
    end_round(state, context)


@implements(expect, WarmStartState)
def _expect(state: WarmStartState, context: Floats, action: int) -> None:
    _select(context, state.columns, state.seen)
    expect(state.oracle, state.seen, action)


@implements(release, WarmStartState)
def _release(state: WarmStartState, context: Floats, action: int) -> None:
    _select(context, state.columns, state.seen)
    release(state.oracle, state.seen, action)


@implements(probabilities, WarmStartState)
def _probabilities(state: WarmStartState, context: Floats, available: Bools, out: Floats) -> None:
    offline_phase(state)
    _select(context, state.columns, state.seen)
    probabilities(state.oracle, state.seen, available, out)
