"""Hosts with and without brackets are one address, in sockets and in printed URLs."""

from __future__ import annotations

import socket

import pytest

from ipulse.stack.listening import is_loopback, listen, plain_host, url_at
from ipulse_core.errors import Unavailable
from ipulse_service.settings import Settings


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("written", ["::1", "[::1]"])
def test_an_ipv6_address_may_have_brackets(written: str) -> None:
    host = plain_host(written)
    assert is_loopback(host)
    assert url_at(host, 8470, is_tls=True) == "https://[::1]:8470"
    assert Settings(host=written).host == "::1"
    if not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    with listen(host, 0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("::1", port), 5):
            pass
        with pytest.raises(Unavailable, match=rf"\[::1\]:{port}"):
            listen(host, port)


@pytest.mark.parametrize("host", ["127.0.0.1", "lab.example.org", "[lab]", "localhost"])
def test_other_hosts_stay_as_they_are(host: str) -> None:
    assert plain_host(host) == host
