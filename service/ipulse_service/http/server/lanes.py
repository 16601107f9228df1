"""Two event loops in two threads: one for agents and probes, the other for everything else.

What blocks the second for a while does not keep a heartbeat waiting. Each has threads of its own
for the routes that are no coroutines.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import TypeVar

from anyio import to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ipulse_service.background.listening_time import ListeningTime
from ipulse_service.db import write_turns
from ipulse_service.http import problems
from ipulse_service.http.metrics import Metrics
from ipulse_service.http.server import accept_queue
from ipulse_service.http.server.loop_lag import LoopLag
from ipulse_service.http.server.places import Overloaded, Places

# Together as many as there are connections to the database: see `ipulse_service/db`.
WORKER_THREADS = 12
USER_THREADS = 28
SHED_SECONDS = 5.0  # of lag, after which no submission is accepted

_WORKER_PREFIX = "/v1/worker/"
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
_HEARTBEAT = re.compile(r"/v1/worker/attempts/[^/]+/heartbeat")
_IMPORT = "/v1/jobs:import"
_SUBMISSION = re.compile(
    r"/v1/jobs|/v1/jobs:(batch|import|plan|validate)|/v1/jobs/[^/]+/continue|/v1/sweeps"
)

T = TypeVar("T")


class Lanes:
    """The two event loops; requests arrive on that of agents."""

    def __init__(self, listening_time: ListeningTime, metrics: Metrics) -> None:
        self.listening_time = listening_time
        self._worker_lag = LoopLag("worker", metrics.loop_lag("worker"))
        self._user_lag = LoopLag("user", metrics.loop_lag("user"))
        self._user_loop: asyncio.AbstractEventLoop | None = None
        self.listeners: Sequence[accept_queue.Listener] = ()  # those of the server
        self._started = threading.Event()
        self._ended: asyncio.Event | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the loop of users while the context is open; the present one is that of agents."""
        to_thread.current_default_thread_limiter().total_tokens = WORKER_THREADS
        thread = threading.Thread(target=self._run_user_loop, name="user-lane")
        thread.start()
        await asyncio.to_thread(self._started.wait)
        measuring = asyncio.create_task(self._worker_lag.measure(self._turn))
        try:
            yield
        finally:
            measuring.cancel()
            with suppress(asyncio.CancelledError):
                await measuring
            self.listening_time.end_turns()
            self._end_user_loop()
            await asyncio.to_thread(thread.join)

    def _turn(self) -> None:
        waiting = sum(map(accept_queue.waiting, self.listeners))
        self.listening_time.turn(waiting, sum(each.accepted for each in self.listeners))

    def user_lag(self) -> float:
        """Returns for how many seconds requests of users lie unread."""
        return self._user_lag.seconds()

    async def run_for_user(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Runs the application on the loop of users."""
        worker_loop, user_loop = asyncio.get_running_loop(), self._user_loop
        assert user_loop  # noqa: S101 - requests come while `running` is open

        async def receive_there() -> Message:
            return await _on(worker_loop, receive())

        async def send_there(message: Message) -> None:
            await _on(worker_loop, send(message))

        await _on(user_loop, app(scope, receive_there, send_there))

    def _run_user_loop(self) -> None:
        asyncio.run(self._serve_users())

    def _end_user_loop(self) -> None:
        if self._user_loop is not None and self._ended is not None:
            self._user_loop.call_soon_threadsafe(self._ended.set)

    async def _serve_users(self) -> None:
        to_thread.current_default_thread_limiter().total_tokens = USER_THREADS
        self._ended = asyncio.Event()
        self._user_loop = asyncio.get_running_loop()
        measuring = asyncio.create_task(self._user_lag.measure())
        self._started.set()
        await self._ended.wait()
        measuring.cancel()  # as all others, when this loop ends


class LaneMiddleware:
    """Passes each request on in its lane, and refuses submissions when there are too many.

    Most that it refuses have touched neither the loop of users nor the database; a submission whose
    body arrives after those of too many others is refused then.
    """

    def __init__(self, app: ASGIApp, lanes: Lanes, max_submissions: int) -> None:
        self._app = app
        self._lanes = lanes
        self._places = Places(max_submissions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or refuses it."""
        path = scope.get("path", "")
        if scope["type"] != "http" or path.startswith(_WORKER_PREFIX) or path in _PROBES:
            is_heartbeat = _HEARTBEAT.fullmatch(path)
            with self._lanes.listening_time.answering() if is_heartbeat else nullcontext():
                await self._app(scope, receive, send)
            return
        write_turns.is_user.set(True)
        if not is_submission(scope["method"], path):
            await self._lanes.run_for_user(self._app, scope, receive, send)
            return
        if self._places.are_taken or self._lanes.user_lag() > SHED_SECONDS:
            await problems.response(path, Overloaded())(scope, receive, send)
            return
        # An import waits for its turn at the reader of archives, and others not for that.
        async with self._places.admitting(receive, needs_place=path != _IMPORT) as receive_body:
            await self._lanes.run_for_user(self._app, scope, receive_body, send)


def is_submission(method: str, path: str) -> bool:
    """Returns whether a request adds jobs, or is checked like one that does."""
    return method == "POST" and _SUBMISSION.fullmatch(path) is not None


async def _on(loop: asyncio.AbstractEventLoop, awaitable: Awaitable[T]) -> T:
    """Awaits on another loop; a cancellation is passed on."""

    async def wait() -> T:
        return await awaitable

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(wait(), loop))
