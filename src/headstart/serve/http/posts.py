"""What callers may ask for: decisions, outcomes, and what people decide about an experiment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, ParamSpec, TypeAlias

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
    read_reason,
    read_resume,
    read_retire,
    read_roll_back,
)

P = ParamSpec("P")
Fields: TypeAlias = dict[str, object]  # of a body
Handler: TypeAlias = Callable[[Caller, str, Fields], Awaitable[object]]  # (caller, experiment, body) -> the answer
Charge: TypeAlias = Callable[[Caller, int], None]  # for the rest of a batch
Count: TypeAlias = Callable[[str, str | None], None]  # a part of a batch, and the code it was refused with


class Post(NamedTuple):
    """A path that takes POST: the scope that it needs, and what answers it."""

    scope: str
    handle: Handler


class Posts:
    """One method a path; `verbs` says which."""

    def __init__(self, engine: Engine, refusals: Refusals, charge: Charge, count: Count) -> None:
        self._engine, self._refusals, self._charge, self._count = engine, refusals, charge, count
        self.verbs = {
            "decide": Post("decide", self._decide),
            "decide/batch": Post("decide", self._decide_many),
            "outcome": Post("outcome", self._outcome),
            "outcome/batch": Post("outcome", self._outcome_many),
            "freeze": Post("admin", self._freeze),
            "unfreeze": Post("admin", self._unfreeze),
            "roll-back": Post("admin", self._roll_back),
            "withdraw-log": Post("admin", self._withdraw_log),
            "set-aside": Post("admin", self._set_aside),
            "take-back": Post("admin", self._take_back),
            "retire": Post("admin", self._retire),
            "reinstate": Post("admin", self._reinstate),
            "resume": Post("admin", self._resume),
            "erase": Post("admin", self._erase),
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

    async def _freeze(self, caller: Caller, experiment: str, body: Fields) -> object:
        return await _steer(
            self._engine.freeze, experiment, read_reason(body), by=caller.name, address=caller.address
        )

    async def _unfreeze(self, caller: Caller, experiment: str, body: Fields) -> object:
        reason = read_reason(body)
        return await _steer(self._engine.unfreeze, experiment, reason, by=caller.name, address=caller.address)

    async def _withdraw_log(self, caller: Caller, experiment: str, body: Fields) -> object:
        reason = read_reason(body)
        return await _steer(self._engine.withdraw_log, experiment, reason, by=caller.name, address=caller.address)

    async def _roll_back(self, caller: Caller, experiment: str, body: Fields) -> object:
        version, reason = read_roll_back(body)
        return await _steer(
            self._engine.roll_back, experiment, version, reason, by=caller.name, address=caller.address
        )

    async def _set_aside(self, caller: Caller, experiment: str, body: Fields) -> object:
        event_id, reason = read_aside(body)
        return await _steer(
            self._engine.set_aside, experiment, event_id, reason, by=caller.name, address=caller.address
        )

    async def _take_back(self, caller: Caller, experiment: str, body: Fields) -> object:
        event_id, reason = read_aside(body)
        return await _steer(
            self._engine.take_back, experiment, event_id, reason, by=caller.name, address=caller.address
        )

    async def _retire(self, caller: Caller, experiment: str, body: Fields) -> object:
        action, reason = read_retire(body)
        return await _steer(self._engine.retire, experiment, action, reason, by=caller.name, address=caller.address)

    async def _reinstate(self, caller: Caller, experiment: str, body: Fields) -> object:
        action, reason = read_retire(body)
        return await _steer(
            self._engine.reinstate, experiment, action, reason, by=caller.name, address=caller.address
        )

    async def _resume(self, caller: Caller, experiment: str, body: Fields) -> object:
        guardrail, reason = read_resume(body)
        return await _steer(
            self._engine.resume, experiment, guardrail, reason, by=caller.name, address=caller.address
        )

    def _refused(self, caller: Caller, experiment: str, error: HeadstartError) -> ErrorAnswer:
        refusal = self._refusals.of(error, may_look=caller.may_look)
        self._count(experiment, refusal.code)
        return as_error(refusal)

    async def _erase(self, caller: Caller, experiment: str, body: Fields) -> object:
        of, reason = read_erase(body)
        return await _steer(self._engine.erase, experiment, of, reason, by=caller.name, address=caller.address)


async def _steer(verb: Callable[P, int], *given: P.args, **options: P.kwargs) -> object:
    return {"sequence": await in_thread(verb, *given, **options)}
