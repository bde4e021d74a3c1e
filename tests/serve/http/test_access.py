"""Keys and scopes, and the door that asks for them."""

import base64

import pytest

from headstart.errors import OptionError
from headstart.serve.http.access import Door, draw_key, read_keys
from headstart.serve.http.headers import read_headers
from headstart.serve.http.wire import RequestError
from headstart.serve.options import ServerOptions
from tests.serve.in_process import USER, configure, served

HERE = (b"host", b"127.0.0.1:8000")


def _status(door, authorization, scope, address="10.0.0.1"):
    """200 if it may pass, else what it is refused with."""
    headers = [HERE] if authorization is None else [HERE, (b"authorization", authorization)]
    try:
        door.admit(read_headers(headers), address, scope)
    except RequestError as refusal:
        return refusal.status
    return 200


def _bearer(key):
    return f"Bearer {key}".encode()


def _table(**keys):
    return {name: {"sha256": key.sha256, "scopes": sorted(key.scopes)} for name, key in keys.items()}


def test_without_keys_everyone_may_do_everything():
    assert _status(Door({}), None, "admin") == 200


def test_a_key_opens_its_own_scopes_only():
    secret, key = draw_key("shop", ("decide", "outcome"))
    door = Door({"shop": key})
    assert _status(door, _bearer(secret), "decide") == 200
    assert _status(door, _bearer(secret), "outcome") == 200
    assert _status(door, _bearer(secret), "read") == 403
    assert _status(door, None, "decide") == 401
    assert _status(door, _bearer(secret[:-1] + ("A" if secret[-1] != "A" else "B")), "decide") == 401
    assert _status(door, b"Bearer nonsense", "decide") == 401
    assert _status(door, b"\xff\xfe", "decide") == 401


def test_an_admin_may_do_everything():
    secret, key = draw_key("ops", ("admin",))
    assert _status(Door({"ops": key}), _bearer(secret), "read") == 200


def test_a_browser_sends_the_key_as_a_password():
    secret, key = draw_key("viewer", ("read",))
    basic = b"Basic " + base64.b64encode(f"anyone:{secret}".encode())
    door = Door({"viewer": key})
    assert _status(door, basic, "read") == 200
    assert _status(door, b"Basic not-base64!", "read") == 401


def test_the_secret_is_not_kept():
    secret, key = draw_key("shop", ("decide",))
    assert secret.split("_", 2)[2] not in repr(key)
    assert len(key.sha256) == 64


def test_keys_are_read_from_the_configuration():
    secret, key = draw_key("shop", ("decide",))
    door = Door(read_keys(_table(shop=key)))
    assert _status(door, _bearer(secret), "decide") == 200


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"sha256": "abc", "scopes": ["read"]}, r"keys\.shop\.sha256 must be 64"),
        ({"sha256": "a" * 64, "scopes": ["write"]}, r"keys\.shop\.scopes has no 'write'"),
        ({"sha256": "a" * 64, "scopes": []}, r"keys\.shop\.scopes must be a list"),
        ({"sha256": "a" * 64, "scopes": ["read"], "scope": 1}, r"keys\.shop has no setting 'scope'"),
    ],
)
def test_a_bad_key_is_named(entry, message):
    with pytest.raises(OptionError, match=message):
        read_keys({"shop": entry})


def test_nobody_may_pose_as_a_caller_without_a_key():
    with pytest.raises(OptionError, match="not anonymous"):
        draw_key("anonymous", ("read",))
    with pytest.raises(OptionError, match=r"keys\.anonymous: .* another name"):
        read_keys({"anonymous": {"sha256": "a" * 64, "scopes": ["read"]}})


def test_rates_are_per_caller():
    now = [0.0]
    door = Door({}, ServerOptions(rate_limit=1.0), clock=lambda: now[0])
    assert _status(door, None, "decide", "a") == 200
    assert _status(door, None, "decide", "a") == 429
    assert _status(door, None, "decide", "b") == 200
    now[0] = 1.0
    assert _status(door, None, "decide", "a") == 200


def test_a_wrong_key_costs_its_address_and_no_one_else():
    """Two guesses a second; whoever has the key is not concerned, from whatever address."""
    secret, key = draw_key("shop", ("decide",))
    door = Door({"shop": key}, ServerOptions(rate_limit=2.0), clock=lambda: 0.0)
    assert [_status(door, b"Bearer guess", "decide", "evil") for _ in range(4)] == [401, 401, 429, 429]
    assert _status(door, _bearer(secret), "decide", "evil") == 200
    assert _status(door, b"Bearer guess", "decide", "other") == 401


def test_all_addresses_of_a_network_of_ipv6_are_one_caller():
    """Whoever has one of them has 2^64."""
    door = Door({}, ServerOptions(rate_limit=1.0), clock=lambda: 0.0)
    assert _status(door, None, "read", "2001:db8::1") == 200
    assert _status(door, None, "read", "2001:db8::ffff:2") == 429
    assert _status(door, None, "read", "2001:db8:0:1::1") == 200
    assert _status(door, None, "read", "::ffff:10.0.0.1") == 200
    assert _status(door, None, "read", "10.0.0.1") == 429


def test_a_scope_that_is_missing_is_not_free_either():
    secret, key = draw_key("shop", ("decide",))
    door = Door({"shop": key}, ServerOptions(rate_limit=1.0), clock=lambda: 0.0)
    assert [_status(door, _bearer(secret), "admin") for _ in range(2)] == [403, 429]


def test_a_batch_of_n_counts_n(tmp_path):
    """50 a second: a batch of 100 passes and leaves a debt of one second, in which nothing else does."""
    with served(tmp_path / "s.sqlite", server={"rate_limit": 50}) as client:
        batch = {"decisions": [{"context": USER}] * 100}
        assert client.post("/v1/ads/decide/batch", json=batch).status_code == 200
        answers = [client.post("/v1/ads/decide", json={"context": USER}).status_code for _ in range(3)]
        assert answers == [429, 429, 429]


def test_a_made_up_forwarded_address_does_not_pass_the_rate_limit(tmp_path):
    with served(tmp_path / "s.sqlite", server={"rate_limit": 3}) as client:
        statuses = [
            client.post(
                "/v1/ads/decide", json={"context": USER}, headers={"X-Forwarded-For": f"10.0.0.{i}"}
            ).status_code
            for i in range(8)
        ]
        assert statuses.count(429) >= 4


def test_a_configured_proxy_is_believed(tmp_path):
    with served(tmp_path / "s.sqlite", server={"rate_limit": 3, "proxies": ["127.0.0.1"]}) as client:
        for i in range(8):
            headers = {"X-Forwarded-For": f"6.6.6.6, 10.0.0.{i}"}
            assert client.post("/v1/ads/decide", json={"context": USER}, headers=headers).status_code == 200
        answers = [
            client.get("/v1/experiments", headers={"X-Forwarded-For": f"1.2.3.{i}, 9.9.9.9"}) for i in range(8)
        ]
        assert sum(answer.status_code == 429 for answer in answers) >= 4


def test_a_host_beyond_loopback_needs_keys(tmp_path):
    """At the start, before the store is opened: a page in a café must not be the first to notice."""
    from headstart.serve.http.server import run_service

    for host in ("0.0.0.0", "", "192.168.1.7", "::", "ads.example.com"):
        with pytest.raises(OptionError, match=r"no \[keys\].*headstart keys new"):
            run_service(configure(tmp_path / "s.sqlite", server={"host": host}))
    assert not (tmp_path / "s.sqlite").exists()
    _, key = draw_key("shop", ("decide",))
    Door({"shop": key}, ServerOptions(host="0.0.0.0"))
    for host in ("localhost", "127.0.0.1", "127.1.2.3", "::1"):
        Door({}, ServerOptions(host=host))
