"""Requests that were refused, over the last hour."""

from headstart.serve.telling.callers import Callers, tell_refused
from tests.serve.in_process import served


def test_an_hour_is_counted_and_what_is_older_is_not():
    seconds = [0.0]
    callers = Callers(lambda: seconds[0])
    callers.count("ads", "invalid", 40)
    for minute in range(1, 70):
        seconds[0] = 60.0 * minute
        callers.count("ads", None, 9)
        callers.count("ads", "conflict" if minute > 65 else None)
    assert callers.of_late("ads") == {"requests": 600, "refused": 4, "by_code": {"conflict": 4}}
    assert callers.of_late("offers") == {"requests": 0, "refused": 0, "by_code": {}}
    assert callers.totals == {("ads", "invalid"): 40, ("ads", "conflict"): 4}


def test_many_refusals_are_an_alarm_that_names_their_reasons():
    assert tell_refused({"requests": 100, "refused": 19, "by_code": {"invalid": 19}}) == []
    assert tell_refused({"requests": 9000, "refused": 80, "by_code": {"invalid": 80}}) == []
    assert tell_refused({"requests": 400, "refused": 40, "by_code": {"invalid": 30, "too_slow": 10}}) == [
        "40 of 400 requests of the last hour were refused (10 %): 30 invalid, 10 too slow. Do callers send what the "
        "experiment expects?"
    ]


def test_the_service_counts_what_it_refuses_and_says_so(tmp_path):
    with served(tmp_path / "ads.sqlite") as client:
        for _ in range(15):
            assert client.post("/v1/ads/decide", json={"context": {"age": "old"}}).status_code == 422
        many = [{"context": {"age": 3}}] * 10
        assert client.post("/v1/ads/decide/batch", json={"decisions": many}).status_code == 200
        client.post("/v1/nobody/decide", json={})
        report = client.get("/v1/ads/report").json()
        assert report["callers"] == {"requests": 26, "refused": 25, "by_code": {"invalid": 25}}
        assert report["alarms"][0]["message"].startswith("25 of 26 requests of the last hour were refused (96 %)")
        assert 'headstart_refused_total{code="invalid",experiment="ads"} 25.0' in client.get("/metrics").text
