"""News go to hosts that the operator lists, and to public addresses only."""

from __future__ import annotations

import socket
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import pytest

from ipulse_service.news import signing
from ipulse_service.news.destination import Forbidden, Rules

RULES = Rules(("hooks.example.org", "*.lab.org", "chat.example.org:8443"), ())


def answer(*addresses: str) -> Any:
    """A resolver with these addresses for every name."""

    def resolve(_host: str, port: int) -> list[Any]:
        kinds = {True: socket.AF_INET6, False: socket.AF_INET}
        return [
            (kinds[":" in address], socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
        ]

    return resolve


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org/ipulse?a=1",
        "https://hooks.example.org:443/",
        "https://a.b.lab.org/",
        "https://chat.example.org:8443/x",
        "mailto:lab@a.lab.org",
    ],
)
def test_hosts_on_the_list_are_allowed(url: str) -> None:
    assert RULES.check(url).geturl() == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example.org",
        "http://hooks.example.org/",
        "file:///etc/passwd",
        "gopher://hooks.example.org/",
        "https://user:secret@hooks.example.org/",
        "https://hooks.example.org@evil.org/",
        "https://hooks.example.org#@evil.org/",
        "https://hooks.example.org:22/",
        "https://hooks.example.org:99999/",
        "https://hooks.example.org.evil.org/",
        "https://lab.org/",
        "https://evillab.org/",
        "https://chat.example.org/",
        "https://127.0.0.1/",
        "https://[::ffff:127.0.0.1]/",
        "https://0x7f.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://hooks.example.org/ x",
        "https://hooks.example.org/\r\nx: y",
        "https://h\u00f6oks.example.org/",
        "https://hooks.example.org/" + "a" * 4096,
        "https://[",
        "mailto:lab@evil.org",
        "mailto:lab@a.lab.org,other@evil.org",
        "mailto:lab@a.lab.org?bcc=x@evil.org",
        "mailto:lab%0d%0aBcc:x@a.lab.org",
    ],
)
def test_all_other_urls_are_refused(url: str) -> None:
    with pytest.raises(Forbidden):
        RULES.check(url)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104 - an address to refuse
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_no_address_of_a_host_may_be_private(address: str) -> None:
    parts = urlsplit("https://hooks.example.org/")
    with pytest.raises(Forbidden, match="IPULSE_WEBHOOK_NETWORKS"):
        RULES.addresses(parts, answer("93.184.216.34", address))


def test_the_operator_may_allow_a_network() -> None:
    rules = Rules(("hooks.example.org",), (ip_network("10.1.0.0/16"),))
    parts = rules.check("http://hooks.example.org/")
    assert rules.addresses(parts, answer("10.1.2.3", "::ffff:10.1.2.4")) == [
        ("10.1.2.3", 80),
        ("::ffff:10.1.2.4", 80),
    ]
    with pytest.raises(Forbidden, match="https"):
        rules.addresses(parts, answer("93.184.216.34"))
    with pytest.raises(Forbidden):
        rules.addresses(parts, answer("10.2.2.3"))


def test_signatures_are_those_of_standard_webhooks() -> None:
    """The expected value is that of the package `standardwebhooks` 1.1.0."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - of a test
    body = b'{"test": 2432232314}'
    found = signing.signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
