"""A TCP proxy before a store that is slow: it forwards nothing while its gate is shut."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.proxy import Proxy


class GatedProxy(Proxy):
    """Forwards to a local URL. `waiting` has the connections at which something has arrived."""

    def __init__(self, url: str) -> None:
        target = urlsplit(url)
        assert target.hostname is not None
        assert target.port is not None
        super().__init__((target.hostname, target.port))
        self._open = threading.Event()
        self.waiting: set[int] = set()

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self.waiting.clear()
        self._open.set()

    def __enter__(self) -> Self:
        self.open()
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open.set()
        super().__exit__(kind, error, traceback)

    def _arrived(self, client: socket.socket) -> None:
        if not self._open.is_set():
            self.waiting.add(client.fileno())
            self._open.wait()
