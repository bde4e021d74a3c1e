"""Engine: decisions, outcomes and their state, over any store. The server is a thin skin around it.

Calls are safe from any thread. One thread per experiment writes and folds, so what one experiment does (a roll-back,
a forest that is fitted anew) stops no other. A decision is computed, drawn, committed and only then answered.
`decide` and `outcome` wait; `decide_async` and `outcome_async` are awaited on an event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Self, TypeAlias, Unpack

from headstart.errors import HeadstartError, OptionError
from headstart.serve.config import ExperimentConfig, Label, ServiceConfig
from headstart.serve.engine.answers import Answer, Kind, asked, attempt, merge_answers, only_answer
from headstart.serve.engine.asks import (
    AsideAsk,
    Ask,
    CloseAsk,
    DecideAsk,
    DecisionTerms,
    EraseAsk,
    GuardAsk,
    OutcomeAsk,
    RetireAsk,
    SteerAsk,
    User,
    as_decide,
    as_outcome,
    check_event_id,
)
from headstart.serve.engine.export import Export
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.health import ExperimentHealth, Health, describe_health, sum_health
from headstart.serve.engine.history import Past
from headstart.serve.engine.ledger import Ledger
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.retaining import Retainer
from headstart.serve.engine.roster import Roster
from headstart.serve.engine.starting import StartState
from headstart.serve.engine.state import Sight, State
from headstart.serve.engine.tickets import Ticket
from headstart.serve.engine.watch import look_at
from headstart.serve.engine.writer import Writer
from headstart.serve.errors import NotNow, UnknownExperiment
from headstart.serve.options import ServerOptions
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body, Decision, Event, Receipt
from headstart.serve.store.reader import PAGE
from headstart.serve.store.store import Store
from headstart.serve.units import Unit, check_unit

Named: TypeAlias = float | Mapping[str, float]  # an outcome, or several by their names
OutcomeReport: TypeAlias = tuple[str | Unit, Named] | tuple[str | Unit, Named, str | None]
_PATIENCE = 60.0  # seconds for what people decide: a policy may have to learn everything again; the store has its own
_LOOK_PATIENCE = 0.3  # seconds that somebody who looks waits for an experiment that is busy


class Engine:
    """Experiments over a store. Open one with `Engine.open(load_config(...))`."""

    def __init__(self, config: ServiceConfig, store: Store, clock: Callable[[], float], deadline: float) -> None:
        self.config, self._store, self._clock, self._deadline = config, store, clock, deadline
        self._roster = Roster(config, store, clock)
        self._retainer = Retainer(lambda: self._roster.ledgers, clock)
        self._retainer.begin(config.retention)

    @property
    def _ledgers(self) -> Mapping[str, Ledger]:
        return self._roster.ledgers

    @property
    def _writers(self) -> Mapping[str, Writer]:
        return self._roster.writers

    @classmethod
    def open(
        cls,
        config: ServiceConfig,
        *,
        clock: Callable[[], float] = time.time,
        store: Store | None = None,
        deadline: float | None = None,
    ) -> Self:
        """Open the store, record what the configuration changed, and fold its events.

        `clock` gives seconds since 1970. `store` takes the place of the one that the configuration names. Nobody
        waits longer than `deadline` seconds for an answer; None is the configuration's.
        """
        engine = cls.start(config, clock=clock, store=store, deadline=deadline)
        try:
            engine.wait_until_open()
        except BaseException:
            engine.close()
            raise
        return engine

    @classmethod
    def start(
        cls,
        config: ServiceConfig,
        *,
        clock: Callable[[], float] = time.time,
        store: Store | None = None,
        deadline: float | None = None,
    ) -> Self:
        """`open` that returns when the store is open; each experiment decides as soon as its events are folded."""
        seconds = ServerOptions.read(config.server).deadline if deadline is None else deadline
        opened = open_store(config.store, seconds) if store is None else store
        try:
            return cls(config, opened, clock, seconds)
        except BaseException:
            opened.close()
            raise

    def wait_until_open(self) -> None:
        """Return when every experiment is open or broken; raise for a wrong configuration, or if all are broken."""
        self._roster.wait()

    def stop_opening(self) -> None:
        """Have experiments that are still folded not be: the engine is about to be closed."""
        self._roster.stop_opening()

    def reload(self, config: ServiceConfig) -> dict[str, str]:
        """Take up another configuration of the same store: what became of each experiment.

        Changed experiments are declared, new ones opened, those that are gone closed. An error leaves all as it is.
        """
        if config.store != self.config.store:
            raise OptionError("store cannot change while the service runs: start it again")
        before, deadline = (ServerOptions.read(each.server).deadline for each in (self.config, config))
        told = self._roster.reload(config)
        self._retainer.begin(config.retention)
        self.config, self._deadline = config, deadline if self._deadline == before else self._deadline
        return told

    # -- decisions and outcomes

    def decide(
        self,
        experiment: str,
        context: Mapping[str, object] | None = None,
        available: Sequence[object] | None = None,
        event_id: str | None = None,
        unit: str | None = None,
    ) -> Decision:
        """Decide for one user; durable when it returns. The same event id gets the same decision.

        A `unit` that comes back keeps the action that was drawn for it, as long as the experiment says (`sticky`).
        """
        user: User = {"context": context, "available": available, "event_id": event_id, "unit": unit}
        return self._ask(Decision, self._as_decide(experiment, user))

    def outcome(
        self,
        experiment: str,
        event_id: str | Unit,
        outcome: Named,
        report_id: str | None = None,
    ) -> Receipt:
        """Record what came of a decision, or of a unit's newest; durable when it returns. Repeating it is safe.

        Outcomes with names are a mapping; where one is a sum, `report_id` tells a report from its repetition.
        """
        return self._ask(Receipt, as_outcome(self._fold(experiment), event_id, outcome, report_id))

    async def decide_async(
        self, experiment: str, context: Mapping[str, object] | None = None, **others: Unpack[DecisionTerms]
    ) -> Decision:
        """`decide` for an event loop; `available`, `event_id` and `unit` by name."""
        return await self._ask_async(Decision, self._as_decide(experiment, {"context": context, **others}))

    async def outcome_async(
        self, experiment: str, event_id: str | Unit, outcome: Named, report_id: str | None = None
    ) -> Receipt:
        """`outcome` for an event loop."""
        return await self._ask_async(Receipt, as_outcome(self._fold(experiment), event_id, outcome, report_id))

    def decide_many(self, experiment: str, users: Sequence[User]) -> list[Decision | HeadstartError]:
        """Decide for many users in one commit.

        An answer that is an error stands for its own user: the others are decided.
        """
        return self._ask_many(Decision, experiment, self._as_decides(experiment, users))

    async def decide_many_async(self, experiment: str, users: Sequence[User]) -> list[Decision | HeadstartError]:
        """`decide_many` for an event loop."""
        return await self._ask_many_async(Decision, experiment, self._as_decides(experiment, users))

    def outcome_many(self, experiment: str, outcomes: Sequence[OutcomeReport]) -> list[Receipt | HeadstartError]:
        """Record many in one commit, (event id or unit, outcome, report id?) each; an error stands for its own."""
        return self._ask_many(Receipt, experiment, self._as_outcomes(experiment, outcomes))

    async def outcome_many_async(
        self, experiment: str, outcomes: Sequence[OutcomeReport]
    ) -> list[Receipt | HeadstartError]:
        """`outcome_many` for an event loop."""
        return await self._ask_many_async(Receipt, experiment, self._as_outcomes(experiment, outcomes))

    # -- what people decide about an experiment

    # The events keep who decided (`by`) and from where (`address`).

    def freeze(self, experiment: str, reason: str = "", *, by: str = "", address: str = "") -> int:
        """Stop learning: decisions go on by the present state, outcomes are kept. The event's sequence number."""
        return self._steer(experiment, kinds.FROZEN, {"reason": reason, "by": by, "address": address})

    def unfreeze(self, experiment: str, reason: str = "", *, by: str = "", address: str = "") -> int:
        """Learn again, beginning with the outcomes that came in the meantime."""
        return self._steer(experiment, kinds.UNFROZEN, {"reason": reason, "by": by, "address": address})

    def roll_back(
        self, experiment: str, to_version: int, reason: str = "", *, by: str = "", address: str = ""
    ) -> int:
        """Forget the outcomes that came after a version; they stay in the log."""
        newest = self._fold(experiment).version
        if not 0 <= to_version <= newest:
            raise NotNow(f"to_version must be a version up to {newest}, got {to_version}")
        body = {"to": to_version, "reason": reason, "by": by, "address": address}
        return self._steer(experiment, kinds.ROLLED_BACK, body)

    def withdraw_log(self, experiment: str, reason: str = "", *, by: str = "", address: str = "") -> int:
        """Go on as if there had been no log: everything that users taught is learnt again without it."""
        return self._steer(experiment, kinds.LOG_WITHDRAWN, {"reason": reason, "by": by, "address": address})

    def set_aside(self, experiment: str, event_id: str, reason: str = "", *, by: str = "", address: str = "") -> int:
        """Go on as if a decision's outcome had never come, nor will: for a mistake. The event's sequence number."""
        self._fold(experiment)
        body = {"reason": reason, "by": by, "address": address}
        return self._ask(int, AsideAsk(experiment, check_event_id(event_id), kinds.SET_ASIDE, body))

    def take_back(self, experiment: str, event_id: str, reason: str = "", *, by: str = "", address: str = "") -> int:
        """Let a decision count again that was set aside; 0 if it was not."""
        self._fold(experiment)
        body = {"reason": reason, "by": by, "address": address}
        return self._ask(int, AsideAsk(experiment, check_event_id(event_id), kinds.TAKEN_BACK, body))

    def retire(self, experiment: str, action: Label, reason: str = "", *, by: str = "", address: str = "") -> int:
        """Show an action no more: its chance is 0, what is known of it stays. The event's sequence number."""
        self._fold(experiment)
        body = {"reason": reason, "by": by, "address": address}
        return self._ask(int, RetireAsk(experiment, action, kinds.RETIRED, body))

    def reinstate(self, experiment: str, action: Label, reason: str = "", *, by: str = "", address: str = "") -> int:
        """Show an action again that was retired; 0 if it was not."""
        self._fold(experiment)
        body = {"reason": reason, "by": by, "address": address}
        return self._ask(int, RetireAsk(experiment, action, kinds.REINSTATED, body))

    def trip(self, experiment: str, guardrail: str, found: Body) -> int:
        """Record that a guardrail has tripped, by what its watch found; 0 if it began anew since that looked."""
        self._fold(experiment)
        return self._ask(int, GuardAsk(experiment, guardrail, kinds.TRIPPED, found))

    def resume(self, experiment: str, guardrail: str, reason: str = "", *, by: str = "", address: str = "") -> int:
        """Have the policy decide again after a guardrail has tripped, which begins anew; 0 if it had not."""
        self._fold(experiment)
        body = {"reason": reason, "by": by, "address": address}
        return self._ask(int, GuardAsk(experiment, guardrail, kinds.RESUMED, body))

    def erase(self, experiment: str, of: str | Unit, reason: str = "", *, by: str = "", address: str = "") -> int:
        """Forget a person: a unit's contexts and its name, or those of an event id's decision; outcomes stay.

        The event's sequence number; 0 if nothing was left to forget.
        """
        self._fold(experiment)
        known = Unit(check_unit(of.name)) if isinstance(of, Unit) else check_event_id(of)
        body = {"reason": reason, "by": by, "address": address}
        return self._ask(int, EraseAsk(experiment, known, body))

    def close_windows(self) -> int:
        """Learn the decisions whose outcome window is over by now; how many. A running engine does it by itself."""
        closed = 0
        for name, ledger in self._ledgers.items():
            while ledger.fold.closes and (n := self._ask(int, CloseAsk(name))):
                closed += n
        return closed

    # -- looking

    def state(self, experiment: str) -> State:
        """What the policy believes and what has happened, for people and pages.

        An experiment that is being folded anew, or is broken, has the state that was last seen, and `behind` says so.
        """
        return self.look(experiment).state

    def look(self, experiment: str, patience: float = _LOOK_PATIENCE) -> Sight:
        """The state and the configuration in force with it; nobody waits longer than `patience` seconds."""
        return look_at(self._find(experiment), patience)

    def configuration(self, experiment: str) -> ExperimentConfig:
        """The one in force, whatever this process was started with; the declared one while there is no fold."""
        seen = self._find(experiment).seen
        return self.config.experiments[experiment] if seen is None else self.look(experiment, patience=0.0).config

    def fingerprint(self, experiment: str) -> bytes:
        """The folded state as bytes: the same for the same events, in every process."""
        ledger = self._ledger(experiment)
        with ledger.looking(self._deadline):
            return ledger.fold.fingerprint()

    def events(self, experiment: str, after: int = 0, limit: int = PAGE) -> list[Event]:
        """Events after a sequence number, in their order."""
        return list(self._ledger(experiment).reader.events(experiment, after, limit))

    @property
    def experiments(self) -> tuple[str, ...]:
        """The names of those that it runs at present."""
        return tuple(self._ledgers)

    def last_event(self, experiment: str, kind: str) -> Event | None:
        """The newest event of a kind that has no event id (configuration, warm_start, frozen, log_withdrawn ...)."""
        return self._ledger(experiment).reader.last(experiment, kind)

    def starts(self) -> dict[str, StartState | None]:
        """How each experiment that is open started: None without a log."""
        seen = {name: ledger.seen for name, ledger in self._ledgers.items()}
        return {name: sight.state["start"] for name, sight in seen.items() if sight is not None}

    def past(self, experiment: str) -> Past:
        """Decisions and outcomes as they came to count: for reports, which sum them."""
        return Past(self._find(experiment))

    def export(self, experiment: str) -> Export:
        """Decisions joined to their outcomes, as rows of the next log, by the configuration at this moment."""
        self._find(experiment)
        return Export(self._store.query, experiment)

    def watch_commits(self, told: Callable[[float, int], None]) -> None:
        """Have each commit's seconds and number of events told, in the writer's thread."""
        self._roster.watch_commits(told)

    def health(self) -> Health:
        """Whether writing works, how many wait for it, and how far this process is behind the store."""
        return sum_health(self.healths())

    def healths(self) -> dict[str, ExperimentHealth]:
        """The same of each experiment."""
        writers = self._writers  # of all ledgers, and perhaps of some that have just gone
        return {name: describe_health(ledger, writers[name]) for name, ledger in self._ledgers.items()}

    def close(self) -> None:
        """Finish what was asked, keep snapshots, let go of the store."""
        self._retainer.close()
        try:
            self._roster.close()
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the caller's side

    def _find(self, experiment: str) -> Ledger:
        ledger = self._ledgers.get(experiment)
        if ledger is None:
            raise UnknownExperiment(f"no experiment {experiment!r}; known: {', '.join(self._ledgers)}")
        return ledger

    def _ledger(self, experiment: str) -> Ledger:
        ledger = self._find(experiment)
        ledger.check_whole()
        return ledger

    def _fold(self, experiment: str) -> Fold:
        return self._ledger(experiment).fold

    def _as_decide(self, experiment: str, user: User) -> DecideAsk:
        return as_decide(self._fold(experiment), user, int(self._clock() * 1e3))

    def _as_decides(self, experiment: str, users: Sequence[User]) -> list[Ask | HeadstartError]:
        self._fold(experiment)
        return [attempt(partial(self._as_decide, experiment, user)) for user in users]

    def _as_outcomes(self, experiment: str, outcomes: Sequence[OutcomeReport]) -> list[Ask | HeadstartError]:
        fold = self._fold(experiment)
        return [attempt(partial(as_outcome, fold, *report)) for report in outcomes]

    def _submit(self, experiment: str, asks: Sequence[Ask]) -> Ticket:
        is_work = not all(isinstance(ask, DecideAsk | OutcomeAsk | GuardAsk) for ask in asks)
        seconds = max(_PATIENCE, self._deadline) if is_work else self._deadline
        return self._writers[experiment].submit(Ticket(asks, seconds))

    def _submit_async(self, experiment: str, asks: Sequence[Ask]) -> Awaitable[list[Answer]]:
        ticket = self._writers[experiment].submit(Ticket(asks, self._deadline, asyncio.get_running_loop()))
        assert ticket.future is not None
        return ticket.future

    def _ask(self, kind: type[Kind], ask: Ask) -> Kind:
        return only_answer(kind, self._submit(ask.experiment, [ask]).wait())

    async def _ask_async(self, kind: type[Kind], ask: Ask) -> Kind:
        return only_answer(kind, await self._submit_async(ask.experiment, [ask]))

    def _ask_many(
        self, kind: type[Kind], experiment: str, asks: Sequence[Ask | HeadstartError]
    ) -> list[Kind | HeadstartError]:
        return merge_answers(kind, asks, self._submit(experiment, asked(asks)).wait())

    async def _ask_many_async(
        self, kind: type[Kind], experiment: str, asks: Sequence[Ask | HeadstartError]
    ) -> list[Kind | HeadstartError]:
        return merge_answers(kind, asks, await self._submit_async(experiment, asked(asks)))

    def _steer(self, experiment: str, kind: str, body: Body) -> int:
        self._fold(experiment)
        return self._ask(int, SteerAsk(experiment, kind, body))
