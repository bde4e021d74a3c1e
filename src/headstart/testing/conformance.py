"""The conformance suite: what the contracts promise, as checks that any oracle or evaluator can be put through.

    from headstart.testing import check_oracle, check_evaluator

    def test_my_oracle_conforms():
        check_oracle(lambda: MyOracle(3, rng=1))

Both raise AssertionError with a sentence that says which promise was broken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats

_N_PLAYS = 2000
_FALSE_ALARM = 1e-6  # of the comparison of plays with probabilities, for a conforming oracle


def check_oracle(oracle: Any, *, n_features: int | None = None, outcomes: tuple[float, float] = (0.0, 1.0)) -> Any:
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
    given = _made(oracle, "play")
    subject = deepcopy(given)
    d = getattr(subject, "n_features", 0) if n_features is None else n_features
    users = np.random.default_rng(0).standard_normal((32, d)) / math.sqrt(max(d, 1))
    contexts: list[Any] = list(users) if d else [None] * len(users)
    _claim(isinstance(subject.n_actions, int) and subject.n_actions >= 1, "n_actions is a whole number >= 1")
    for learnt in (0, 1, 12):
        for i in range(learnt):
            context = contexts[i % len(contexts)]
            action = subject.play(context)
            subject.update(context, action, outcomes[i % 2])
        _check_choices(subject, contexts[0])
        _check_available(subject, contexts[1])
    _check_late_outcomes(subject, contexts, outcomes)
    _check_copy(subject, contexts, outcomes)
    _check_rejections(subject, contexts[0], d, outcomes)
    return given


def check_evaluator(
    evaluator: Any,
    *,
    contexts: ArrayLike | None = None,
    n_actions: int | None = None,
    max_calls: int = 1_000_000,
) -> Any:
    """Put an evaluator through its contract; returns it (a copy is tested).

    Parameters
    ----------
    evaluator
        An evaluator, or a function of no arguments that makes one.
    contexts
        Contexts to ask about, (n, d); by default the evaluator's own `contexts`, else None is asked.
    n_actions
        By default the evaluator's `n_actions`, else 2.
    max_calls
        How many answers it may give before it counts as never ending.
    """
    given = _made(evaluator, "get_outcome")
    subject = deepcopy(given)
    known = getattr(given, "contexts", None) if contexts is None else np.asarray(contexts, dtype=np.float64)
    users: list[Any] = list(known) if known is not None and len(known) else [None]
    k = getattr(given, "n_actions", 2) if n_actions is None else n_actions
    _check_answers(subject, users, k, max_calls)
    first, second = deepcopy(given), deepcopy(given)
    for i in range(50):
        asked = users[i % len(users)], i % k
        _claim(first.get_outcome(*asked) == second.get_outcome(*asked), "a copy gives the same answers")
    if hasattr(given, "n_actions"):
        _claim_raises(lambda: deepcopy(given).get_outcome(users[0], k), f"action {k} of {k} is rejected")
        _claim_raises(lambda: deepcopy(given).get_outcome(users[0], -1), "action -1 is rejected")
    return given


def _made(given: Any, method: str) -> Any:
    return given() if isinstance(given, type) or not hasattr(given, method) else given


def _check_answers(subject: Any, users: list[Any], n_actions: int, max_calls: int) -> None:
    calls = 0
    for action in range(n_actions):
        refusals = 0
        while refusals < len(users):  # None for one context need not mean None for the next
            outcome = subject.get_outcome(users[calls % len(users)], action)
            calls += 1
            _claim(calls <= max_calls, f"answers come to an end (still answering after {max_calls} calls)")
            if outcome is None:
                refusals += 1
                continue
            refusals = 0
            is_number = isinstance(outcome, float | np.floating) and math.isfinite(outcome)
            _claim(is_number, f"an answer is a finite float or None, got {outcome!r}")


def _check_choices(oracle: Any, context: Any) -> None:
    chances = np.asarray(oracle.probabilities(context))
    _claim_distribution(chances, oracle.n_actions)
    player = deepcopy(oracle)
    counts = np.zeros(oracle.n_actions)
    for _ in range(_N_PLAYS):
        action = player.play(context)
        _claim(isinstance(action, int | np.integer), f"play returns an index, got {action!r}")
        _claim(0 <= action < oracle.n_actions, f"play returns an index 0..{oracle.n_actions - 1}, got {action}")
        counts[action] += 1
        if counts.sum() == 1 and (np.asarray(player.probabilities(context)) != chances).any():
            return  # it counts what is in flight, so one play changes the chances of the next
    _claim_frequencies(counts, chances)


def _check_available(oracle: Any, context: Any) -> None:
    for only in range(oracle.n_actions):
        mask = np.zeros(oracle.n_actions, dtype=np.bool_)
        mask[only] = True
        _claim(deepcopy(oracle).play(context, mask) == only, "the only available action is played (mask)")
        _claim(deepcopy(oracle).play(context, [only]) == only, "the only available action is played (list)")
    mask = np.ones(oracle.n_actions, dtype=np.bool_)
    mask[0] = oracle.n_actions == 1
    chances = np.asarray(oracle.probabilities(context, mask))
    _claim_distribution(chances, oracle.n_actions)
    _claim(bool((chances[~mask] == 0.0).all()), "an action that is not available has chance 0")
    _claim_raises(
        lambda: oracle.play(context, np.zeros(oracle.n_actions, dtype=np.bool_)), "no available action is rejected"
    )


def _check_late_outcomes(oracle: Any, contexts: list[Any], outcomes: tuple[float, float]) -> None:
    actions = [oracle.play(context) for context in contexts[:6]]
    for i in reversed(range(6)):  # late and out of order
        oracle.update(contexts[i], actions[i], outcomes[i % 2])
    oracle.update(contexts[0], oracle.n_actions - 1, outcomes[0])  # never played: from a log
    _claim_distribution(np.asarray(oracle.probabilities(contexts[0])), oracle.n_actions)


def _check_copy(oracle: Any, contexts: list[Any], outcomes: tuple[float, float]) -> None:
    first, second = deepcopy(oracle), deepcopy(oracle)
    for i, context in enumerate(contexts):
        action = first.play(context)
        _claim(action == second.play(context), "a copy has the same future, randomness included")
        for each in (first, second):
            each.update(context, action, outcomes[i % 2])


def _check_rejections(oracle: Any, context: Any, d: int, outcomes: tuple[float, float]) -> None:
    before = np.asarray(oracle.probabilities(context)).copy()
    k = oracle.n_actions
    bad: list[tuple[str, Callable[[], Any]]] = [
        (f"action {k} of {k} is rejected", lambda: oracle.update(context, k, outcomes[0])),
        ("action -1 is rejected", lambda: oracle.update(context, -1, outcomes[0])),
        ("an outcome of NaN is rejected", lambda: oracle.update(context, 0, math.nan)),
        ("an infinite outcome is rejected", lambda: oracle.update(context, 0, math.inf)),
    ]
    if d:
        wrong = np.zeros(d + 1)
        bad.append(("play rejects a context of the wrong length", lambda: oracle.play(wrong)))
        bad.append(("update rejects a context of the wrong length", lambda: oracle.update(wrong, 0, outcomes[0])))
    for promise, attempt in bad:
        _claim_raises(attempt, promise)
    after = np.asarray(oracle.probabilities(context))
    _claim(bool((before == after).all()), "a rejected call leaves the state unchanged")


def _claim(is_true: bool, promise: str) -> None:
    if not is_true:
        raise AssertionError(f"broken promise: {promise}")


def _claim_raises(attempt: Callable[[], Any], promise: str) -> None:
    try:
        attempt()
    except (ValueError, TypeError, IndexError):
        return
    raise AssertionError(f"broken promise: {promise}")


def _claim_distribution(chances: Floats, n_actions: int) -> None:
    _claim(chances.shape == (n_actions,), f"probabilities has shape ({n_actions},), got {chances.shape}")
    _claim(bool((chances >= 0.0).all()), f"probabilities are not negative, got {chances}")
    _claim(abs(float(chances.sum()) - 1.0) < 1e-9, f"probabilities sum to 1, got {chances.sum()}")


def _claim_frequencies(counts: Floats, chances: Floats) -> None:
    from scipy.stats import chi2

    _claim(bool((counts[chances == 0.0] == 0).all()), "an action of chance 0 is never played")
    expected = counts.sum() * chances
    likely = expected >= 5.0
    rest = expected[~likely].sum()
    statistic = float(((counts[likely] - expected[likely]) ** 2 / expected[likely]).sum())
    cells = int(likely.sum())
    if rest >= 5.0:
        statistic += float((counts[~likely].sum() - rest) ** 2 / rest)
        cells += 1
    limit = chi2.isf(_FALSE_ALARM, max(cells - 1, 1))
    _claim(
        statistic <= limit,
        f"play follows probabilities (chi-square {statistic:.1f} over {limit:.1f}: {counts} of {chances})",
    )
