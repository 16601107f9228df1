"""Joining a service with an agent of this machine: pin, token, and what the home stores."""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from ipulse.client.transport.problems import error_in
from ipulse.client.transport.retries import RetryPolicy
from ipulse.stack import tls
from ipulse.stack.agent_home import AgentHome, Membership
from ipulse.stack.listening import is_loopback
from ipulse_core import messages, strict_json
from ipulse_core.errors import (
    Conflict,
    InvalidInput,
    InvalidJSON,
    Problem,
    RemoteError,
    Unavailable,
)
from ipulse_core.worker_faults import errors_name

CONNECT_SECONDS = 10.0
RETRIES = 6  # within eleven seconds
WAIT_SECONDS = 3.0  # between two tries of one that waits

_PIN = re.compile(r"sha256:[0-9a-f]{64}")
_TOKEN = re.compile(r"ipj_[0-9a-f]{16}_[A-Za-z0-9_-]{43}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class Untrusted(Unavailable):
    """The certificate of the service cannot be verified."""


class WrongPin(InvalidInput):
    """The service shows another certificate than the pin names."""

    code = "wrong_pin"


def join(
    home: AgentHome,
    url: str,
    token: str,
    pin: str,
    ca: Path | None,
    name: str | None,
    *,
    replace: bool = False,
    on_wait: Callable[[str], None] | None = None,
) -> Membership:
    """Exchange a join token for a token of the agent's own, and store it in an open home.

    With `replace` the agent takes the name of one that has stopped. With `on_wait` the function
    waits until the name is free and the service answers, and tells `on_wait` why.

    The service's certificate is checked first: against the pin, or else by `ca` or the machine's
    own authorities. Raises InvalidInput for wrong arguments, WrongPin, and the service's refusals.
    """
    address = checked_url(url)
    agent = name or _own_name()
    _check(token, pin, ca, agent)
    while True:
        try:
            return _join_once(home, address, token, pin, ca, agent, replace)
        except Untrusted:
            raise
        except (Conflict, Unavailable) as error:
            if on_wait is None:
                raise
            on_wait(error.message)
            time.sleep(WAIT_SECONDS)


def _join_once(
    home: AgentHome, address: str, token: str, pin: str, ca: Path | None, agent: str, replace: bool
) -> Membership:
    trust: ssl.SSLContext | bool = True
    certificate = text = ""
    if pin:
        text = _pinned_certificate(address, pin)
        trust, certificate = tls.pinned_text(text), str(home.certificate_file)
    elif ca is not None:
        trust, certificate = tls.authorities(ca), str(ca.absolute())
    body: dict[str, str | bool] = {"name": agent, "instance": home.instance()}
    if replace:  # services of earlier versions do not know it
        body["replace"] = True
    answer = _exchange(address, token, body, trust)
    if pin:  # only now, because a former membership may still need the former one
        with errors_name(home.certificate_file):
            home.certificate_file.write_text(text)
    membership = Membership(address, agent, answer, certificate, bool(pin))
    membership.write(home.membership_file)
    return membership


def leave(membership: Membership) -> None:
    """Tell the service that the agent leaves. Raises the service's refusal, or Unavailable."""
    with _client(membership.url, membership.token, trust_of(membership)) as http:
        try:
            response = http.post("/v1/worker/leave")
        except httpx.TransportError as error:
            raise _unreachable(membership.url, error) from error
    if response.is_error:
        raise error_in(response)


def trust_of(membership: Membership) -> ssl.SSLContext | bool:
    """Return how to verify the service that the agent has joined."""
    if not membership.certificate:
        return True
    make = tls.pinned if membership.is_pinned else tls.authorities
    return make(membership.certificate)


def checked_url(url: str) -> str:
    """Return the service's address. Raises InvalidInput unless it is an https one."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.path not in ("", "/") or parts.query or parts.fragment or "@" in url:
        raise _wrong("/url", "must look like https://lab.example.org:8470", "invalid_url")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise _wrong(
            "/url", "must begin with https://, or the token could be read on the way", "not_https"
        )
    return f"{parts.scheme}://{parts.netloc}"


def _check(token: str, pin: str, ca: Path | None, name: str) -> None:
    if not _TOKEN.fullmatch(token):
        raise _wrong("/token", "is no join token: `ipulse agent token` prints one", "bad_token")
    if pin and not _PIN.fullmatch(pin):
        raise _wrong("/pin", "must be sha256: and 64 hexadecimal digits", "bad_pin")
    if pin and ca is not None:
        raise _wrong("/pin", "give either --pin or --ca", "incompatible")
    if not _NAME.fullmatch(name):
        detail = (
            "must have 1 to 63 letters, digits, dots, dashes and underscores, and begin with a "
            f"letter or digit; got {name[:80]!r}"
        )
        raise _wrong("/name", detail, "invalid_name")


def _pinned_certificate(url: str, pin: str) -> str:
    """Return the service's certificate as PEM. Nothing is sent to it but the handshake.

    Raises WrongPin, and Unavailable if the service cannot be reached.
    """
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise _wrong("/pin", "is for an address with https://", "not_https")
    try:
        shown = ssl.get_server_certificate(
            (parts.hostname or "", parts.port or 443), timeout=CONNECT_SECONDS
        )
    except OSError as error:  # ssl.SSLError is one
        raise _unreachable(url, error) from error
    found = tls.pin_of(ssl.PEM_cert_to_DER_cert(shown))
    if found != pin:
        detail = (
            f"the service at {url} shows the certificate {found}, not {pin}. Nothing was sent. "
            "Either another machine answers there, or the service has a new certificate: "
            "`ipulse agent token` on its machine prints the present pin"
        )
        raise WrongPin([Problem("/pin", "wrong_pin", detail)], detail)
    return shown


def _exchange(
    url: str, token: str, body: dict[str, str | bool], trust: ssl.SSLContext | bool
) -> str:
    retries = RetryPolicy(url, RETRIES)  # the same machine may repeat the request
    with _client(url, token, trust) as http:
        while True:
            try:
                response = http.post("/v1/worker/join", json=body)
                delay = retries.after_answer(response)
                if delay is None:
                    return _token_in(response)
            except httpx.TransportError as error:
                try:
                    delay = retries.after_error(error)
                except Unavailable:
                    raise _unreachable(url, error) from error
            time.sleep(delay)


def _token_in(response: httpx.Response) -> str:
    if response.is_error:
        raise error_in(response)
    try:
        return str(strict_json.loads(response.content)["token"])
    except (InvalidJSON, KeyError, TypeError) as error:
        raise RemoteError("the answer is not that of an IPUlse service") from error


def _client(url: str, token: str, trust: ssl.SSLContext | bool) -> httpx.Client:
    return httpx.Client(
        base_url=url,
        verify=trust,
        timeout=httpx.Timeout(30.0, connect=CONNECT_SECONDS),
        trust_env=False,  # as for the agent: a proxy for browsing does not lead to the service
        headers=messages.agent_headers(token),
    )


def _unreachable(url: str, error: Exception) -> Unavailable:
    distrust = tls.distrust_in(error)
    why = distrust or str(error) or type(error).__name__
    hint = "; or --pin, which `ipulse agent token` prints on its machine" if distrust else ""
    kind = Untrusted if distrust else Unavailable
    return kind(f"no service can be reached at {url}: {why}{hint}")


def _own_name() -> str:
    """Return the machine's name, as far as it may be the name of an agent."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname()).strip("-._")[:63] or "agent"


def _wrong(pointer: str, detail: str, code: str) -> InvalidInput:
    return InvalidInput([Problem(pointer, code, detail)], f"{pointer.strip('/')}: {detail}")
