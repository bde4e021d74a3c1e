"""Keys, scopes and rates."""

import base64

import pytest

from headstart.errors import OptionError
from headstart.serve.http.access import Bucket, Door, draw_key, read_keys


def _bearer(key):
    return f"Bearer {key}".encode()


def test_without_keys_everyone_may_do_everything():
    assert Door({}).check(None, "admin", "127.0.0.1") == 200


def test_a_key_opens_its_own_scopes_only():
    secret, key = draw_key("shop", ("decide", "outcome"))
    door = Door({"shop": key})
    assert door.check(_bearer(secret), "decide", "-") == 200
    assert door.check(_bearer(secret), "outcome", "-") == 200
    assert door.check(_bearer(secret), "read", "-") == 403
    assert door.check(None, "decide", "-") == 401
    assert door.check(_bearer(secret[:-1] + ("A" if secret[-1] != "A" else "B")), "decide", "-") == 401
    assert door.check(b"Bearer nonsense", "decide", "-") == 401
    assert door.check(b"\xff\xfe", "decide", "-") == 401


def test_an_admin_may_do_everything():
    secret, key = draw_key("ops", ("admin",))
    assert Door({"ops": key}).check(_bearer(secret), "read", "-") == 200


def test_a_browser_sends_the_key_as_a_password():
    secret, key = draw_key("viewer", ("read",))
    basic = b"Basic " + base64.b64encode(f"anyone:{secret}".encode())
    door = Door({"viewer": key})
    assert door.check(basic, "read", "-") == 200
    assert door.check(b"Basic not-base64!", "read", "-") == 401


def test_the_secret_is_not_kept():
    secret, key = draw_key("shop", ("decide",))
    assert secret.split("_", 2)[2] not in repr(key)
    assert len(key.sha256) == 64


def test_keys_are_read_from_the_configuration():
    secret, key = draw_key("shop", ("decide",))
    door = Door(read_keys({"shop": {"sha256": key.sha256, "scopes": ["decide"]}}))
    assert door.check(_bearer(secret), "decide", "-") == 200


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


def test_bucket_by_hand():
    """Two a second, two at once: two pass at time 0, the third must wait half a second."""
    bucket = Bucket(rate=2.0, size=2.0)
    assert [bucket.take(0.0), bucket.take(0.0), bucket.take(0.0)] == [True, True, False]
    assert bucket.take(0.4) is False
    assert bucket.take(0.5) is True
    assert bucket.take(0.5) is False
    assert bucket.take(0.4) is False  # a clock that jumps back gives nothing


def test_rates_are_per_caller():
    now = [0.0]
    door = Door({}, rate_limit=1.0, clock=lambda: now[0])
    assert door.check(None, "decide", "a") == 200
    assert door.check(None, "decide", "a") == 429
    assert door.check(None, "decide", "b") == 200
    now[0] = 1.0
    assert door.check(None, "decide", "a") == 200
