"""What callers may ask for: decisions, outcomes, and what people decide about an experiment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from headstart.errors import HeadstartError
from headstart.serve.engine.answers import as_decision_answer, as_receipt_answer
from headstart.serve.engine.engine import Engine
from headstart.serve.http.access import Caller
from headstart.serve.http.deadlines import in_thread
from headstart.serve.http.refusals import Refusals
from headstart.serve.http.wire import (
    ErrorAnswer,
    as_error,
    read_aside,
    read_decide,
    read_erase,
    read_many,
    read_outcome,
    read_resume,
    read_retire,
    read_roll_back,
    read_why,
)

Fields: TypeAlias = dict[str, object]  # of a body
Handler: TypeAlias = Callable[[Caller, str, Fields], Awaitable[object]]  # (caller, experiment, body) -> the answer
Charge: TypeAlias = Callable[[Caller, int], None]  # for the rest of a batch
Count: TypeAlias = Callable[[str, str | None], None]  # a part of a batch, and the code it was refused with


class Post(NamedTuple):
    """A path that takes POST: the scope that it needs, and what answers it."""

    scope: str
    handle: Handler


class Posts:
    """What answers each path: `verbs`."""

    def __init__(self, engine: Engine, refusals: Refusals, charge: Charge, count: Count) -> None:
        self._engine, self._refusals, self._charge, self._count = engine, refusals, charge, count
        self.verbs = {
            "decide": Post("decide", self._decide),
            "decide/batch": Post("decide", self._decide_many),
            "outcome": Post("outcome", self._outcome),
            "outcome/batch": Post("outcome", self._outcome_many),
            "freeze": _steering(engine.freeze, read_why),
            "unfreeze": _steering(engine.unfreeze, read_why),
            "roll-back": _steering(engine.roll_back, read_roll_back),
            "withdraw-log": _steering(engine.withdraw_log, read_why),
            "set-aside": _steering(engine.set_aside, read_aside),
            "take-back": _steering(engine.take_back, read_aside),
            "retire": _steering(engine.retire, read_retire),
            "reinstate": _steering(engine.reinstate, read_retire),
            "resume": _steering(engine.resume, read_resume),
            "erase": _steering(engine.erase, read_erase),
        }

    async def _decide(self, caller: Caller, experiment: str, body: Fields) -> object:
        return as_decision_answer(await self._engine.decide_async(experiment, **read_decide(body)))

    async def _decide_many(self, caller: Caller, experiment: str, body: Fields) -> object:
        asks = [read_decide(item, f"decisions[{i}].") for i, item in enumerate(read_many(body, "decisions"))]
        self._charge(caller, len(asks) - 1)
        answers = await self._engine.decide_many_async(experiment, asks)
        told = [
            self._refused(caller, experiment, a) if isinstance(a, HeadstartError) else as_decision_answer(a)
            for a in answers
        ]
        return {"decisions": told}

    async def _outcome(self, caller: Caller, experiment: str, body: Fields) -> object:
        return as_receipt_answer(await self._engine.outcome_async(experiment, *read_outcome(body)))

    async def _outcome_many(self, caller: Caller, experiment: str, body: Fields) -> object:
        asks = [read_outcome(item, f"outcomes[{i}].") for i, item in enumerate(read_many(body, "outcomes"))]
        self._charge(caller, len(asks) - 1)
        answers = await self._engine.outcome_many_async(experiment, asks)
        told = [
            self._refused(caller, experiment, a) if isinstance(a, HeadstartError) else as_receipt_answer(a)
            for a in answers
        ]
        return {"outcomes": told}

    def _refused(self, caller: Caller, experiment: str, error: HeadstartError) -> ErrorAnswer:
        refusal = self._refusals.of(error, may_look=caller.may_look)
        self._count(experiment, refusal.code)
        return as_error(refusal)


def _steering(verb: Callable[..., int], read: Callable[[Fields], tuple[object, ...]]) -> Post:
    """What people decide about an experiment: the verb is given what `read` finds in the body, and who asks."""

    async def steer(caller: Caller, experiment: str, body: Fields) -> object:
        given = read(body)
        return {"sequence": await in_thread(verb, experiment, *given, by=caller.name, address=caller.address)}

    return Post("admin", steer)
