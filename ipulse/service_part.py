"""The service as a part of a stack: started until it answers, wherever it says that it does."""

from __future__ import annotations

import http.client
import json
import time
from typing import Mapping, Optional
from urllib.parse import urlsplit

from . import tls
from .home import REACHED_AS, Home
from .part import START_SECONDS, Part

POLL_SECONDS = 0.02


class ServicePart(Part):
    """It announces its address in the home, and speaks TLS if the home has a certificate."""

    def __init__(self, home: Home) -> None:
        super().__init__("service", "service", home.log("service"))
        self._home = home

    def start_until_ready(self, environment: Mapping[str, str]) -> str:
        """Starts it, and returns its URL, as seen from this machine, once it is ready.

        Raises Unavailable, with the end of its log, if it ends or does not become so.
        """
        self._home.server_file.unlink(missing_ok=True)
        self.start(environment, self._home.path)
        deadline = time.monotonic() + START_SECONDS
        while True:
            url = self._announced()
            if url and self._is_ready(url):
                return url
            self.check_alive()
            if time.monotonic() > deadline:
                raise self.not_ready()
            time.sleep(POLL_SECONDS)

    def _announced(self) -> Optional[str]:
        try:
            announced = urlsplit(json.loads(self._home.server_file.read_bytes())["url"])
        except FileNotFoundError:
            return None
        host = REACHED_AS.get(announced.hostname or "", announced.hostname or "")
        shown = f"[{host}]" if ":" in host else host
        return f"{announced.scheme}://{shown}:{announced.port}"

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
