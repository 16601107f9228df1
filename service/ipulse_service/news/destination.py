"""Where news may be sent: the operator's list of hosts, and the addresses behind them."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from ipulse_core.errors import InvalidInput, Problem

MAX_URL = 2048
MAX_ADDRESSES = 4  # of a host, that are tried
_MAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*)")
_PORTS = {"https": 443, "http": 80}
# Ranges that lead to IPv4 addresses in IPv6 ones, which no check of the latter would see.
_TUNNELS = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16")))

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Sequence[Any]]


class Forbidden(Exception):
    """News may not be sent there; the text says why, and what the operator can do."""


@dataclass(frozen=True)
class Rules:
    """The operator's rules.

    Attributes:
        hosts: Names, `*.example.org` for those below a name, `*` for all; with `:PORT` for another
            port than that of the scheme, `:*` for any.
        networks: Networks of private addresses that are allowed, with and without TLS.
    """

    hosts: tuple[str, ...]
    networks: tuple[Network, ...]

    def check(self, url: str) -> SplitResult:
        """Returns the parts of a URL to which news may be sent. Raises Forbidden."""
        if len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url:
            raise Forbidden(f"must be a URL of at most {MAX_URL} printable ASCII characters")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise Forbidden(f"is no URL: {error}") from error
        if parts.scheme == "mailto":
            match = _MAIL.fullmatch(unquote(parts.path))
            if match is None or parts.query:
                raise Forbidden("must be one address: mailto:name@example.org")
            self._check_host(match[1].lower(), None)
            return parts
        if parts.scheme not in _PORTS or not host or parts.username or parts.fragment:
            raise Forbidden("must be https://HOST/PATH, without a user, or mailto:ADDRESS")
        self._check_host(host, None if port in (None, _PORTS[parts.scheme]) else port)
        if parts.scheme == "http" and not self.networks:
            raise Forbidden(
                "must begin with https://, unless IPULSE_WEBHOOK_NETWORKS has its address"
            )
        return parts

    def addresses(
        self, parts: SplitResult, resolve: Resolver = socket.getaddrinfo
    ) -> list[tuple[str, int]]:
        """Resolves the host of a URL once and returns addresses to which it may be sent.

        All of the host's addresses must be allowed. Raises Forbidden, and OSError if the host has
        none.
        """
        port = parts.port or _PORTS[parts.scheme]
        found = resolve(parts.hostname or "", port)
        hosts = dict.fromkeys(entry[4][0] for entry in found if entry[1] in (0, socket.SOCK_STREAM))
        for host in hosts:
            address = ipaddress.ip_address(host.partition("%")[0])
            if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
                address = address.ipv4_mapped
            if any(address in network for network in self.networks):
                continue
            if not _is_public(address):
                raise Forbidden(
                    f"{parts.hostname} leads to {address}, which is not public: the operator "
                    "allows its network with IPULSE_WEBHOOK_NETWORKS"
                )
            if parts.scheme == "http":
                raise Forbidden(f"{parts.hostname} leads to a public address: use https://")
        return [(host, port) for host in [*hosts][:MAX_ADDRESSES]]

    def _check_host(self, host: str, port: int | None) -> None:
        wanted = host if port is None else f"{host}:{port}"
        for pattern in self.hosts:
            name, _, rest = pattern.partition(":")
            if rest not in ((str(port), "*") if port is not None else ("",)):
                continue
            if name in ("*", host) or (name.startswith("*.") and host.endswith(name[1:])):
                return
        raise Forbidden(
            f"leads to {wanted}, which is not on the operator's list: add it to "
            "IPULSE_WEBHOOK_HOSTS of the service"
        )


def checked(rules: Rules, url: str) -> SplitResult:
    """Returns the parts of a URL that a client sent. Raises InvalidInput with its place."""
    try:
        return rules.check(url)
    except Forbidden as error:
        raise InvalidInput([Problem("/url", "forbidden_url", str(error))], str(error)) from error


def _is_public(address: Address) -> bool:
    if any(address in network for network in _TUNNELS if network.version == address.version):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
