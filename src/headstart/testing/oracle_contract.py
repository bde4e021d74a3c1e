"""What an oracle promises."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy

import numpy as np

from headstart import kernels
from headstart.checks import NO_CONTEXT
from headstart.parts import ContextLike, Oracle, OracleAbilities, is_oracle
from headstart.testing.claims import (
    claim,
    claim_distribution,
    claim_frequencies,
    claim_raises,
    pickled,
    same_numbers,
    same_state,
)

_N_PLAYS = 2000
_N_INTERPRETED = 4  # rounds that kernels are run as plain Python for
_AGREE_BY_CHANCE = 1e-9  # two streams that are told apart agree so seldom


class Rounds:
    """What an oracle is put through: contexts, and two outcomes in its range."""

    def __init__(self, n_features: int, outcomes: tuple[float, float]) -> None:
        users = np.random.default_rng(0).standard_normal((32, n_features)) / math.sqrt(max(n_features, 1))
        self.n_features, self.outcomes = n_features, outcomes
        self.contexts: list[ContextLike] = list(users) if n_features else [None] * len(users)

    def live(self, oracle: Oracle, n_rounds: int) -> list[int]:
        """The actions of the next rounds, each learnt from."""
        actions = []
        for i in range(n_rounds):
            context = self.contexts[i % len(self.contexts)]
            actions.append(oracle.play(context))
            oracle.update(context, actions[-1], self.outcomes[i % 2])
        return actions


def check_oracle(
    oracle: Oracle | Callable[[], Oracle],
    *,
    n_features: int | None = None,
    outcomes: tuple[float, float] = (0.0, 1.0),
) -> Oracle:
    """Put an oracle through its contract; returns it (a copy is tested).

    Parameters
    ----------
    oracle
        An oracle, or a function of no arguments that makes one.
    n_features
        The length of a context; by default the oracle's `n_features`, else 0 (context-free).
    outcomes
        Two outcomes in the oracle's range.
    """
    given = oracle if is_oracle(oracle) else oracle()  # type: ignore[operator]  # what is no oracle makes one
    subject = deepcopy(given)
    told = OracleAbilities(subject).n_features or 0
    rounds = Rounds(told if n_features is None else n_features, outcomes)
    claim(isinstance(subject.n_actions, int) and subject.n_actions >= 1, "n_actions is a whole number >= 1")
    low, high = OracleAbilities(subject).outcome_range
    claim(low <= high, f"outcome_range is (smallest, largest), got ({low}, {high})")
    for learnt in (0, 1, 12):
        rounds.live(subject, learnt)
        _check_choices(subject, rounds.contexts[0])
        _check_available(subject, rounds.contexts[1])
    _check_late_outcomes(subject, rounds)
    _check_twins(subject, deepcopy(given), rounds)
    _check_asking(subject, rounds)
    _check_absorbing(subject, rounds)
    _check_flight(subject, deepcopy(given), rounds)
    _check_reseeding(subject, rounds)
    _check_kernels(subject, rounds)
    _check_rejections(subject, rounds)
    return given


def _check_choices(oracle: Oracle, context: ContextLike) -> None:
    chances = np.asarray(oracle.probabilities(context))
    claim_distribution(chances, oracle.n_actions)
    player = deepcopy(oracle)
    counts = np.zeros(oracle.n_actions)
    for _ in range(_N_PLAYS):
        action = player.play(context)
        claim(isinstance(action, int | np.integer), f"play returns an index, got {action!r}")
        claim(0 <= action < oracle.n_actions, f"play returns an index 0..{oracle.n_actions - 1}, got {action}")
        counts[action] += 1
    claim_frequencies(counts, chances)


def _check_available(oracle: Oracle, context: ContextLike) -> None:
    for only in range(oracle.n_actions):
        mask = np.zeros(oracle.n_actions, dtype=np.bool_)
        mask[only] = True
        claim(deepcopy(oracle).play(context, mask) == only, "the only available action is played (mask)")
        claim(deepcopy(oracle).play(context, [only]) == only, "the only available action is played (list)")
    mask = np.ones(oracle.n_actions, dtype=np.bool_)
    mask[0] = oracle.n_actions == 1
    chances = np.asarray(oracle.probabilities(context, mask))
    claim_distribution(chances, oracle.n_actions)
    claim(bool((chances[~mask] == 0.0).all()), "an action that is not available has chance 0")
    nothing = np.zeros(oracle.n_actions, dtype=np.bool_)
    claim_raises(lambda: oracle.play(context, nothing), "no available action is rejected")


def _check_late_outcomes(oracle: Oracle, rounds: Rounds) -> None:
    contexts, outcomes = rounds.contexts, rounds.outcomes
    actions = [oracle.play(context) for context in contexts[:6]]
    for i in reversed(range(6)):  # late and out of order
        oracle.update(contexts[i], actions[i], outcomes[i % 2])
    oracle.update(contexts[0], oracle.n_actions - 1, outcomes[0])  # never played: from a log
    claim_distribution(np.asarray(oracle.probabilities(contexts[0])), oracle.n_actions)


def _check_asking(oracle: Oracle, rounds: Rounds) -> None:
    asked, left = deepcopy(oracle), deepcopy(oracle)
    for context in rounds.contexts[:3] * 2:
        asked.probabilities(context)
    expected = rounds.live(left, 16)
    claim(rounds.live(asked, 16) == expected, "asking for probabilities changes no later play")
    read = deepcopy(oracle)
    before = np.asarray(read.probabilities(rounds.contexts[0])).copy()
    for name, column in OracleAbilities(read).readings()._asdict().items():
        shape = np.shape(column)
        claim(shape == (oracle.n_actions,), f"readings has {name} of shape ({oracle.n_actions},), got {shape}")
    after = np.asarray(read.probabilities(rounds.contexts[0]))
    claim(bool((before == after).all()), "asking for readings changes no chances")
    claim(rounds.live(read, 16) == expected, "asking for readings changes no later play")


def _check_absorbing(oracle: Oracle, rounds: Rounds) -> None:
    """An average that the log gives in place of an outcome is taken as an outcome is."""
    twin = deepcopy(oracle)
    absorb = OracleAbilities(twin).absorb
    if absorb is None:
        return
    low, high = rounds.outcomes
    context = rounds.contexts[0]
    try:
        absorb(context, 0, (low + high) / 2.0, (high - low) ** 2 / 4.0)
    except Exception as error:
        raise AssertionError(
            "broken promise: absorb(context, action, outcome, variance) learns an average in the oracle's range; "
            f"it raised {type(error).__name__}: {error}"
        ) from error
    claim_distribution(np.asarray(twin.probabilities(context)), oracle.n_actions)


def _check_flight(oracle: Oracle, fresh: Oracle, rounds: Rounds) -> None:
    """What is in flight may change what is explored, never what is believed; landed, it changes nothing."""

    def chances_of(asked: Oracle) -> list[list[float]]:
        return [np.asarray(asked.probabilities(context)).tolist() for context in rounds.contexts[:3]]

    flown = deepcopy(oracle)
    abilities, before = OracleAbilities(flown), chances_of(flown)
    believed = [np.array(column) for column in abilities.readings()]
    decisions = [(context, i % oracle.n_actions) for i, context in enumerate(rounds.contexts[:8])]
    for decision in decisions:
        abilities.expect(*decision)
    in_flight = chances_of(flown)
    for chances in in_flight:
        claim_distribution(np.array(chances), oracle.n_actions)
    told = zip(abilities.readings(), believed, strict=True)
    claim(
        all(np.array_equal(now, then, equal_nan=True) for now, then in told),
        "to expect changes nothing of what it reads",
    )
    saved = abilities.try_get_state()
    if saved is not None:
        OracleAbilities(fresh).set_state(deepcopy(saved))
        claim(chances_of(fresh) == in_flight, "a saved state keeps what is in flight")
    for decision in reversed(decisions):
        abilities.release(*decision)
    claim(chances_of(flown) == before, "what was expected and is released leaves the chances as they were")


def _check_twins(oracle: Oracle, fresh: Oracle, rounds: Rounds) -> None:
    """A twin made by copying, pickling or saving has the same future, and goes its own way."""
    abilities = OracleAbilities(oracle)
    twins: dict[str, Oracle | None] = {"a copy": deepcopy(oracle), "its own copy()": abilities.copy()}
    saved = deepcopy(abilities.try_get_state())
    twins["a pickled one"] = pickled(oracle, can_be_saved=saved is not None)
    if saved is not None:
        OracleAbilities(fresh).reseed(99)  # whatever its randomness was, the saved one counts
        OracleAbilities(fresh).set_state(saved)
        twins["one restored by set_state"] = fresh
    expected = rounds.live(deepcopy(oracle), 32)
    for name, twin in twins.items():
        if twin is not None:
            claim(twin is not oracle, f"{name} is another oracle, got the same one")
            claim(rounds.live(twin, 32) == expected, f"{name} has the same future, randomness included")
    claim(rounds.live(deepcopy(oracle), 32) == expected, "what a twin lives through changes nothing in the original")
    if saved is not None:
        restored = _check_saving(deepcopy(oracle), rounds)
        OracleAbilities(restored).set_state(saved)
        claim(rounds.live(restored, 32) == expected, "a saved state is as it was, whatever was learnt after it")


def _check_saving(oracle: Oracle, rounds: Rounds) -> Oracle:
    """A saved state shares nothing with the oracle it is from or is given to; returns the oracle."""
    abilities = OracleAbilities(oracle)
    saved = abilities.get_state()
    kept = deepcopy(saved)
    rounds.live(oracle, 8)
    claim(same_state(saved, kept), "a state from get_state stays as it is while the oracle learns")
    abilities.set_state(saved)
    rounds.live(oracle, 8)
    claim(same_state(saved, kept), "a state given to set_state stays as it is while the oracle learns")
    return oracle


def _check_reseeding(oracle: Oracle, rounds: Rounds) -> None:
    """Same seed, same draws; another seed, others, for an oracle that draws at all."""

    def draws(seed: int) -> tuple[list[int], float]:
        twin, agreement = deepcopy(oracle), 1.0
        actions: list[int] = []
        OracleAbilities(twin).reseed(seed)
        while agreement > _AGREE_BY_CHANCE and len(actions) < 64:
            context = rounds.contexts[len(actions) % len(rounds.contexts)]
            agreement *= float(np.square(twin.probabilities(context)).sum())
            actions.append(twin.play(context))
        return actions, agreement

    if not OracleAbilities(oracle).can_be_reseeded:
        return
    told = deepcopy(oracle)
    before = [np.asarray(told.probabilities(context)).copy() for context in rounds.contexts[:3]]
    OracleAbilities(told).reseed(1)
    after = [np.asarray(told.probabilities(context)) for context in rounds.contexts[:3]]
    claim(same_numbers(np.array(before), np.array(after)), "reseed changes no chances: what was learnt stays")
    (first, agreement), (again, _), (other, _) = draws(1), draws(1), draws(2)
    claim(first == again, "reseeded with the same seed, it plays the same")
    if agreement <= _AGREE_BY_CHANCE:
        claim(first != other, "reseeded with another seed, a randomised oracle plays otherwise")


def _check_kernels(oracle: Oracle, rounds: Rounds) -> None:
    """The kernels, run as plain Python on a copy of the state, do what the oracle does."""
    compiled = deepcopy(oracle)
    abilities = OracleAbilities(compiled)
    abilities.reserve(_N_INTERPRETED)
    plain = deepcopy(abilities.kernel_state)
    if plain is None:
        return
    everything = np.ones(oracle.n_actions, dtype=np.bool_)
    chances = np.zeros(oracle.n_actions)
    with np.errstate(all="ignore"):  # words of random streams wrap around
        for i in range(_N_INTERPRETED):
            context = rounds.contexts[i]
            seen = NO_CONTEXT if context is None else np.asarray(context, dtype=np.float64)
            if i == 0:
                kernels.probabilities(plain, seen, everything, chances)
                claim(same_numbers(chances, compiled.probabilities(context)), "compiled chances equal plain ones")
            abilities.expect(context, 0)
            kernels.expect(plain, seen, 0)
            action = compiled.play(context)
            claim(kernels.play(plain, seen, everything) == action, "compiled plays equal those of the plain kernels")
            if i % 2:
                abilities.release(context, 0)
                kernels.release(plain, seen, 0)
            kernels.update(plain, seen, action, rounds.outcomes[i % 2])
            compiled.update(context, action, rounds.outcomes[i % 2])
        kernels.probabilities(plain, seen, everything, chances)
    claim(same_numbers(chances, compiled.probabilities(context)), "compiled updates equal those of the plain kernels")


def _check_rejections(oracle: Oracle, rounds: Rounds) -> None:
    context, outcome = rounds.contexts[0], rounds.outcomes[0]
    before = np.asarray(oracle.probabilities(context)).copy()
    k = oracle.n_actions
    bad: list[tuple[str, Callable[[], object]]] = [
        (f"action {k} of {k} is rejected", lambda: oracle.update(context, k, outcome)),
        ("action -1 is rejected", lambda: oracle.update(context, -1, outcome)),
        ("an outcome of NaN is rejected", lambda: oracle.update(context, 0, math.nan)),
        ("an infinite outcome is rejected", lambda: oracle.update(context, 0, math.inf)),
    ]
    if rounds.n_features:
        wrong = np.zeros(rounds.n_features + 1)
        bad.append(("play rejects a context of the wrong length", lambda: oracle.play(wrong)))
        bad.append(("update rejects a context of the wrong length", lambda: oracle.update(wrong, 0, outcome)))
    for promise, attempt in bad:
        claim_raises(attempt, promise)
    after = np.asarray(oracle.probabilities(context))
    claim(bool((before == after).all()), "a rejected call leaves the state unchanged")
