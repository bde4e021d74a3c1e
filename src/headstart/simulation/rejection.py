"""Rejection replay: a policy that learns lives through a log of another policy as if it had met the users itself.

An event (x, a, y) was logged with propensity p = p(a | x). The policy, after the events accepted so far, chooses b
for x; it is accepted if b = a and a uniform draw is below c / p, where 0 < c <= p(b | x) for every x and b. Then

    P(accepted | x, history) = sum over b of pi(b | x, history) p(b | x) c / p(b | x) = c,

whatever x, the choice and the history are. So an accepted event's x has the population's distribution, its action is
distributed as pi(. | x, history), and its y as the outcome of that action, given x (the log's actions being
unconfounded given x). Events are independent, so by induction the accepted ones are distributed as the rounds of the
policy's own life, and the number of accepted among n events is binomial (n, c) for any policy. With c = p = 1 / K
nothing is drawn: that is Li et al. (2011); Mandel et al. (2016) have it for Markov decision processes.

The value is estimated from all events, the rejected too, by the doubly robust term

    m_b(x) + 1{b = a} (y - m_a(x)) / p,

whose mean given x and the history is that of the outcome of the choice, whatever m is (m comes from other rows). It
is the non-stationary doubly robust estimate of Dudik et al. (2012), the choice drawn instead of averaged over. So c
does not bear on how many rows the value rests on, only on how many rounds the policy has to learn in. Where an action
is so rare that c leaves too few of them, c is taken larger: a choice b with p(b | x) < c is then accepted whenever b
= a, and, in as many of the other cases as are missing, answered by an earlier row of b (`lending`). The share of such
rounds is counted and told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart import kernels
from headstart.arrays import Bools, Floats, Integers
from headstart.errors import LogError, OptionError, OutcomeError
from headstart.kernels import play, update
from headstart.kernels.arrays import copy_into
from headstart.logs.log import Log
from headstart.parts.abilities import OracleAbilities, missing_method
from headstart.parts.contracts import Oracle, State
from headstart.simulation.acceptance import Acceptance
from headstart.simulation.lending import no_loans, open_loans, take_lender, wait_to_lend


@dataclass(frozen=True)
class Life:
    """One policy's accepted events, in their order, and its doubly robust terms."""

    order: Integers  # rows of the log as they came
    ends: Integers  # (T,) places in `order` of the accepted events
    terms: Floats  # (events gone through,); empty where replay needs none
    weights: Floats  # (events gone through,) what each term counts; 1 but where a rare action could not be borrowed
    choices: Integers  # (T,) what the policy chose in each round
    n_lent: int = 0  # of the accepted events, those whose outcome an earlier row lent
    n_again: int = 0  # of these, those whose lender had taught the policy before

    @property
    def accepted(self) -> Integers:
        """Rows of the log, (T,)."""
        return self.order[self.ends]

    def curve(self, outcomes: Floats) -> Floats:
        """The mean outcome per round up to each round, (T,)."""
        if self.terms.size:
            return np.cumsum(self.weights * self.terms)[self.ends] / np.cumsum(self.weights)[self.ends]
        return np.cumsum(outcomes[self.accepted]) / np.arange(1.0, self.ends.size + 1.0)

    def contributions(self, outcomes: Floats) -> tuple[Integers, Floats, Floats]:
        """The rows that the value is the mean of, what each says, and how much it counts."""
        if self.terms.size:
            n = int(self.ends[-1]) + 1
            return self.order[:n], self.terms[:n], self.weights[:n]
        return self.accepted, outcomes[self.accepted], np.ones(self.ends.size)


def live_as_logged(log: Log, order: Integers, n_rounds: int) -> Life:
    """The life of the logging policy itself: every row as it came. Its curve is read at `n_rounds` even places."""
    ends = np.ceil(np.linspace(0.0, order.size, n_rounds + 1)[1:]).astype(np.int64) - 1
    return Life(order, ends, log.outcomes[order], np.ones(order.size), log.actions[order[ends]])


def live(
    policy: Oracle,
    log: Log,
    order: Integers,
    uniforms: Floats,
    acceptance: Acceptance,
    predicted: Floats | None,
    chances: Floats | None = None,
) -> Life:
    """Let the policy, which is changed, meet these rows in this order.

    None in `predicted` for plain outcomes; `chances` of every action, (n, K), where rare ones may be borrowed.
    """
    _check_policy(policy, log)
    ends, choices = (np.empty(acceptance.n_rounds, dtype=np.int64) for _ in range(2))
    terms, weights = (np.empty(0 if predicted is None else order.size) for _ in range(2))
    model = np.empty((0, 0)) if predicted is None else predicted
    done = np.zeros(4, dtype=np.int64)  # accepted, seen, lent, lent again
    abilities = OracleAbilities(policy)
    abilities.reserve(ends.size)
    assert log.propensities is not None
    loans = no_loans(log.n_actions) if chances is None else open_loans(chances, acceptance.chance)
    rule = (acceptance.chance, acceptance.floor)
    arguments = (model, order, uniforms, *rule, *loans, ends, choices, terms, weights, done)
    state = abilities.kernel_state
    if state is None:
        _run_plain(policy, log, *arguments)
    else:
        scratch = (np.empty(log.n_features), np.ones(log.n_actions, dtype=np.bool_))
        whole = (state, *scratch, log.contexts, log.actions, log.outcomes, log.propensities, *arguments)
        kernels.call(_run, *whole)
    n, seen = int(done[0]), int(done[1])
    if n == 0:
        raise LogError(f"{policy!r} agreed with none of {order.size} events")
    kept = (terms[:seen].copy(), weights[:seen].copy(), choices[:n].copy())
    return Life(order, ends[:n].copy(), *kept, int(done[2]), int(done[3]))


@kernels.kernel
def _value(
    chosen: int,
    event: int,
    action: int,
    outcome: float,
    p: float,
    predicted: Floats,
    chance: float,
    columns: Integers,
    chances: Floats,
    counts: Integers,
) -> tuple[float, float]:
    """The doubly robust term of a choice and what it counts; `p` is the propensity of the action taken."""
    term, weight = predicted[event, chosen], 1.0
    if chosen == action:
        term += (outcome - predicted[event, action]) / p
    column = columns[chosen]
    if column >= 0 and counts[column] == 0 and chances[event, column] < chance:
        weight = chances[event, column] / chance
    return term, weight


def _run(
    policy: State,
    context: Floats,
    available: Bools,
    contexts: Floats,
    actions: Integers,
    logged: Floats,
    propensities: Floats,
    predicted: Floats,
    order: Integers,
    uniforms: Floats,
    chance: float,
    floor: float,
    columns: Integers,
    chances: Floats,
    waiting: Integers,
    counts: Integers,
    times: Integers,
    ends: Integers,
    choices: Integers,
    terms: Floats,
    weights: Floats,
    done: Integers,
) -> None:
    for i in range(order.size):
        if done[0] == ends.size:
            return
        event = order[i]
        copy_into(context, contexts[event])
        chosen = play(policy, context, available)
        action, outcome, p = actions[event], logged[event], propensities[event]
        if terms.size > 0:
            terms[i], weights[i] = _value(
                chosen, event, action, outcome, max(p, floor), predicted, chance, columns, chances, counts
            )
        done[1] += 1
        is_own = chosen == action and uniforms[i] * p < chance
        is_lent = chosen != action and _may_borrow(chosen, event, uniforms[i], chance, columns, chances, counts)
        if is_own:
            update(policy, context, action, outcome)
        elif is_lent:
            lender, is_again = take_lender(waiting, counts, times, columns[chosen], predicted, chosen, event)
            update(policy, context, chosen, logged[lender])
            done[2] += 1
            done[3] += is_again
        if columns[action] >= 0:
            wait_to_lend(waiting, counts, times, columns[action], event, int(is_own))
        if is_own or is_lent:
            ends[done[0]], choices[done[0]] = i, chosen
            done[0] += 1


@kernels.kernel
def _may_borrow(
    chosen: int, event: int, uniform: float, chance: float, columns: Integers, chances: Floats, counts: Integers
) -> bool:
    """Whether somebody waits, and this is one of the (c - p) / (1 - p) of cases that are missing."""
    column = columns[chosen]
    if column < 0 or counts[column] == 0:
        return False
    p = chances[event, column]
    return bool(uniform * (1.0 - p) < chance - p)


def _run_plain(
    policy: Oracle,
    log: Log,
    predicted: Floats,
    order: Integers,
    uniforms: Floats,
    chance: float,
    floor: float,
    columns: Integers,
    chances: Floats,
    waiting: Integers,
    counts: Integers,
    times: Integers,
    ends: Integers,
    choices: Integers,
    terms: Floats,
    weights: Floats,
    done: Integers,
) -> None:
    """The same, one Python call at a time, for parts without kernels."""
    assert log.propensities is not None
    contexts, actions, outcomes, propensities = log.contexts, log.actions, log.outcomes, log.propensities
    where, is_valued = columns.tolist(), terms.size > 0
    accepted = seen = lent = lent_again = 0
    for i, event in enumerate(order):
        if accepted == ends.size:
            break
        context, action, outcome = contexts[event], int(actions[event]), float(outcomes[event])
        p, chosen = float(propensities[event]), int(policy.play(context))
        if is_valued:
            value = (chosen, event, action, outcome, max(p, floor), predicted)
            terms[i], weights[i] = _value(*value, chance, columns, chances, counts)
        seen += 1
        is_own = chosen == action and uniforms[i] * p < chance
        is_lent = chosen != action and _may_borrow(chosen, event, uniforms[i], chance, columns, chances, counts)
        if is_own:
            policy.update(context, action, outcome)
        elif is_lent:
            lender, is_again = take_lender(waiting, counts, times, where[chosen], predicted, chosen, event)
            policy.update(context, chosen, float(outcomes[lender]))
            lent += 1
            lent_again += is_again
        if where[action] >= 0:
            wait_to_lend(waiting, counts, times, where[action], event, int(is_own))
        if is_own or is_lent:
            ends[accepted], choices[accepted] = i, chosen
            accepted += 1
    done[:] = accepted, seen, lent, lent_again


def _check_policy(policy: Oracle, log: Log) -> None:
    """Kernels check nothing, so this does, once."""
    lacking = missing_method(policy, "play", "update")
    if lacking is not None:
        raise OptionError(f"{type(policy).__name__} has no {lacking}: it is not a policy")
    abilities = OracleAbilities(policy)
    if policy.n_actions != log.n_actions:
        raise OptionError(f"the policy has {policy.n_actions} actions, the log {log.n_actions}")
    needed = abilities.n_features
    if needed not in (None, 0, log.n_features):
        raise OptionError(f"the policy decides on {needed} columns, the log has {log.n_features}")
    low, high = abilities.outcome_range
    least, most = log.outcome_range
    if least < low or most > high:
        raise OutcomeError(
            f"outcomes must be in [{low:g}, {high:g}] for {policy!r}, the log's are in [{least:g}, {most:g}]"
        )
