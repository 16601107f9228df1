"""The service of a stack: its address is known before it is ready."""

from __future__ import annotations

import http.client
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from ipulse.stack import tls
from ipulse.stack.home import REACHED_AS, Home
from ipulse.stack.listening import listen, url_at
from ipulse.stack.managed_process import START_SECONDS, ManagedProcess

POLL_SECONDS = 0.02


class ServiceProcess(ManagedProcess):
    """The service; it uses TLS if the home has a certificate."""

    def __init__(self, home: Home) -> None:
        super().__init__("service", "ipulse_service", home.log("service"))
        self._home = home

    def start_listening(self, host: str, port: int, environment: Mapping[str, str]) -> str:
        """Start the service on a socket that already listens; return its URL on this machine.

        Requests that come before it is ready are answered once it is. Raises Unavailable if the
        address is in use.
        """
        self._home.server_file.unlink(missing_ok=True)
        with listen(host, port) as listener:
            variables = {**environment, "IPULSE_LISTEN_FD": str(listener.fileno())}
            self.start(variables, self._home.path, [listener.fileno()])
            host, port = listener.getsockname()[:2]
        return url_at(REACHED_AS.get(host, host), port, self._home.certificate_file.exists())

    def await_ready(self, url: str) -> None:
        """Wait until the service is ready.

        Raises Unavailable, with the end of its log, if it ends or is not ready in time.
        """
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
