"""What a world promises: settings from which the same randomness draws the same past, users and truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy

import numpy as np

from headstart import kernels
from headstart.logs.log import Log
from headstart.parts import missing_method
from headstart.simulation.simulate import Drawn, World
from headstart.testing.claims import claim, claim_raises, same_numbers

_N_USERS = 40
_N_INTERPRETED = 3


def check_world(world: World | Callable[[], World]) -> World:
    """Put a world's settings through their contract; returns them.

    Parameters
    ----------
    world
        An object with `draw(rng)`, or a function of no arguments that makes one.
    """
    is_maker = isinstance(world, type) or missing_method(world, "draw") is not None
    given: World = world() if is_maker else world  # type: ignore[operator, assignment]
    drawn, twin = (given.draw(np.random.default_rng(1)) for _ in range(2))
    _check_past(drawn, twin)
    again = drawn.again()
    past = _meet(drawn)
    claim(_meet(twin) == past, "the same randomness draws the same users and outcomes")
    claim(_meet(again) == past, "again() is the same world from the same first user on")
    claim_raises(lambda: drawn.draw_outcome(drawn.n_actions), f"action {drawn.n_actions} is rejected")
    other = given.draw(np.random.default_rng(2))
    claim(_meet(other) != past, "other randomness draws other users")
    _check_kernels(given.draw(np.random.default_rng(3)))
    return given


def _check_past(drawn: Drawn, twin: Drawn) -> None:
    log = drawn.log
    claim(isinstance(log, Log), f"log is a Log, got {type(log).__name__}")
    claim(log.n_actions == drawn.n_actions, f"the log has the world's {drawn.n_actions} actions, got {log.n_actions}")
    is_same = np.array_equal(log.outcomes, twin.log.outcomes) and np.array_equal(log.actions, twin.log.actions)
    claim(is_same, "the same randomness draws the same log")


def _meet(drawn: Drawn) -> list[float]:
    """The next users, what they do and what was to be expected of them, as one list of numbers."""
    told: list[float] = []
    k, d = drawn.n_actions, drawn.n_features
    for i in range(_N_USERS):
        context = np.asarray(drawn.draw_user())
        claim(context.shape == (d,), f"a user's context has shape ({d},), got {context.shape}")
        claim(bool(np.isfinite(context).all()), "a user's context is finite")
        expected = np.asarray(drawn.expected_outcomes())
        claim(expected.shape == (k,), f"expected_outcomes has shape ({k},), got {expected.shape}")
        claim(bool(np.isfinite(expected).all()), "expected outcomes are finite")
        outcome = drawn.draw_outcome(i % k)
        claim(math.isfinite(outcome), f"an outcome is a finite number, got {outcome!r}")
        told += [*context.tolist(), *expected.tolist(), outcome]
    return told


def _check_kernels(drawn: Drawn) -> None:
    """The kernels, run as plain Python on a copy of the state, do what the world does."""
    plain = deepcopy(drawn.kernel_state)
    for verb in (kernels.draw_user, kernels.draw_outcome, kernels.expected_outcomes):
        has_verb = kernels.is_implemented(verb, type(plain))
        claim(has_verb, f"kernel_state is a state that implements {verb.__name__}, got {type(plain).__name__}")
    context, expected = np.zeros(drawn.n_features), np.zeros(drawn.n_actions)
    with np.errstate(all="ignore"):  # words of random streams wrap around
        for i in range(_N_INTERPRETED):
            action = i % drawn.n_actions
            kernels.draw_user(plain, context)
            claim(same_numbers(context, drawn.draw_user()), "compiled users equal those of the plain kernels")
            outcome = kernels.draw_outcome(plain, action)
            is_same = math.isclose(outcome, drawn.draw_outcome(action), rel_tol=1e-9, abs_tol=1e-12)
            claim(is_same, "compiled outcomes equal those of the plain kernels")
            kernels.expected_outcomes(plain, expected)
            claim(same_numbers(expected, drawn.expected_outcomes()), "compiled truth equals the plain kernels'")
