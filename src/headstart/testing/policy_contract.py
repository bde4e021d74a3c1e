"""What a policy promises: it is an oracle, made anew for each run of a world, and lives the same life every time."""

from __future__ import annotations

import numpy as np

from headstart.logs.log import Log
from headstart.parts import Oracle, Wrapper
from headstart.simulation.simulate import Drawn, MakePolicy, World, simulate
from headstart.testing.claims import claim, same_numbers
from headstart.testing.oracle_contract import check_oracle


class _Uncompiled(Wrapper):
    """The same policy without its kernels: every loop around it is the plain one."""

    def __init__(self, policy: Oracle) -> None:
        self._policy = policy

    @property
    def inner(self) -> Oracle:
        return self._policy


def check_policy(
    make: MakePolicy, world: World, *, rounds: int = 60, outcomes: tuple[float, float] = (0.0, 1.0)
) -> MakePolicy:
    """Put the policies that a function makes through their contract; returns the function.

    Parameters
    ----------
    make
        A function (drawn world, log, rng) -> policy, as `simulate` takes it.
    world
        A world's settings: where the policies live.
    rounds
        How long.
    outcomes
        Two outcomes in the policy's range.
    """

    def make_plain(drawn: Drawn, log: Log, rng: np.random.Generator) -> Oracle:
        return _Uncompiled(make(drawn, log, rng))

    drawn = world.draw(np.random.default_rng(0))
    check_oracle(lambda: make(drawn.again(), drawn.log, np.random.default_rng(0)), outcomes=outcomes)
    for delay, batch in ((0, 1), (5, 3)):  # outcomes at once, and late
        policies = {"one": make, "again": make, "plain": make_plain}
        lives = simulate(world, policies, rounds=rounds, runs=2, seed=0, delay=delay, batch=batch)
        regrets = {name: curve.regrets for name, curve in lives.items()}
        claim(np.array_equal(regrets["one"], regrets["again"]), "a policy lives the same life from the same seed")
        claim(same_numbers(regrets["one"], regrets["plain"]), "a compiled life is the plain one")
    return make
