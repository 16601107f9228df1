"""A Redis that answers late."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from ipulse_service.selftest.broker import Broker
from ipulse_service.selftest.fault_outcome import FaultOutcome, PromiseBroken
from ipulse_service.selftest.testbed import Testbed, milliseconds

LATE_SECONDS = 5.0  # delay of each answer
SLOW_SECONDS = 40.0  # duration of the fault
BLOCK = 65_536
SETTLED_SECONDS = 4.0  # until all clients have reconnected through the proxy


class Delay:
    """A proxy in place of a server's socket that delays the answers.

    Whoever is connected to the server itself stays so.
    """

    def __init__(self, socket: Path) -> None:
        self.seconds = 0.0  # the delay; may be changed at any time
        self.server = socket.with_suffix(".moved")
        self._socket = socket
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._ends: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> Delay:
        self._socket.rename(self.server)
        self._thread.start()
        listening = asyncio.start_unix_server(self._serve, str(self._socket))
        self._listener = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.server.replace(self._socket)

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        answers, server = await asyncio.open_unix_connection(str(self.server))
        ends = {client, server}
        self._ends |= ends
        await asyncio.wait(
            [
                asyncio.ensure_future(self._pass_on(reader, server, lambda: 0.0)),
                asyncio.ensure_future(self._pass_on(answers, client, lambda: self.seconds)),
            ]
        )
        self._ends -= ends

    async def _pass_on(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, late: Callable[[], float]
    ) -> None:
        due = 0.0
        while True:
            try:
                data = await source.read(BLOCK)
            except ConnectionError:
                data = b""
            due = max(due + 1e-6, self._loop.time() + late())  # keeps the order
            if not data:
                self._loop.call_at(due, target.close)
                return
            self._loop.call_at(due, target.write, data)

    async def _hang_up(self) -> None:
        self._listener.close()
        for end in self._ends:
            end.close()
        await asyncio.sleep(0.1)  # until the readers see it
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def slow_broker(testbed: Testbed, random: Random) -> Iterator[FaultOutcome]:
    """Delays all answers of Redis. Raises PromiseBroken if no job starts and ends meanwhile."""
    with Delay(testbed.stack.broker_socket) as delay:
        Broker(delay.server).hang_up()
        time.sleep(SETTLED_SECONDS)
        at = milliseconds()
        struck = tuple(one.id for one in testbed.records.held())
        delay.seconds = LATE_SECONDS
        time.sleep(SLOW_SECONDS)
        delay.seconds = 0.0
    done = [
        one
        for one in testbed.records.tried()
        if one.reason == "completed" and one.started_at > at + 2 * LATE_SECONDS * 1000
    ]
    if not done:
        raise PromiseBroken(f"no job started and ended within {SLOW_SECONDS:g} s of a slow Redis")
    yield FaultOutcome(f"Redis {LATE_SECONDS:g} s late", at, struck)
