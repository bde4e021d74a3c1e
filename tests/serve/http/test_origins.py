"""Cross-site requests and DNS rebinding, as a browser would send them."""

import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from headstart.serve.http.access import draw_key
from headstart.serve.http.headers import read_headers
from headstart.serve.http.origins import Hosts, Proxies
from headstart.serve.http.wire import RequestError
from headstart.serve.options import ServerOptions
from tests.serve.in_process import USER, served


@pytest.fixture(scope="module")
def ads(tmp_path_factory):
    with served(tmp_path_factory.mktemp("origins") / "s.sqlite", server={"hosts": ["ads.example.com"]}) as client:
        yield client


def _post(client, verb="freeze", **headers):
    return client.post(f"/v1/ads/{verb}", json={}, headers={name.replace("_", "-"): v for name, v in headers.items()})


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_form_can_send_is_not_taken(ads, kind):
    """A page of any origin may post these without asking; JSON it may not."""
    headers = {} if kind is None else {"Content-Type": kind}
    answer = ads.post("/v1/ads/freeze", content=b"{}", headers=headers)
    assert answer.status_code == 415
    assert "content-type: application/json" in answer.json()["error"]["message"]
    assert ads.get("/v1/ads/state").json()["is_frozen"] is False


def test_json_with_a_charset_is_json(ads):
    kind = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert ads.post("/v1/ads/unfreeze", content=b"{}", headers=kind).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://ads.example.com.evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_a_page_of_another_site_changes_nothing(ads, headers):
    for verb in ("freeze", "decide", "roll-back", "withdraw-log", "outcome/batch"):
        answer = _post(ads, verb, **headers)
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "cross_site"
    assert ads.get("/v1/ads/state").json()["is_frozen"] is False


def test_our_own_pages_and_programs_may_post(ads):
    own = str(ads.base_url).rstrip("/")
    for headers in (
        {},
        {"Origin": own, "Sec_Fetch_Site": "same-origin"},
        {"Sec_Fetch_Site": "none"},
        {"Origin": "https://ads.example.com", "Host": "ads.example.com"},
    ):
        assert _post(ads, "unfreeze", **headers).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1"]
)
def test_a_name_that_was_made_to_point_here_gets_nothing(ads, host):
    for path in ("/v1/ads/log", "/v1/ads/state", "/metrics", "/", "/v1/experiments", "/openapi.json"):
        answer = ads.get(path, headers={"Host": host})
        assert answer.status_code == 421
        assert "hosts = [...]" in answer.json()["error"]["message"]
    assert _post(ads, "freeze", Host=host).status_code == 421
    assert ads.get("/health", headers={"Host": host}).status_code == 200  # probes ask by address, and learn nothing


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:9", "[::1]:8000", "ads.example.com:443"])
def test_our_own_names_are_known(ads, host):
    assert ads.get("/v1/experiments", headers={"Host": host}).status_code == 200


def test_with_keys_only_configured_hosts_are_checked(tmp_path):
    secret, key = draw_key("shop", ("read",))
    keys = {"shop": {"sha256": key.sha256, "scopes": ["read"]}}
    headers = {"Host": "any.example", "Authorization": f"Bearer {secret}"}
    with served(tmp_path / "a.sqlite", keys=keys) as client:
        assert client.get("/v1/experiments", headers=headers).status_code == 200
    with served(tmp_path / "b.sqlite", keys=keys, server={"hosts": ["ads.example.com"]}) as client:
        assert client.get("/v1/experiments", headers=headers).status_code == 421


@pytest.mark.parametrize(
    "hosts", [[], [b""], [b"127.0.0.1:80", b"evil.example"], [b"127.0.0.1", b"127.0.0.1"], [b":80"]]
)
def test_no_host_and_two_hosts_are_none(hosts):
    """A proxy and a server that each read another one could be set against each other."""
    with pytest.raises(RequestError, match="does not go by that name"):
        Hosts((), is_checked=True).check(read_headers([(b"host", host) for host in hosts]).host)


@pytest.mark.parametrize(
    ("peer", "forwarded", "caller"),
    [
        ("10.0.0.1", b"", "10.0.0.1"),
        ("10.0.0.1", b"1.2.3.4", "1.2.3.4"),
        ("10.0.0.1", b"6.6.6.6, 1.2.3.4", "1.2.3.4"),
        ("10.0.0.1", b"6.6.6.6, 1.2.3.4, 10.9.9.9", "1.2.3.4"),
        ("10.0.0.1", b"10.0.0.7, 10.0.0.8", "10.0.0.7"),
        ("10.0.0.1", b"6.6.6.6, nonsense, 10.9.9.9", "10.9.9.9"),
        ("10.0.0.1", b"nonsense", "10.0.0.1"),
        ("10.0.0.1", b"1.2.3.4:5678", "1.2.3.4"),
        ("10.0.0.1", b"[2001:db8::1]:443", "2001:db8::1"),
        ("::ffff:10.0.0.1", b"1.2.3.4", "1.2.3.4"),
        ("11.0.0.1", b"1.2.3.4", "11.0.0.1"),
        ("", b"1.2.3.4", ""),
    ],
)
def test_the_nearest_address_that_is_no_proxy_of_ours(peer, forwarded, caller):
    options = ServerOptions.read({"proxies": ["10.0.0.0/8"]})
    assert Proxies(options.proxies).find_caller(peer, forwarded) == caller


def test_a_decision_needs_no_origin(ads):
    assert ads.post("/v1/ads/decide", json={"context": USER}).status_code == 200


ATTACK = """<!doctype html><title>waiting</title><form id=f method=post enctype=text/plain action="{url}">
<input name='{{"reason":"' value='"}}'></form><iframe name=i></iframe><script>
const body = '{{"reason": "mine"}}';
Promise.allSettled([
  fetch("{url}", {{method: "POST", mode: "no-cors", body}}),
  fetch("{url}", {{method: "POST", body, headers: {{"content-type": "application/json"}}}}),
  fetch("{read}").then(answer => answer.text()).then(text => {{ document.body.dataset.read = text }}),
]).then(() => {{ f.target = "i"; f.submit(); setTimeout(() => {{ document.title = "tried" }}, 500) }});
</script>"""


def test_a_page_of_another_origin_in_a_real_browser(ads, browser, tmp_path):
    """It posts by fetch, as text and as JSON, and by a form; it reads."""
    page = ATTACK.format(url=f"{ads.base_url}/v1/ads/freeze", read=f"{ads.base_url}/v1/ads/state")
    (tmp_path / "index.html").write_text(page)
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        browser.get(f"http://localhost:{elsewhere.server_port}/index.html")
        end = time.monotonic() + 20.0
        while browser.title != "tried":
            assert time.monotonic() < end, "it did not try"
            time.sleep(0.05)
        elsewhere.shutdown()
    assert browser.execute_script("return document.body.dataset.read") is None
    assert ads.get("/v1/ads/state").json()["is_frozen"] is False
