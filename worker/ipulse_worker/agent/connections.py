"""HTTP connections to the service, shared by threads and closed by their last user."""

from __future__ import annotations

import secrets
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from ipulse.stack import tls
from ipulse_core import messages
from ipulse_worker.agent.service_responses import (
    AgentTokenExpired,
    ServiceUnavailable,
    raise_refusal,
    unreachable,
)

# A connection that lost its other end, as after a cut, is noticed in 25 s.
KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)
# Heartbeats come every 5 s; the service closes a connection after 20 s without a request.
LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=15.0)
TIMEOUT = httpx.Timeout(10.0, connect=3.0)


class Connections:
    """A connection pool that several threads may use at once."""

    def __init__(self, url: str, token: str, trust: ssl.SSLContext | None) -> None:
        self._http = httpx.Client(
            base_url=url,
            headers={
                **messages.agent_headers(token),
                messages.SESSION_HEADER: secrets.token_hex(16),
            },
            transport=httpx.HTTPTransport(
                verify=tls.trust_from(url, trust), limits=LIMITS, socket_options=KEEP_ALIVE
            ),
            timeout=TIMEOUT,
            trust_env=False,  # a proxy for browsing does not lead to the service
        )
        self._renew: Callable[[], None] | None = None
        self._renewing = threading.Lock()
        self._changing = threading.Lock()
        self._users = 0
        self._is_closed = False

    def use_token(self, token: str) -> None:
        """Send another token with the requests that begin from now on."""
        self._http.headers["Authorization"] = f"Bearer {token}"

    def renew_with(self, renew: Callable[[], None]) -> None:
        """Call a function that uses another token when the service says that this one expired."""
        self._renew = renew

    @contextmanager
    def use(self) -> Iterator[httpx.Client]:
        """Return a client that stays open within the context.

        Raises ServiceUnavailable if the service cannot be reached, and after `close`.
        """
        with self._changing:
            if self._is_closed:
                raise ServiceUnavailable("the agent has closed its connections to the service")
            self._users += 1
        try:
            yield self._http
        except httpx.TransportError as error:
            raise unreachable(error) from error
        finally:
            with self._changing:
                self._users -= 1
                self._close_if_unused()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and return the response; renew an expired token and send it again.

        Raises ServiceUnavailable, and an exception for each refusal (`raise_refusal`).
        """
        sent = self._http.headers["Authorization"]
        try:
            return self.request_once(method, path, **options)
        except AgentTokenExpired:
            if self._renew is None:
                raise
            with self._renewing:
                if sent == self._http.headers["Authorization"]:  # no other thread has renewed it
                    self._renew()
            return self.request_once(method, path, **options)

    def request_once(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request with the present token and return the response, see `request`."""
        with self.use() as http:
            response = http.request(method, path, **options)
        raise_refusal(response)
        return response

    def close(self) -> None:
        """Refuse new requests and close the connections after the last one in progress."""
        with self._changing:
            self._is_closed = True
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._is_closed and not self._users:
            self._http.close()
