"""A TCP proxy that cuts connections in the middle of an answer."""

from __future__ import annotations

import select
import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import List, Optional, Type

_BLOCK = 65536
_LOOK_SECONDS = 0.05  # between two looks at whether the test is over


class CuttingProxy:
    """Forwards to a local port; the n-th connection dies after `cuts[n]` bytes of answer.

    Connections beyond the list live. `connections` counts them.
    """

    def __init__(self, port: int, cuts: List[int]) -> None:
        self._target = port
        self._cuts = list(cuts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: List[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept)
        self._over = threading.Event()
        self.connections = 0
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> CuttingProxy:
        self._acceptor.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed: the test is over
            self.connections += 1
            budget = self._cuts.pop(0) if self._cuts else None
            thread = threading.Thread(target=self._serve, args=(client, budget))
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket, budget: Optional[int]) -> None:
        with suppress(ConnectionError):  # either end may leave when it likes
            self._forward(client, budget)

    def _forward(self, client: socket.socket, budget: Optional[int]) -> None:
        with client, socket.create_connection(("127.0.0.1", self._target)) as server:
            while not self._over.is_set():
                ready, _, _ = select.select([client, server], [], [], _LOOK_SECONDS)
                for source in ready:
                    data = source.recv(_BLOCK)
                    if not data:
                        return
                    if source is client:
                        server.sendall(data)
                        continue
                    if budget is not None:
                        data, budget = data[:budget], budget - len(data[:budget])
                    client.sendall(data)
                    if budget == 0:
                        # Reset rather than closed, as by a machine that vanished.
                        linger = struct.pack("ii", 1, 0)
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                        return
