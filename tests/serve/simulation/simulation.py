"""One seed, one life of a store: configurations, traffic, faults, restarts, replicas, in one thread, always the same.

After each step what stands in the store is compared with what the model says must stand there, and what was answered
with both. A seed also chooses which kinds of steps there are at all (swarm testing): a fault that needs many freezes
and no roll-back is found by a seed that has it so.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from tests.serve.simulation.callers import Callers
from tests.serve.simulation.checks import check_equal, check_export, check_policy, check_state, check_store
from tests.serve.simulation.machines import Machines
from tests.serve.simulation.model import PromiseBroken
from tests.serve.simulation.people import People
from tests.serve.simulation.replica import Replica
from tests.serve.simulation.world import Tell, World

Step = Callable[[Replica, str], None]


class Simulation:
    """`run` raises PromiseBroken, or whatever the service let through."""

    def __init__(self, seed: int, folder: Path, tell: Tell = lambda line: None) -> None:
        self._world = World(seed, folder, tell)
        self._machines = Machines(self._world)
        self._steps, self._weights = zip(*self._choose_steps(), strict=True)
        self._n_steps = self._world.rng.choice([20, 40, 60, 90])
        self._failing: Replica | None = None  # the replica that is about to fail
        self._secrets = random.Random(seed + 1)  # what the service draws for itself

    def _choose_steps(self) -> list[tuple[Step, int]]:
        """Which kinds of steps this seed has, and how often each."""
        callers, people, machines = Callers(self._world), People(self._world), self._machines
        always = [(callers.decide, 8), (callers.report, 8), (callers.retry, 3), (callers.mix, 4)]
        sometimes = [
            (callers.try_hostile, 2),
            (people.freeze, 2), (people.unfreeze, 2), (people.roll_back, 2), (people.withdraw_log, 1),
            (people.set_aside, 2), (people.take_back, 1), (people.retire, 2), (people.reinstate, 1),
            (people.trip, 2), (people.resume, 2),
            (callers.erase, 2),
            (machines.look, 6), (machines.check, 2), (machines.jump, 4), (machines.fail, 6),
            (machines.save_snapshot, 3), (machines.spoil_snapshot, 2), (machines.archive, 2),
            (machines.add, 2), (machines.remove, 1), (machines.restart, 3), (machines.deploy, 2),
            (machines.keep_copy, 2), (machines.go_back, 1), (machines.accept, 1),
        ]  # fmt: skip
        return always + [each for each in sometimes if self._world.rng.random() < 0.6]

    def run(self) -> None:
        """Everything, to the end."""
        with (
            patch("secrets.token_hex", lambda n: self._secrets.randbytes(n).hex()),
            patch("secrets.randbits", self._secrets.getrandbits),
        ):
            try:
                self._machines.begin()
                for n in range(self._n_steps):
                    self._step(n)
                self._end()
            finally:
                self._world.close()

    def _step(self, n: int) -> None:
        world = self._world
        step = world.rng.choices(self._steps, self._weights)[0]
        replica, name = world.rng.choice(world.replicas), world.rng.choice(list(world.models))
        if self._failing in world.replicas and world.rng.random() < 0.7:
            replica = self._failing  # whose fault waits to be met
        self._failing = replica if step == self._machines.fail else None
        world.tell(f"{n}. replica {replica.number}, {name}: {step.__name__}")
        step(replica, name)
        world.check_excuses()

    def _end(self) -> None:
        """All is well again: every replica comes to the same state, which is the fold of the events."""
        world, machines = self._world, self._machines
        world.tell("the end")
        machines.accept(world.replicas[0], "")
        for replica in world.replicas:
            replica.faults.heal()
        for replica in world.replicas * 2:  # what one closes, another follows
            for name in [*world.models, *world.models]:  # mending takes one look, and what failed is forgotten by one
                machines.look(replica, name)
        for replica in world.replicas:
            for name, model in world.models.items():
                if not world.is_present(replica, name):
                    raise PromiseBroken(f"replica {replica.number} stays at {replica.fold(name).position}")
                check_state(replica, model)
                check_policy(replica.fold(name), model, world.sources)
                check_export(replica, model)
        prints = {name: {replica.fold(name).fingerprint() for replica in world.replicas} for name in world.models}
        for replica in world.replicas:
            replica.end()
        world.raw.drop_snapshots()
        refolded = check_store(world.path, world.models, world.sources)
        for name, found in prints.items():
            check_equal(f"fingerprints of {name}", found, {refolded[name]})
