"""The service as a part of a stack: where it will answer is known before it does."""

from __future__ import annotations

import http.client
import time
from typing import Mapping
from urllib.parse import urlsplit

from ipulse.stack import tls
from ipulse.stack.home import REACHED_AS, Home
from ipulse.stack.listening import listen, url_at
from ipulse.stack.managed_process import START_SECONDS, Part

POLL_SECONDS = 0.02


class ServicePart(Part):
    """It speaks TLS if the home has a certificate."""

    def __init__(self, home: Home) -> None:
        super().__init__("service", "ipulse_service", home.log("service"))
        self._home = home

    def start_listening(self, host: str, port: int, environment: Mapping[str, str]) -> str:
        """Starts it on a socket that listens already, and returns its URL, as seen from this
        machine: whoever asks there is answered once it is ready.

        Raises Unavailable if the address is taken.
        """
        self._home.server_file.unlink(missing_ok=True)
        with listen(host, port) as listener:
            told = {**environment, "IPULSE_LISTEN_FD": str(listener.fileno())}
            self.start(told, self._home.path, [listener.fileno()])
            host, port = listener.getsockname()[:2]
        return url_at(REACHED_AS.get(host, host), port, self._home.certificate_file.exists())

    def await_ready(self, url: str) -> None:
        """Raises Unavailable, with the end of its log, if it ends or does not become so."""
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready(url):
            self.check_alive()
            if time.monotonic() > deadline:
                raise self.not_ready()
            time.sleep(POLL_SECONDS)

    def _is_ready(self, url: str) -> bool:
        connection = self._connection(url)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _connection(self, url: str) -> http.client.HTTPConnection:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 0
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=START_SECONDS)
        trust = tls.pinned(self._home.certificate_file)
        return http.client.HTTPSConnection(host, port, timeout=START_SECONDS, context=trust)
