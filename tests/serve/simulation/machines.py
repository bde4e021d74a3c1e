"""Steps of machines: windows, snapshots, clocks and disks that fail, restarts, deployments, history that is lost."""

from __future__ import annotations

from headstart.errors import OptionError
from headstart.serve.engine.acceptance import accept_history
from headstart.serve.engine.archiving import archive_events
from headstart.serve.errors import StoreUnavailable
from headstart.serve.store.sqlite import SQLiteStore
from tests.serve.simulation.checks import check_equal, check_policy, check_state
from tests.serve.simulation.expectations import expect_declaration
from tests.serve.simulation.model import PromiseBroken
from tests.serve.simulation.raw_store import Copy
from tests.serve.simulation.replica import Replica, SimulatedClock
from tests.serve.simulation.world import World

_START = 1_700_000_000.0
_MAX_REPLICAS = 3


class Machines:
    """Processes, their clocks and their store."""

    def __init__(self, world: World) -> None:
        self._world, self._rng = world, world.rng
        self._kept = {name: model.copied() for name, model in world.models.items()}  # an older copy of the store
        self._copy: Copy | None = None
        self._deployed = self._n_replicas = 0  # the newest configuration that some replica has; replicas ever

    # -- beside the groups

    def look(self, replica: Replica, name: str) -> None:
        """Following, mending, closing windows: what is due is closed, unless something failed."""
        world, model, fired = self._world, self._world.models[name], replica.faults.n_fired
        was_whole, is_lost = replica.is_whole(name), (replica.number, name) in world.lost
        due = model.due(replica.now())
        replica.look_after(name)
        rows = world.raw.rows(name, model.head)
        if is_lost and rows:
            raise PromiseBroken("a replica that has lost its history wrote to the store")
        for row in rows:
            if not (row.kind == "outcome" and model.settles):
                check_equal("what looking appends", row.kind, "window_closed")
            model.take(row)
        ledger = replica.ledgers[name]
        world.tell(f"    {[row.kind for row in rows]} {ledger.broken or ledger.status.error or ''}")
        if replica.faults.n_fired > fired or is_lost:
            return
        if ledger.broken is not None or (was_whole and ledger.status.error is not None):
            raise PromiseBroken(f"nothing fails any more, and it stays so: {ledger.broken or ledger.status.error}")
        if was_whole and due and not rows:
            raise PromiseBroken(f"{len(due)} windows are over and were not closed")
        check_equal("the position after a look", ledger.fold.position, model.head)

    def check(self, replica: Replica, name: str) -> None:
        """Everything that a replica says, where it has folded everything."""
        world, fired = self._world, replica.faults.n_fired
        if not world.is_present(replica, name) or (replica.number, name) in world.lost:
            return
        try:
            check_state(replica, world.models[name])
            check_policy(replica.fold(name), world.models[name], world.sources)
        except StoreUnavailable as error:  # a policy is built when it is first needed
            world.excuse(replica, name, fired, error)

    def save_snapshot(self, replica: Replica, name: str) -> None:
        """A snapshot now."""
        fired = replica.faults.n_fired
        try:
            replica.save_snapshot(name)
        except StoreUnavailable as error:
            self._world.excuse(replica, name, fired, error)

    def spoil_snapshot(self, replica: Replica, name: str) -> None:
        """Somebody's or something's hand in the cache."""
        self._world.tell(f"    {self._world.raw.spoil_snapshot(self._rng)}")

    def jump(self, replica: Replica, name: str) -> None:
        """The clock of one machine."""
        seconds = self._rng.choice([0.5, 3.0, 10.0, 11.0, 1e5, -1.0, -30.0])
        replica.clock.seconds += seconds
        self._world.tell(f"    by {seconds} s")

    def fail(self, replica: Replica, name: str) -> None:
        """The disk of one machine, soon."""
        self._world.tell(f"    {replica.faults.arm(self._rng)}")

    def archive(self, replica: Replica, name: str) -> None:
        """Old events go into files, by a process of its own on this machine, or some of them before it fails."""
        world, model, fired = self._world, self._world.models[name], replica.faults.n_fired
        times = [row.time for row in model.decisions.values()]
        before, size = self._rng.choice(times) if times else 0, self._rng.choice([3, 10, 100])
        try:
            archive_events(
                replica.ledgers[name].store, name, before, world.raw.folder, {"by": "a seed"},
                sources=world.sources, clock=replica.clock, slice_size=size,
            )  # fmt: skip
        except StoreUnavailable as error:
            world.tell(f"    {type(error).__name__}: {error}")
            if replica.faults.n_fired == fired:
                raise PromiseBroken(f"archiving failed without a cause: {error}") from None
        except OptionError as error:  # a policy that cannot be saved
            world.tell(f"    {error}")
        for row in world.raw.rows(name, model.head):
            check_equal("what archiving appends", row.kind, "archived")
            model.take(row)
            world.tell(f"    up to {row.body['file']['through']}")

    # -- processes

    def add(self, replica: Replica, name: str) -> None:
        """One more process, up to three."""
        if len(self._world.replicas) < _MAX_REPLICAS:
            self.begin()

    def remove(self, replica: Replica, name: str) -> None:
        """One process less, but one."""
        if len(self._world.replicas) > 1:
            self._end(replica)

    def restart(self, replica: Replica, name: str) -> None:
        """A process ends, cleanly or not, and begins again with the same configuration."""
        if self._rng.random() < 0.5:
            for each in self._world.models:
                if replica.is_whole(each) and (replica.number, each) not in self._world.lost:
                    self.save_snapshot(replica, each)
        self._end(replica)
        self._open(replica)

    def deploy(self, replica: Replica, name: str) -> None:
        """The next configuration, on one replica; the others follow as they meet its events."""
        if self._deployed < max(len(plan.variants) for plan in self._world.plans.values()) - 1:
            self._deployed += 1
            self._end(replica)
            self.begin()

    def begin(self) -> None:
        """A new process with the newest configuration that is deployed."""
        clock = SimulatedClock(_START + self._rng.choice([0.0, 0.0, 2.0, -5.0]))
        plans = self._world.plans.items()
        configs = {name: plan.variants[min(self._deployed, len(plan.variants) - 1)] for name, plan in plans}
        self._n_replicas += 1
        self._open(Replica(self._n_replicas, self._world.path, configs, self._world.sources, clock))

    def _open(self, replica: Replica) -> None:
        """What its configuration changes is declared, and nothing else is; after a fault it is tried again."""
        fired = replica.faults.n_fired
        try:
            replica.open()
        except StoreUnavailable as error:
            self._world.tell(f"    {type(error).__name__}: {error}")
            if replica.faults.n_fired == fired:
                raise PromiseBroken(f"a start failed without a cause: {error}") from None
            replica.faults.heal()
            self._follow_declarations(replica, is_sure=False)
            self._open(replica)
            return
        self._follow_declarations(replica, is_sure=True)
        self._world.replicas.append(replica)

    def _follow_declarations(self, replica: Replica, *, is_sure: bool) -> None:
        for name, model in self._world.models.items():
            config = replica.configs[name]
            kinds = expect_declaration(model, config, self._world.logs[id(config)])
            rows = self._world.raw.rows(name, model.head)
            if rows or is_sure:
                check_equal("what a start declares", [row.kind for row in rows], kinds)
            for row in rows:
                model.take(row)

    def _end(self, replica: Replica) -> None:
        world = self._world
        world.replicas.remove(replica)
        replica.end()
        world.lost = {pair for pair in world.lost if pair[0] != replica.number}

    # -- history

    def keep_copy(self, replica: Replica, name: str) -> None:
        """What the store is now, for later."""
        self._kept = {each: model.copied() for each, model in self._world.models.items()}
        self._copy = self._world.raw.copy()

    def go_back(self, replica: Replica, name: str) -> None:
        """The store becomes an older copy of itself; whoever has folded more must notice, until that is accepted."""
        world = self._world
        if self._copy is None or any(model.config is None for model in self._kept.values()):
            return
        for other in world.replicas:
            for each in world.models:
                # One that has not met the newest epoch folds everything anew when it does.
                is_current = other.epoch(each) == world.raw.epoch()
                if is_current and other.fold(each).position > self._kept[each].head:
                    world.lost.add((other.number, each))
        assert self._copy is not None
        world.raw.go_back(self._copy, {each: model.head for each, model in self._kept.items()})
        world.models.update({each: model.copied() for each, model in self._kept.items()})
        world.tell(f"    to { ({each: model.head for each, model in world.models.items()}) }, lost for {world.lost}")
        if self._rng.random() < 0.4:
            self.accept(replica, name)

    def accept(self, replica: Replica, name: str) -> None:
        """Somebody goes on without what was lost."""
        world = self._world
        if not world.lost:
            return
        store = SQLiteStore(world.path)
        accept_history(store, "a seed", clock=SimulatedClock(_START))
        store.close()
        for each, model in world.models.items():
            for row in world.raw.rows(each, model.head):
                check_equal("what accepting appends", row.kind, "accepted")
                model.take(row)
        world.lost.clear()
