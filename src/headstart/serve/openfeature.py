"""An OpenFeature provider: an application with feature flags asks for a flag, and an experiment decides.

The flag's key is the experiment's name, its value the action. The evaluation context's attributes are the user's
columns, its targeting key the unit that keeps its action. What is tracked for a user is the outcome of the last
decision that this provider made for them, or of the unit's newest one.
"""

from __future__ import annotations

import threading
from asyncio import to_thread  # connections of a loop would end with it; those of threads stay
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from headstart.extras import brought_by
from headstart.serve.client import Client, RequestFailed
from headstart.serve.talking import Rest
from headstart.serve.units import Unit

with brought_by("openfeature"):
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.exception import (
        FlagNotFoundError,
        GeneralError,
        InvalidContextError,
        OpenFeatureError,
        TypeMismatchError,
    )
    from openfeature.flag_evaluation import FlagResolutionDetails, FlagValueType, Reason
    from openfeature.provider import AbstractProvider, Metadata
    from openfeature.track import TrackingEventDetails

if TYPE_CHECKING:
    from headstart.serve.config import Label
    from headstart.serve.engine.answers import DecisionAnswer

_REMEMBERED = 10_000  # users whose last decisions are known, to track outcomes by
_WORDS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}

T = TypeVar("T")


class _Settings(NamedTuple):
    url: str
    key: str | None
    timeout: float
    retries: int


class HeadstartProvider(AbstractProvider):
    """Flags that a decision service decides.

    A string flag gets the action's label, an integer or a float flag a label that is such a number, a boolean flag
    one of on/off, true/false, yes/no. While the service is away, and where it refuses, the application's default is
    shown, with the error's code and message, as OpenFeature has it; `fallbacks` counts them. For a second after no
    answer came the service is not asked. The decision's event id, propensity and version are the flag's metadata.

    `track(name, context, details)` reports `details.value` (1 without one) as the outcome of the last decision for
    the context's targeting key, in each experiment that decided for it, or in `details.attributes["flag"]` alone, by
    whichever process it was decided; with `details.attributes["event_id"]` too, of that decision. With
    `is_named=True` the tracked event's name is the outcome's, for experiments that declare `outcomes`.

    Examples
    --------
    >>> from openfeature import api  # doctest: +SKIP
    >>> api.set_provider(HeadstartProvider("http://127.0.0.1:8000"))  # doctest: +SKIP
    >>> user = EvaluationContext("user-7", {"age": 34, "likes_videos": "yes"})  # doctest: +SKIP
    >>> api.get_client().get_string_value("ads", "image", user)  # doctest: +SKIP
    'video'
    """

    def __init__(
        self, url: str, *, key: str | None = None, timeout: float = 0.5, retries: int = 1, is_named: bool = False
    ) -> None:
        super().__init__()
        self.fallbacks = 0
        self._is_named = is_named
        self._settings = _Settings(url, key, timeout, retries)
        self._clients: dict[str, Client] = {}
        self._rest = Rest()
        self._decided: OrderedDict[str, dict[str, str]] = OrderedDict()  # targeting key -> experiment -> event id
        self._lock = threading.Lock()

    def get_metadata(self) -> Metadata:
        """What it is called."""
        return Metadata("headstart")

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """The action's label."""
        return self._resolve(flag_key, evaluation_context, str)

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """Whether the action is on, true or yes."""
        return self._resolve(flag_key, evaluation_context, _as_truth)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """The action's label as a whole number."""
        return self._resolve(flag_key, evaluation_context, int)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """The action's label as a number."""
        return self._resolve(flag_key, evaluation_context, float)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Sequence[FlagValueType] | Mapping[str, FlagValueType]]:
        """An action is a label, never an object."""
        raise TypeMismatchError(f"{flag_key}: an action is a label; ask for a string")

    async def resolve_string_details_async(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """The action's label."""
        return await to_thread(self._resolve, flag_key, evaluation_context, str)

    async def resolve_boolean_details_async(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """Whether the action is on, true or yes."""
        return await to_thread(self._resolve, flag_key, evaluation_context, _as_truth)

    async def resolve_integer_details_async(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """The action's label as a whole number."""
        return await to_thread(self._resolve, flag_key, evaluation_context, int)

    async def resolve_float_details_async(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """The action's label as a number."""
        return await to_thread(self._resolve, flag_key, evaluation_context, float)

    def _resolve(
        self, flag: str, user: EvaluationContext | None, convert: Callable[[Label], T]
    ) -> FlagResolutionDetails[T]:
        self._check_rest(flag)
        try:
            answer = self._client(flag).decide(_columns(user), unit=None if user is None else user.targeting_key)
        except RequestFailed as error:
            raise self._fall_back(flag, error) from error
        return self._details(flag, user, answer, convert)

    def _details(
        self, flag: str, user: EvaluationContext | None, answer: DecisionAnswer, convert: Callable[[Label], T]
    ) -> FlagResolutionDetails[T]:
        label = answer["action"]
        try:
            value = convert(label)
        except ValueError:
            with self._lock:
                self.fallbacks += 1
            raise TypeMismatchError(f"{flag}: the action {label!r} is no such value; ask for a string") from None
        self._remember(user, flag, answer["event_id"])
        return FlagResolutionDetails(
            value,
            reason=Reason.SPLIT,
            variant=str(label),
            flag_metadata={
                "event_id": answer["event_id"],
                "propensity": answer["propensity"],
                "version": answer["version"],
            },
        )

    def _check_rest(self, flag: str) -> None:
        if self._rest.is_on:
            with self._lock:
                self.fallbacks += 1
            raise GeneralError(f"{flag}: the service gave no answer a moment ago, and is not asked for a second")

    def _fall_back(self, flag: str, error: RequestFailed) -> OpenFeatureError:
        """What OpenFeature shows the application's default with."""
        with self._lock:
            self.fallbacks += 1
        if error.is_away:
            self._rest.begin()
        if error.status == 404:
            return FlagNotFoundError(f"{flag}: {error}")
        return InvalidContextError(str(error)) if error.status == 422 else GeneralError(str(error))

    def _remember(self, user: EvaluationContext | None, flag: str, event_id: str) -> None:
        if user is None or user.targeting_key is None:
            return
        with self._lock:
            self._decided.setdefault(user.targeting_key, {})[flag] = event_id
            self._decided.move_to_end(user.targeting_key)
            if len(self._decided) > _REMEMBERED:
                self._decided.popitem(last=False)

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Report an outcome of the last decisions for this user; of a user nobody decided for, nothing."""
        details = tracking_event_details or TrackingEventDetails()
        value = 1.0 if details.value is None else float(details.value)
        for flag, of in self._decisions_of(evaluation_context, details).items():
            try:
                self._client(flag).outcome(of, {tracking_event_name: value} if self._is_named else value)
            except RequestFailed as error:
                if not (isinstance(of, Unit) and error.status == 404):  # nobody has decided for this unit
                    raise

    def _decisions_of(self, user: EvaluationContext | None, details: TrackingEventDetails) -> dict[str, str | Unit]:
        flag, event_id = details.attributes.get("flag"), details.attributes.get("event_id")
        key = None if user is None else user.targeting_key
        if flag is not None and event_id is not None:
            return {str(flag): str(event_id)}
        with self._lock:
            decided: dict[str, str | Unit] = dict(self._decided.get(key or "", {}))
        if flag is None or key is None:
            return decided
        return {str(flag): decided.get(str(flag), Unit(key))}

    def shutdown(self) -> None:
        """Let the connections go."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _client(self, flag: str) -> Client:
        with self._lock:
            if flag not in self._clients:
                url, key, timeout, retries = self._settings
                self._clients[flag] = Client(url, flag, key=key, timeout=timeout, retries=retries)
            return self._clients[flag]


def _columns(user: EvaluationContext | None) -> dict[str, object]:
    return {} if user is None else dict(user.attributes)


def _as_truth(label: Label) -> bool:
    try:
        return _WORDS[str(label).lower()]
    except KeyError:
        raise ValueError(label) from None
