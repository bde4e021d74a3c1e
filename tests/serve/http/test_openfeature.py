"""The OpenFeature provider, by the real SDK, against a real service."""

import asyncio

import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.track import TrackingEventDetails

from headstart.serve.openfeature import HeadstartProvider
from tests.serve.in_process import ADS, USER, served

EXPERIMENTS = {
    "ads": ADS,
    "banner": {"actions": ["on", "off"], "oracle": {"name": "ThompsonGaussian"}},
    "discount": {"actions": [5, 10], "oracle": {"name": "ThompsonGaussian"}},
}
VISITOR = EvaluationContext("user-7", USER)


@pytest.fixture
def service(tmp_path):
    with served(tmp_path / "s.sqlite", EXPERIMENTS) as http:
        yield http


@pytest.fixture
def flags(service):
    api.set_provider(HeadstartProvider(str(service.base_url)))
    yield api.get_client()
    api.clear_providers()


def test_a_flag_is_decided_and_its_outcome_tracked(service, flags):
    found = flags.get_string_details("ads", "image", VISITOR)
    assert found.value in ADS["actions"]
    assert (found.variant, found.reason, found.error_code) == (found.value, "SPLIT", None)
    assert 0.0 < found.flag_metadata["propensity"] <= 1.0
    flags.track("click", VISITOR, TrackingEventDetails(0.0))  # 0.0 is an outcome
    state = service.get("/v1/ads/state").json()
    assert (state["decisions"], state["outcomes"]) == (1, 1)
    flags.track("click", EvaluationContext("nobody"))
    flags.track("click", VISITOR, TrackingEventDetails(1.0, {"flag": "banner"}))  # nobody decided that for them
    assert service.get("/v1/ads/state").json()["outcomes"] == 1
    assert service.get("/v1/banner/state").json()["outcomes"] == 0


def test_a_visitor_keeps_the_action_and_any_process_may_track(service, flags):
    shown = {flags.get_string_value("ads", "image", VISITOR) for _ in range(8)}
    assert len(shown) == 1
    another = HeadstartProvider(str(service.base_url))
    another.track("click", VISITOR, TrackingEventDetails(1.0, {"flag": "ads"}))
    another.shutdown()
    assert service.get("/v1/ads/state").json()["outcomes"] == 1


def test_an_outcome_is_tracked_by_its_decision_too(service, flags):
    found = flags.get_string_details("ads", "image", EvaluationContext(attributes=USER))  # nobody's key
    event = {"flag": "ads", "event_id": found.flag_metadata["event_id"]}
    flags.track("click", None, TrackingEventDetails(attributes=event))
    assert service.get("/v1/ads/state").json()["outcomes"] == 1


def test_flags_of_other_types(flags):
    assert flags.get_boolean_value("banner", False) in (True, False)
    assert flags.get_boolean_details("banner", False).reason == "SPLIT"
    assert flags.get_integer_value("discount", 0) in (5, 10)
    assert flags.get_float_value("discount", 0.0) in (5.0, 10.0)
    for ask in (flags.get_integer_details, flags.get_boolean_details, flags.get_object_details):
        default = {"get_integer_details": 3, "get_boolean_details": True}.get(ask.__name__, {})
        found = ask("ads", default, VISITOR)
        assert (found.value, found.error_code) == (default, ErrorCode.TYPE_MISMATCH)


def test_refusals_show_the_default_and_say_why(flags):
    assert flags.get_string_details("no-such", "image").error_code == ErrorCode.FLAG_NOT_FOUND
    found = flags.get_string_details("ads", "image", EvaluationContext("u", {"age": "old"}))
    assert (found.value, found.error_code) == ("image", ErrorCode.INVALID_CONTEXT)
    assert "likes_videos" in found.error_message or "age" in found.error_message


def test_an_absent_service_costs_one_wait_and_is_counted():
    provider = HeadstartProvider("http://127.0.0.1:9", timeout=0.1, retries=0)
    api.set_provider(provider)
    try:
        found = [api.get_client().get_string_details("ads", "image", VISITOR) for _ in range(3)]
    finally:
        api.clear_providers()
    assert [each.value for each in found] == ["image"] * 3
    assert [each.error_code for each in found] == [ErrorCode.GENERAL] * 3
    assert "is not asked" in found[1].error_message
    assert provider.fallbacks == 3


def test_asynchronous_evaluation_in_two_loops(service, flags):
    async def ask():
        return await asyncio.gather(*(flags.get_string_value_async("ads", "image", VISITOR) for _ in range(5)))

    for _ in range(2):
        assert set(asyncio.run(ask())) <= set(ADS["actions"])
    assert service.get("/v1/ads/state").json()["decisions"] == 10
