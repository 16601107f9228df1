"""A TCP proxy before a local server; those that hinder it are its subclasses."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import List, Optional, Tuple, Type, TypeVar

_BLOCK = 65536
_LOOK_SECONDS = 0.05  # between two looks at whether the test is over

SomeProxy = TypeVar("SomeProxy", bound="Proxy")


class Proxy:
    """Forwards each connection in a thread of its own. `connections` counts them."""

    def __init__(self, target: Tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._threads: List[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept)
        self._over = threading.Event()
        self.connections = 0
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self: SomeProxy) -> SomeProxy:
        self._acceptor.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _arrived(self, client: socket.socket) -> None:
        """Something is to be read of a connection, at either end. It may be kept waiting here."""

    def _ask(self, server: socket.socket, data: bytes) -> None:
        """Passes bytes of a request on."""
        server.sendall(data)

    def _answer(self, number: int, client: socket.socket, data: bytes) -> bool:
        """Passes bytes of the answer on; False ends connection `number`, which counts from 0."""
        client.sendall(data)
        return True

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed: the test is over
            thread = threading.Thread(target=self._serve, args=(self.connections, client))
            self.connections += 1
            self._threads.append(thread)
            thread.start()

    def _serve(self, number: int, client: socket.socket) -> None:
        # Either end may leave when it likes.
        with suppress(ConnectionError), client, socket.create_connection(self._target) as server:
            self._forward(number, client, server)

    def _forward(self, number: int, client: socket.socket, server: socket.socket) -> None:
        while not self._over.is_set():
            ready, _, _ = select.select([client, server], [], [], _LOOK_SECONDS)
            for source in ready:
                self._arrived(client)
                data = source.recv(_BLOCK)
                if not data:
                    return
                if source is client:
                    self._ask(server, data)
                elif not self._answer(number, client, data):
                    return
