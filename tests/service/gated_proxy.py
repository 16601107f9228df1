"""A TCP proxy before a store that is slow: it forwards nothing while its gate is shut."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_BLOCK = 65536
_LOOK_SECONDS = 0.05  # between two looks at whether the test is over


class GatedProxy:
    """Forwards to a local URL. `waiting` counts the connections at which something has arrived."""

    def __init__(self, url: str) -> None:
        target = urlsplit(url)
        self._target = (target.hostname, target.port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept)
        self._over = threading.Event()
        self._open = threading.Event()
        self.waiting: set[int] = set()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self.waiting.clear()
        self._open.set()

    def __enter__(self) -> Self:
        self.open()
        self._acceptor.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._open.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed: the test is over
            thread = threading.Thread(target=self._serve, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(ConnectionError), ExitStack() as closing:  # either end may leave
            closing.enter_context(client)
            server = closing.enter_context(socket.create_connection(self._target))
            other = {client: server, server: client}
            while not self._over.is_set():
                ready, _, _ = select.select([client, server], [], [], _LOOK_SECONDS)
                for source in ready:
                    if not self._open.is_set():
                        self.waiting.add(client.fileno())
                        self._open.wait()
                    data = source.recv(_BLOCK)
                    if not data:
                        return
                    other[source].sendall(data)
