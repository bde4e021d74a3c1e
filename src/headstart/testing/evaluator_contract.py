"""What an evaluator promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy

import numpy as np
from numpy.typing import ArrayLike

from headstart import kernels
from headstart.checks import NO_CONTEXT
from headstart.parts import ContextLike, Evaluator, EvaluatorAbilities, missing_method
from headstart.testing.claims import claim, claim_raises, pickled, same_state

_N_ASKED = 50


def check_evaluator(
    evaluator: Evaluator | Callable[[], Evaluator],
    *,
    contexts: ArrayLike | None = None,
    n_actions: int | None = None,
    max_calls: int = 1_000_000,
) -> Evaluator:
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
    given = _made(evaluator)
    abilities = EvaluatorAbilities(given)
    known = abilities.contexts if contexts is None else np.asarray(contexts, dtype=np.float64)
    users: list[ContextLike] = list(known) if known is not None and len(known) else [None]
    k = (abilities.n_actions or 2) if n_actions is None else n_actions
    _check_can_be_asked(deepcopy(given), users)
    _check_answers(deepcopy(given), users, k, max_calls)
    _check_twins(given, users, k)
    _check_kernels(given, users, k)
    if abilities.n_actions is not None:
        _check_rejections(deepcopy(given), users, k)
    return given


def _made(given: Evaluator | Callable[[], Evaluator]) -> Evaluator:
    if isinstance(given, type) or missing_method(given, "get_outcome") is not None:
        return given()  # type: ignore[operator]  # what is no evaluator makes one
    return given  # type: ignore[return-value]


def _check_can_be_asked(evaluator: Evaluator, users: Sequence[ContextLike]) -> None:
    try:
        evaluator.get_outcome(users[0], 0)
    except Exception as error:
        asked = "None, as it has no contexts" if users[0] is None else "the first of its contexts"
        raise AssertionError(
            f"broken promise: get_outcome(context, action) answers or returns None; asked about {asked}, it raised "
            f"{type(error).__name__}: {error}. An evaluator that looks at contexts offers `contexts`, the rows that "
            "virtual users are drawn from, (n, d), or keeps its log as `log`; or give check_evaluator its contexts"
        ) from error


def _check_answers(evaluator: Evaluator, users: Sequence[ContextLike], n_actions: int, max_calls: int) -> None:
    abilities = EvaluatorAbilities(evaluator)
    calls = 0
    for action in range(n_actions):
        refusals = 0
        while refusals < len(users):  # None for one context need not mean None for the next
            user = users[calls % len(users)]
            was_exhausted = abilities.is_exhausted()
            outcome = evaluator.get_outcome(user, action)
            calls += 1
            claim(calls <= max_calls, f"answers come to an end (still answering after {max_calls} calls)")
            if outcome is None:
                refusals += 1
                continue
            refusals = 0
            is_number = isinstance(outcome, float | np.floating) and math.isfinite(outcome)
            claim(is_number, f"an answer is a finite float or None, got {outcome!r}")
            claim(not was_exhausted, f"an evaluator that is exhausted never answers again, got {outcome}")
            if abilities.get_variance is not None:
                variance = abilities.get_variance(user, action)
                claim(math.isfinite(variance) and variance >= 0.0, f"a variance is finite and >= 0, got {variance!r}")
    if abilities.is_exhausted():
        asked = [evaluator.get_outcome(user, action) for user in users for action in range(n_actions)]
        claim(all(answer is None for answer in asked), "an evaluator that is exhausted never answers again")


def _check_rejections(evaluator: Evaluator, users: Sequence[ContextLike], n_actions: int) -> None:
    left = deepcopy(evaluator)
    claim_raises(lambda: evaluator.get_outcome(users[0], n_actions), f"action {n_actions} of {n_actions} is rejected")
    claim_raises(lambda: evaluator.get_outcome(users[0], -1), "action -1 is rejected")
    is_same = _answers(evaluator, users, n_actions) == _answers(left, users, n_actions)
    claim(is_same, "a rejected call changes no later answer")


def _check_twins(evaluator: Evaluator, users: Sequence[ContextLike], n_actions: int) -> None:
    """A copied, pickled or restored evaluator gives the same answers from there on."""
    begun = deepcopy(evaluator)
    _answers(begun, users, n_actions)
    saved = deepcopy(EvaluatorAbilities(begun).try_get_state())
    twins: dict[str, Evaluator | None] = {"a copy": deepcopy(begun)}
    twins["a pickled one"] = pickled(begun, can_be_saved=saved is not None)
    if saved is not None:
        restored = deepcopy(evaluator)
        EvaluatorAbilities(restored).set_state(saved)
        twins["one restored by set_state"] = restored
        _check_saving(deepcopy(evaluator), users, n_actions)
    expected = _answers(deepcopy(begun), users, n_actions)
    for name, twin in twins.items():
        if twin is not None:
            claim(_answers(twin, users, n_actions) == expected, f"{name} gives the same answers")


def _check_saving(evaluator: Evaluator, users: Sequence[ContextLike], n_actions: int) -> None:
    """A saved state shares nothing with the evaluator that it is from, nor with the one that takes it up."""
    abilities = EvaluatorAbilities(evaluator)
    saved = abilities.get_state()
    kept = deepcopy(saved)
    _answers(evaluator, users, n_actions)
    claim(same_state(saved, kept), "a state from get_state stays as it is while the evaluator answers")
    abilities.set_state(saved)
    _answers(evaluator, users, n_actions)
    claim(same_state(saved, kept), "a state given to set_state stays as it is while the evaluator answers")


def _answers(evaluator: Evaluator, users: Sequence[ContextLike], n_actions: int) -> list[float | None]:
    return [evaluator.get_outcome(users[i % len(users)], i % n_actions) for i in range(_N_ASKED)]


def _check_kernels(evaluator: Evaluator, users: Sequence[ContextLike], n_actions: int) -> None:
    """The kernels, run as plain Python on a copy of the state, answer what the evaluator answers."""
    compiled = deepcopy(evaluator)
    plain = deepcopy(EvaluatorAbilities(compiled).kernel_state)
    if plain is None:
        return
    with np.errstate(all="ignore"):  # words of random streams wrap around
        for i in range(_N_ASKED):
            user, action = users[i % len(users)], i % n_actions
            seen = NO_CONTEXT if user is None else np.asarray(user, dtype=np.float64)
            answer, interpreted = compiled.get_outcome(user, action), kernels.get_outcome(plain, seen, action)
            is_same = math.isnan(interpreted) if answer is None else math.isclose(answer, interpreted, rel_tol=1e-9)
            claim(is_same, f"compiled answers equal those of the plain kernels, got {answer} and {interpreted}")
