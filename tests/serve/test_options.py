"""The [server] table."""

import pytest

from headstart.errors import OptionError
from headstart.serve.options import ServerOptions, is_loopback


def test_defaults_are_loopback_with_a_deadline():
    options = ServerOptions.read({})
    assert (options.host, options.port, options.connections, options.deadline) == ("127.0.0.1", 8000, 1000, 5.0)
    assert (options.rate_limit, options.hosts, options.proxies, options.access_log) == (None, (), (), False)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"prot": 1}, "server has no setting 'prot'; did you mean 'port'. known: host, port"),
        ({"port": "8000"}, "server.port must be a whole number, got '8000'"),
        ({"port": True}, "server.port must be a whole number, got True"),
        ({"deadline": 0}, "server.deadline must be"),
        ({"connections": 0}, "server.connections must be"),
        ({"hosts": "ads.example.com"}, "server.hosts must be a list of texts"),
        ({"hosts": ["https://ads.example.com"]}, "server.hosts must be names without scheme and port"),
        ({"hosts": ["ads.example.com:443"]}, "server.hosts must be names without scheme and port"),
        ({"proxies": ["nginx"]}, "server.proxies must be addresses or networks, such as 10.0.0.0/8: 'nginx'"),
        ({"proxies": ["10.0.0.1/8"]}, "server.proxies must be addresses or networks"),
        ({"access_log": "yes"}, "server.access_log must be true or false, got 'yes'"),
    ],
)
def test_a_wrong_setting_is_named(table, message):
    with pytest.raises(OptionError, match=message):
        ServerOptions.read(table)


def test_loopback_is_this_machine_alone():
    assert all(map(is_loopback, ("localhost", "LocalHost", "127.0.0.1", "127.9.9.9", "::1", "[::1]")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "::", "localhost.evil.example", "128.0.0.1", "example.com")))
